//! `segno bench`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum as _};
use comfy_table::Color as Ink;
use segno_bench::{
    BenchComparison, BenchOptions, BenchScenario, bench, compare, hold,
    report::{BenchReport, BenchSection, Conditions, Figure, FigureRole, GoalVerdict},
};
use segno_env::Env;

use super::{
    CliError, Console, Exit,
    console::{BOLD, DIM},
    table::{TextCell, TextColumn, TextTable},
};

/// Measure this machine: the cost of the host next to the bare disk, database and guest
///
/// Every scenario measures its baseline in the same run and in turns with itself, so that the
/// ratios are meaningful even where the figures are not. A figure is the median of the repetitions;
/// the minimum and the maximum next to it show how noisy the machine is. The command starts its own
/// host, on temporary data.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno bench
  segno bench steps throughput --repetitions 7
  segno bench --dir /var/lib --json > bench.json   # measures the disk under /var/lib
  segno bench --quick                              # takes seconds, for a first look
  segno bench steps --against ./segno-before       # compares two programs
  segno bench peers --postgres postgres://segno@db/segno
  segno bench restate --restate-server ./restate-server

Commits are those of a real host: an acknowledged write survives a power loss. Choose a directory on the disk that you
want to know; one in memory shows commits that cost nothing.")]
pub(super) struct BenchArgs {
    /// Scenarios to measure (default: all but `languages` and `dbos`, which install packages)
    #[arg(value_enum, value_name = "SCENARIO")]
    scenarios: Vec<BenchScenario>,
    /// Small sizes and one repetition
    #[arg(long)]
    quick: bool,
    /// Number of runs of each scenario [default: 5, or 1 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    repetitions: Option<u16>,
    /// Directory to write to, which decides which disk is measured (default: the directory for
    /// temporary files)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// PostgreSQL database to measure hosts on, in a temporary schema:
    /// postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "ADDRESS", env = "SEGNO_BENCH_POSTGRES", hide_env_values = true)]
    postgres: Option<MaskedAddress>,
    /// Compare with this other `segno` program: both measure in turns, each --repetitions times
    #[arg(long, value_name = "PROGRAM", conflicts_with = "record")]
    against: Option<PathBuf>,
    /// With --against: fail if a figure of CPU time is more than this many times the other
    /// program's, in three of four rounds
    #[arg(long, value_name = "RATIO", requires = "against", value_parser = ratio)]
    at_most: Option<f64>,
    /// Also write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Program of Restate's server to measure services on as well (the native one, not a script that
    /// starts it)
    #[arg(long, value_name = "PATH", env = "SEGNO_BENCH_RESTATE_SERVER")]
    restate_server: Option<PathBuf>,
    /// Act as the worker that is killed: acquire tasks of this host, and hold them
    #[arg(long, value_name = "URL", hide = true)]
    hold: Option<String>,
}

