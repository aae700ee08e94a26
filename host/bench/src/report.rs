//! What a benchmark found.

use serde::Serialize;

/// Everything that was found, and under which conditions.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The machine and the program.
    pub conditions: Conditions,
    /// One a scenario.
    pub sections: Vec<Section>,
}

/// What the figures depend on.
#[derive(Debug, Clone, Serialize)]
pub struct Conditions {
    /// The version of this program.
    pub version: &'static str,
    /// Whether it was built with optimisation.
    pub optimised: bool,
    /// Small sizes: the figures are worth a look only.
    pub quick: bool,
    /// How often each scenario was run; a figure is the median of as many.
    pub repetitions: usize,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Their name.
    pub cpu: Option<String>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The file system that was written to.
    pub filesystem: String,
    /// Processes that wanted to run, on average over a minute, when it began; above `cpus`: somebody else was at work.
    pub load_before: Option<f64>,
    /// The same when it ended.
    pub load_after: Option<f64>,
}

/// What one scenario found.
#[derive(Debug, Clone, Serialize)]
pub struct Section {
    /// Its name.
    pub scenario: String,
    /// What was done, with its sizes.
    pub about: String,
    /// In the order in which they should be read.
    pub figures: Vec<Figure>,
}

/// One figure: the median of the repetitions, and how far they lay apart.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// What it is compared with.
    pub role: Role,
    /// Of the numbers; `x` for ratios.
    pub unit: &'static str,
    /// The middle one.
    pub median: f64,
    /// The least one: what the machine does when nobody interferes, where it is a duration.
    pub min: f64,
    /// The greatest one.
    pub max: f64,
    /// What it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// How it compares with that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// What a figure is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The host.
    Measured,
    /// The machine without the host.
    Floor,
    /// The first by the second.
    Ratio,
}

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Not more than this.
    AtMost {
        /// More than this is a defect.
        must: f64,
        /// Less is not worth working for.
        aim: f64,
    },
    /// Not less than this.
    AtLeast {
        /// Less than this is a defect.
        must: f64,
        /// More is not worth working for.
        aim: f64,
    },
}

/// How a figure compares with its goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As good as was aimed at.
    Good,
    /// As good as it must be.
    Enough,
    /// Not as good as it must be.
    Missed,
}

impl Goal {
    fn verdict(self, median: f64) -> Verdict {
        let (good, enough) = match self {
            Self::AtMost { must, aim } => (median <= aim, median <= must),
            Self::AtLeast { must, aim } => (median >= aim, median >= must),
        };
        match (good, enough) {
            (true, _) => Verdict::Good,
            (false, true) => Verdict::Enough,
            (false, false) => Verdict::Missed,
        }
    }
}

impl Section {
    /// An empty one.
    pub(super) fn new(about: impl Into<String>) -> Self {
        Self { scenario: String::new(), about: about.into(), figures: Vec::new() }
    }

    /// Adds what was measured of the host, once a repetition.
    pub(super) fn measured(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        values: &[f64],
    ) -> &mut Figure {
        self.add(name.into(), Role::Measured, unit, values)
    }

    /// Adds a floor, once a repetition.
    pub(super) fn floor(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        values: &[f64],
    ) -> &mut Figure {
        self.add(name.into(), Role::Floor, unit, values)
    }

    /// Adds the ratio of two that were measured in turns: one ratio a repetition.
    pub(super) fn ratio(&mut self, name: impl Into<String>, of: &[f64], by: &[f64]) -> &mut Figure {
        let ratios: Vec<f64> = of.iter().zip(by).map(|(of, by)| of / by).collect();
        self.add(name.into(), Role::Ratio, "x", &ratios)
    }

    fn add(&mut self, name: String, role: Role, unit: &'static str, values: &[f64]) -> &mut Figure {
        let (median, min, max) = spread(values);
        self.figures.push(Figure { name, role, unit, median, min, max, goal: None, verdict: None });
        self.figures.last_mut().expect("one was just added")
    }
}

impl Figure {
    /// Says what it should be.
    pub(super) fn goal(&mut self, goal: Goal) {
        self.verdict = Some(goal.verdict(self.median));
        self.goal = Some(goal);
    }
}

/// The middle, the least and the greatest of these.
fn spread(values: &[f64]) -> (f64, f64, f64) {
    (percentile(values, 50), percentile(values, 0), percentile(values, 100))
}

/// The value that `percent` of these do not exceed; of none: zero.
pub(super) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last * percent).div_ceil(100).min(last)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_among_the_values() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&values, 0), 1.0);
        assert_eq!(percentile(&values, 50), 51.0);
        assert_eq!(percentile(&values, 99), 100.0);
        assert_eq!(percentile(&[7.0], 99), 7.0);
        assert_eq!(percentile(&[], 50), 0.0);
    }

    #[test]
    fn a_goal_judges_in_its_own_direction() {
        let most = Goal::AtMost { must: 2.0, aim: 1.3 };
        assert_eq!(
            [1.3, 1.9, 2.1].map(|it| most.verdict(it)),
            [Verdict::Good, Verdict::Enough, Verdict::Missed]
        );
        let least = Goal::AtLeast { must: 0.5, aim: 0.8 };
        assert_eq!(
            [0.9, 0.5, 0.4].map(|it| least.verdict(it)),
            [Verdict::Good, Verdict::Enough, Verdict::Missed]
        );
    }

    #[test]
    fn ratios_are_taken_repetition_by_repetition() {
        let mut section = Section::new("");
        // The second repetition met a slow machine, both times.
        let ratio = section.ratio("r", &[2.0, 20.0, 2.2], &[1.0, 10.0, 1.0]);
        assert_eq!((ratio.median, ratio.min, ratio.max), (2.0, 2.0, 2.2));
    }
}
