//! The chaos driver's command line: real hosts, faults from outside, and a table of what was done and found.
//!
//! ```text
//! cargo run -p tests --bin chaos -- --seconds 3600                 one host on SQLite
//! cargo run -p tests --bin chaos -- --seconds 3600 --hosts 3       three on PostgreSQL
//! ```

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode};

use clap::Parser;
use segno::runtime::Env;
use tests::chaos::{self, Plan, plan::Fault};

/// Puts faults into real hosts, from outside, and holds every outcome against what it must be
///
/// Exit codes: 0 nothing was wrong, 1 something was, 2 wrong usage.
#[derive(Debug, Parser)]
struct Arguments {
    /// The command `segno`; the one beside this program if left out
    #[arg(long)]
    segno: Option<PathBuf>,
    /// What draws follow from; a new one if left out
    #[arg(long)]
    seed: Option<u64>,
    /// For how many seconds faults are put in
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Hosts: one works on SQLite, several on a PostgreSQL of their own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    hosts: u8,
    /// Flows at the same time
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    clients: u16,
    /// Only these faults, by name, with commas between; `none` for a run without any
    #[arg(long, value_delimiter = ',')]
    faults: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let plan = match plan(arguments) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let seed = plan.seed;
    eprintln!("seed {seed}: draws are repeated with --seed {seed}");
    match chaos::run(plan).await {
        Ok(report) => {
            print!("{report}");
            ExitCode::from(u8::from(!report.is_clean()))
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn plan(arguments: Arguments) -> Result<Plan, String> {
    let hosts = usize::from(arguments.hosts);
    let possible = Fault::of(hosts);
    let faults = match arguments.faults.as_slice() {
        [] => possible.clone(),
        [none] if none == "none" => BTreeSet::new(),
        names => names.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
    };
    if let Some(fault) = faults.difference(&possible).next() {
        return Err(format!("`{fault}` cannot happen with {hosts} host(s)"));
    }
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("segno-under-test"));
    let segno = arguments.segno.or_else(beside).ok_or("name the command with --segno")?;
    let fresh = || Env::system().runtime.nonce() % 1_000_000;
    let seed = arguments.seed.unwrap_or_else(fresh);
    let (seconds, clients) = (arguments.seconds, usize::from(arguments.clients));
    Ok(Plan { segno, seed, seconds, hosts, clients, faults })
}
