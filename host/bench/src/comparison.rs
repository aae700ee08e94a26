//! Compares two programs: each measures the same scenarios, in turns with the other.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, ensure};
use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::{
    BenchOptions, machine,
    report::{FigureRole, spread},
};

/// The comparison of this program with another one.
#[derive(Debug, Clone, Serialize)]
pub struct BenchComparison {
    /// Path of the other program.
    pub against: String,
    /// Number of turns of each program.
    pub rounds: usize,
    /// Runnable processes at the beginning and at the end, averaged over a minute.
    pub load: [Option<f64>; 2],
    /// The figures that both programs have, by scenario and in reading order. Floors are left out.
    pub figures: Vec<ComparedFigure>,
}

/// One figure of both programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedFigure {
    pub scenario: String,
    pub name: String,
    /// Unit of `own` and `other`.
    pub unit: String,
    /// Medians over the rounds.
    pub own: f64,
    pub other: f64,
    /// This program's figure divided by the other's: the median over the rounds.
    pub ratio: f64,
    /// The lower quartile of these quotients.
    #[serde(skip)]
    pub ratio_low: f64,
    /// The least and the greatest of these quotients.
    pub ratio_min: f64,
    pub ratio_max: f64,
}

impl BenchComparison {
    /// The figures of CPU time in which this program took more than `ratio` times what the other
    /// took, in at least three of four rounds. Other figures depend on the load of the machine.
    pub fn above(&self, ratio: f64) -> impl Iterator<Item = &ComparedFigure> {
        let is_cpu =
            |figure: &&ComparedFigure| figure.name.contains("CPU time") && figure.unit != "x";
        self.figures.iter().filter(is_cpu).filter(move |figure| figure.ratio_low > ratio)
    }
}

/// The part of a report that is compared. Older programs write it as well.
#[derive(Debug, Deserialize)]
struct MeasuredReport {
    sections: Vec<MeasuredSection>,
}

#[derive(Debug, Deserialize)]
struct MeasuredSection {
    scenario: String,
    figures: Vec<MeasuredFigure>,
}

#[derive(Debug, Deserialize)]
struct MeasuredFigure {
    name: String,
    role: FigureRole,
    unit: String,
    median: f64,
}

/// Runs the scenarios with this program and with `other` in turns: A B, B A, A B and so on. Each
/// step is reported through `say`.
///
/// # Errors
/// A program cannot be run, fails, or prints no report.
pub async fn compare(
    options: &BenchOptions,
    other: &Path,
    say: &(dyn Fn(String) + Sync),
) -> anyhow::Result<BenchComparison> {
    let before = machine::load();
    let mut rounds = Vec::with_capacity(options.repetitions);
    for round in 0..options.repetitions {
        let measure = async |program: &Path| {
            let (number, of) = (round + 1, options.repetitions);
            say(format!("round {number} of {of}: `{}`", program.display()));
            measured(options, program).await
        };
        rounds.push(if round % 2 == 0 {
            let other = measure(other).await?;
            [measure(&options.binary).await?, other]
        } else {
            [measure(&options.binary).await?, measure(other).await?]
        });
    }
    Ok(BenchComparison {
        against: other.display().to_string(),
        rounds: rounds.len(),
        load: [before, machine::load()],
        figures: compared(&rounds),
    })
}