impl BenchArgs {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        if let Some(url) = &self.hold {
            return match hold(url, &Env::system()).await {
                Ok(()) => Ok(Exit::Done),
                Err(error) => Err(failed(&error)),
            };
        }
        let binary = std::env::current_exe().map_err(|error| failed(&error.into()))?;
        let scenarios = match self.scenarios.as_slice() {
            [] => {
                let all = BenchScenario::value_variants().iter().copied();
                all.filter(|one| match one {
                    // Hosts on a database are measured only if the database is given.
                    BenchScenario::Peers | BenchScenario::Databases => self.postgres.is_some(),
                    // They install packages.
                    BenchScenario::Languages | BenchScenario::Dbos => false,
                    _ => true,
                })
                .collect()
            }
            chosen => chosen.to_vec(),
        };
        let repetitions = self.repetitions.map_or(if self.quick { 1 } else { 5 }, usize::from);
        let options = BenchOptions {
            scenarios,
            quick: self.quick,
            repetitions,
            folder: self.dir,
            postgres: self.postgres.map(|address| address.0),
            restate_server: self.restate_server,
            binary,
        };
        if let Some(file) = &self.record {
            // A file that cannot be written is named before the measurements, which take a while.
            let opened = fs::OpenOptions::new().create(true).append(true).open(file);
            opened.map_err(|error| unwritten(file, &error))?;
        }
        let progress = console.progress("measuring");
        if let Some(other) = &self.against {
            let compared = compare(&options, other, &|step| progress.say(step)).await;
            drop(progress);
            let comparison = compared.map_err(|error| failed(&error))?;
            match console.json() {
                true => console.document(&comparison)?,
                false => show_comparison(&comparison, console)?,
            }
            let Some(ratio) = self.at_most else { return Ok(Exit::Done) };
            let above: Vec<String> = comparison
                .above(ratio)
                .map(|figure| {
                    format!("`{}`: {}, {:.2} times", figure.scenario, figure.name, figure.ratio)
                })
                .collect();
            return match above.is_empty() {
                true => Ok(Exit::Done),
                false => Err(CliError::Other {
                    code: "slower",
                    message: format!(
                        "this program takes more than {ratio} times the CPU time of {}: {}",
                        other.display(),
                        above.join("; ")
                    ),
                }),
            };
        }
        let measured = bench(options, Env::system(), &|step| progress.say(step)).await;
        drop(progress);
        let report = measured.map_err(|error| failed(&error))?;
        match console.json() {
            true => console.document(&report)?,
            false => show(&report, console)?,
        }
        if let Some(file) = &self.record {
            let text = serde_json::to_vec_pretty(&report).map_err(|error| failed(&error.into()))?;
            fs::write(file, text).map_err(|error| unwritten(file, &error))?;
        }
        Ok(Exit::Done)
    }
}

/// The address of a database, which may contain a password and is never printed.
#[derive(Clone)]
struct MaskedAddress(String);

impl From<String> for MaskedAddress {
    fn from(address: String) -> Self {
        Self(address)
    }
}

impl std::fmt::Debug for MaskedAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an address")
    }
}

/// A ratio of at least 1.
fn ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if ratio.is_finite() && ratio >= 1.0 => Ok(ratio),
        _ => Err("a ratio is a number of at least 1, such as 1.25".to_owned()),
    }
}

fn failed(error: &anyhow::Error) -> CliError {
    CliError::Other {
        code: "bench",
        message: format!("the benchmark could not be finished: {error:#}"),
    }
}

fn unwritten(file: &Path, error: &io::Error) -> CliError {
    let message = format!("cannot write {}: {error}", file.display());
    CliError::Other { code: "cannot-write", message }
}

fn show(report: &BenchReport, console: &mut Console) -> Result<(), CliError> {
    for section in &report.sections {
        console.line(console.paint(BOLD, &section.scenario))?;
        console.line(console.paint(DIM, &section.about))?;
        table(section, console)?;
        console.line("")?;
    }
    conditions(&report.conditions, console)
}

fn show_comparison(comparison: &BenchComparison, console: &mut Console) -> Result<(), CliError> {
    for figures in comparison.figures.chunk_by(|one, next| one.scenario == next.scenario) {
        let scenario = figures.first().map_or("", |figure| &figure.scenario);
        console.line(console.paint(BOLD, scenario))?;
        let mut table = TextTable::new(&[
            TextColumn::prose(""),
            TextColumn::number("THIS"),
            TextColumn::number("OTHER"),
            TextColumn::whole(""),
            TextColumn::number("RATIO"),
            TextColumn::number("LEAST").rank(1),
            TextColumn::number("GREATEST").rank(2),
        ]);
        for figure in figures {
            table.row(vec![
                TextCell::from(figure.name.clone()),
                TextCell::from(number(figure.own)),
                TextCell::from(number(figure.other)),
                TextCell::from(figure.unit.clone()),
                TextCell::from(number(figure.ratio)),
                TextCell::from(number(figure.ratio_min)),
                TextCell::from(number(figure.ratio_max)),
            ]);
        }
        console.table(&table)?;
        console.line("")?;
    }
    let [before, after] = comparison.load.map(load);
    let (rounds, against) = (comparison.rounds, &comparison.against);
    console.line(console.paint(
        DIM,
        &format!(
            "this program beside {against}, {rounds} rounds in turns: medians, and THIS / OTHER in each round; load {before} before and {after} after"
        ),
    ))?;
    Ok(())
}

