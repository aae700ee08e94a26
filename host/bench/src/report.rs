//! The report of a benchmark.

use serde::{Deserialize, Serialize};

/// All results, with their conditions.
#[derive(Debug, Clone, Serialize)]
pub struct BenchReport {
    pub conditions: Conditions,
    /// One section per scenario.
    pub sections: Vec<BenchSection>,
}

/// The conditions of the measurements.
#[derive(Debug, Clone, Serialize)]
pub struct Conditions {
    pub version: &'static str,
    /// True for an optimised build.
    pub optimised: bool,
    /// True if small sizes were used: such figures are for a first look only.
    pub quick: bool,
    /// Number of repetitions of each scenario; a figure is their median.
    pub repetitions: usize,
    /// Number of processors available to this process.
    pub cpus: usize,
    /// Model name of the processors.
    pub cpu: Option<String>,
    /// Version of the kernel.
    pub kernel: Option<String>,
    /// File system of the data directory.
    pub filesystem: String,
    /// Runnable processes at the beginning, averaged over a minute. If it is above `cpus`, other
    /// processes were busy.
    pub load_before: Option<f64>,
    /// The same average at the end.
    pub load_after: Option<f64>,
}

/// The results of one scenario.
#[derive(Debug, Clone, Serialize)]
pub struct BenchSection {
    pub scenario: String,
    /// Description of the measurement, with its sizes.
    pub about: String,
    /// The figures, in reading order.
    pub figures: Vec<Figure>,
}

/// One figure: the median of the repetitions, and their range.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    pub name: String,
    pub role: FigureRole,
    /// Unit of the numbers; `x` for ratios.
    pub unit: &'static str,
    /// The median.
    pub median: f64,
    /// The minimum. For a duration, this is the value of the undisturbed machine.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The goal for the median; `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// The comparison with the goal; `None` without a goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<GoalVerdict>,
}

/// The kind of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureRole {
    /// A measurement of the host.
    Measured,
    /// A measurement of the machine without the host.
    Floor,
    /// The quotient of a measurement and a floor.
    Ratio,
}

/// The goal for a figure: a bound, and a better value to aim for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// An upper bound.
    AtMost {
        /// A larger value is a defect.
        must: f64,
        /// A smaller value needs no further work.
        aim: f64,
    },
    /// A lower bound.
    AtLeast {
        /// A smaller value is a defect.
        must: f64,
        /// A larger value needs no further work.
        aim: f64,
    },
}

/// The comparison of a figure with its goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GoalVerdict {
    /// The aim was reached.
    Good,
    /// The bound was kept, but the aim was not reached.
    Enough,
    /// The bound was violated.
    Missed,
}

impl Goal {
    fn verdict(self, median: f64) -> GoalVerdict {
        let (good, enough) = match self {
            Self::AtMost { must, aim } => (median <= aim, median <= must),
            Self::AtLeast { must, aim } => (median >= aim, median >= must),
        };
        match (good, enough) {
            (true, _) => GoalVerdict::Good,
            (false, true) => GoalVerdict::Enough,
            (false, false) => GoalVerdict::Missed,
        }
    }
}

impl BenchSection {
    /// Creates a section without figures.
    pub(super) fn new(about: impl Into<String>) -> Self {
        Self { scenario: String::new(), about: about.into(), figures: Vec::new() }
    }

    /// Adds a measurement of the host, with one value per repetition.
    pub(super) fn measured(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        values: &[f64],
    ) -> &mut Figure {
        self.add(name.into(), FigureRole::Measured, unit, values)
    }

    /// Adds a baseline, with one value per repetition.
    pub(super) fn floor(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        values: &[f64],
    ) -> &mut Figure {
        self.add(name.into(), FigureRole::Floor, unit, values)
    }

    /// Adds the ratio of two figures that were measured in alternation, computed per repetition.
    pub(super) fn ratio(&mut self, name: impl Into<String>, of: &[f64], by: &[f64]) -> &mut Figure {
        let ratios: Vec<f64> = of.iter().zip(by).map(|(of, by)| of / by).collect();
        self.add(name.into(), FigureRole::Ratio, "x", &ratios)
    }

    fn add(
        &mut self,
        name: String,
        role: FigureRole,
        unit: &'static str,
        values: &[f64],
    ) -> &mut Figure {
        let (median, min, max) = spread(values);
        self.figures.push(Figure { name, role, unit, median, min, max, goal: None, verdict: None });
        self.figures.last_mut().expect("one was just added")
    }
}

impl Figure {
    /// Sets the goal and the verdict.
    pub(super) fn goal(&mut self, goal: Goal) {
        self.verdict = Some(goal.verdict(self.median));
        self.goal = Some(goal);
    }
}

/// The median, the minimum and the maximum of these.
pub(super) fn spread(values: &[f64]) -> (f64, f64, f64) {
    (percentile(values, 50), percentile(values, 0), percentile(values, 100))
}

/// The value that `percent` percent of the values do not exceed; 0 if there are no values.
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
            [GoalVerdict::Good, GoalVerdict::Enough, GoalVerdict::Missed]
        );
        let least = Goal::AtLeast { must: 0.5, aim: 0.8 };
        assert_eq!(
            [0.9, 0.5, 0.4].map(|it| least.verdict(it)),
            [GoalVerdict::Good, GoalVerdict::Enough, GoalVerdict::Missed]
        );
    }

    #[test]
    fn ratios_are_taken_repetition_by_repetition() {
        let mut section = BenchSection::new("");
        // In the second repetition, the machine was slow for both measurements.
        let ratio = section.ratio("r", &[2.0, 20.0, 2.2], &[1.0, 10.0, 1.0]);
        assert_eq!((ratio.median, ratio.min, ratio.max), (2.0, 2.0, 2.2));
    }
}