/// The report of one turn of `program`.
async fn measured(options: &BenchOptions, program: &Path) -> anyhow::Result<MeasuredReport> {
    let mut command = Command::new(program);
    command.args(["--json", "bench", "--repetitions", "1"]).kill_on_drop(true);
    if options.quick {
        command.arg("--quick");
    }
    if let Some(folder) = &options.folder {
        command.arg("--dir").arg(folder);
    }
    if let Some(server) = &options.restate_server {
        command.arg("--restate-server").arg(server);
    }
    if let Some(address) = &options.postgres {
        // The address may contain a password, which other processes must not see.
        command.env("SEGNO_BENCH_POSTGRES", address);
    }
    let names = options.scenarios.iter().filter_map(|scenario| scenario.to_possible_value());
    command.args(names.map(|name| name.get_name().to_owned()));
    let shown = program.display();
    let output = command.output().await.with_context(|| format!("`{shown}` cannot be run"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{shown} bench` failed ({}): {}", output.status, said.trim());
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`{shown} bench --json` did not print a report"))
}

/// The figures that both programs have in every round: of this program first, then of the other.
fn compared(rounds: &[[MeasuredReport; 2]]) -> Vec<ComparedFigure> {
    let medians = |report: &MeasuredReport| -> BTreeMap<(String, String), f64> {
        let figures = |section: &MeasuredSection| {
            let key = |figure: &MeasuredFigure| (section.scenario.clone(), figure.name.clone());
            let figures = section.figures.iter().map(|figure| (key(figure), figure.median));
            figures.collect::<Vec<_>>()
        };
        report.sections.iter().flat_map(figures).collect()
    };
    let values: Vec<_> = rounds.iter().map(|round| round.each_ref().map(medians)).collect();
    let Some([first, _]) = rounds.first() else { return Vec::new() };
    let mut figures = Vec::new();
    for section in &first.sections {
        let own = section.figures.iter().filter(|figure| figure.role != FigureRole::Floor);
        for MeasuredFigure { name, unit, .. } in own {
            let key = (section.scenario.clone(), name.clone());
            let of =
                |[own, other]: &[BTreeMap<_, f64>; 2]| Some([*own.get(&key)?, *other.get(&key)?]);
            let Some(pairs) = values.iter().map(of).collect::<Option<Vec<_>>>() else { continue };
            let each = |of: fn(&[f64; 2]) -> f64| pairs.iter().map(of).collect::<Vec<_>>();
            let mut quotients = each(|[own, other]| own / other);
            let (ratio, ratio_min, ratio_max) = spread(&quotients);
            quotients.sort_by(f64::total_cmp);
            let ratio_low = quotients[quotients.len() / 4];
            figures.push(ComparedFigure {
                scenario: key.0,
                name: key.1,
                unit: unit.clone(),
                own: spread(&each(|[own, _]| *own)).0,
                other: spread(&each(|[_, other]| *other)).0,
                ratio,
                ratio_low,
                ratio_min,
                ratio_max,
            });
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(name: &str, cpu: f64, has_more: bool) -> MeasuredReport {
        let figure = |name: &str, role: &str, median: f64| json!({"name": name, "role": role, "unit": "µs", "median": median, "min": 0, "max": 0});
        let mut figures = vec![figure(name, "measured", cpu), figure("bare", "floor", 1.0)];
        figures.extend(has_more.then(|| figure("new", "measured", 1.0)));
        let sections = json!([{"scenario": "steps", "about": "", "figures": figures}]);
        serde_json::from_value(json!({"conditions": {}, "sections": sections})).expect("a report")
    }

    #[test]
    fn ratios_are_taken_in_each_round_of_what_both_programs_measure() {
        let round = |own: f64, other: f64| [report("CPU", own, true), report("CPU", other, false)];
        let figures = compared(&[round(20.0, 40.0), round(60.0, 60.0), round(30.0, 40.0)]);
        let expected = ComparedFigure {
            scenario: "steps".into(),
            name: "CPU".into(),
            unit: "µs".into(),
            own: 30.0,
            other: 40.0,
            ratio: 0.75,
            ratio_low: 0.5,
            ratio_min: 0.5,
            ratio_max: 1.0,
        };
        assert_eq!(figures, [expected]);
        assert_eq!(compared(&[]), []);
    }

    #[test]
    fn what_takes_longer_in_most_rounds_is_above_a_ratio() {
        let above = |quotients: &[f64], name: &str| {
            let rounds: Vec<_> = quotients
                .iter()
                .map(|own| [report(name, *own, false), report(name, 1.0, false)])
                .collect();
            let figures = compared(&rounds);
            let comparison = BenchComparison {
                against: String::new(),
                rounds: rounds.len(),
                load: [None; 2],
                figures,
            };
            comparison.above(1.25).count()
        };
        assert_eq!(above(&[1.0, 1.3, 1.4, 1.3], "CPU time of a step"), 1);
        assert_eq!(above(&[1.0, 1.2, 1.4, 1.9], "CPU time of a step"), 0);
        assert_eq!(above(&[2.0, 2.0], "steps"), 0);
    }
}