fn table(section: &BenchSection, console: &mut Console) -> Result<(), CliError> {
    let mut table = TextTable::new(&[
        TextColumn::prose(""),
        TextColumn::number("MEDIAN"),
        TextColumn::number("LEAST").rank(1),
        TextColumn::number("GREATEST").rank(2),
        TextColumn::whole(""),
        TextColumn::prose("GOAL"),
    ]);
    for figure in &section.figures {
        table.row(row(figure));
    }
    console.table(&table)
}

fn row(figure: &Figure) -> Vec<TextCell> {
    let name = match figure.role {
        FigureRole::Measured => figure.name.clone(),
        FigureRole::Floor => format!("  floor: {}", figure.name),
        FigureRole::Ratio => format!("  = {}", figure.name),
    };
    let (color, goal) = match figure.verdict {
        None => (None, String::new()),
        Some(GoalVerdict::Good) => (Some(Ink::Green), "as aimed at".to_owned()),
        Some(GoalVerdict::Enough) => (Some(Ink::Yellow), "as it must be".to_owned()),
        Some(GoalVerdict::Missed) => (Some(Ink::Red), format!("missed: {}", wanted(figure))),
    };
    vec![
        TextCell::from(name),
        TextCell::colored(number(figure.median), color),
        TextCell::from(number(figure.min)),
        TextCell::from(number(figure.max)),
        TextCell::from(figure.unit),
        TextCell::from(goal),
    ]
}

fn wanted(figure: &Figure) -> String {
    use segno_bench::report::Goal;
    match figure.goal {
        Some(Goal::AtMost { must, .. }) => format!("at most {}", number(must)),
        Some(Goal::AtLeast { must, .. }) => format!("at least {}", number(must)),
        None => String::new(),
    }
}

/// A number with three significant digits, and thousands separators.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    match value.abs() {
        size if size >= 1_000.0 => {
            let digits = format!("{value:.0}");
            let mut text = String::with_capacity(digits.len() + 3);
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at).is_multiple_of(3) {
                    text.push(',');
                }
                text.push(digit);
            }
            text
        }
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The load of the machine, with a question mark where the system does not say it.
fn load(load: Option<f64>) -> String {
    load.map_or_else(|| "?".to_owned(), |load| format!("{load:.1}"))
}

fn conditions(about: &Conditions, console: &mut Console) -> Result<(), CliError> {
    let (before, after) = (load(about.load_before), load(about.load_after));
    let lines = [
        format!(
            "segno {}, {} repetitions; medians, with the least and the greatest",
            about.version, about.repetitions
        ),
        format!(
            "{} x {}, kernel {}, {}",
            about.cpus,
            about.cpu.as_deref().unwrap_or("unknown processor"),
            about.kernel.as_deref().unwrap_or("unknown"),
            about.filesystem,
        ),
        format!(
            "load {before} before and {after} after; this benchmark itself keeps up to {} processors busy",
            about.cpus
        ),
    ];
    for line in lines {
        console.line(console.paint(DIM, &line))?;
    }
    if !about.optimised {
        console.warn("this program was built without optimisation: build it with --release before you compare anything");
    }
    if about.quick {
        console.warn("these are the small sizes: good for a look, not for a comparison");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_show_three_digits_that_matter() {
        let shown = [0.034, 2.5, 12.34, 345.6, 1_234.5, 1_234_567.0].map(number);
        assert_eq!(shown, ["0.03", "2.50", "12.3", "346", "1,234", "1,234,567"]);
        assert_eq!(number(f64::NAN), "-");
    }
}
