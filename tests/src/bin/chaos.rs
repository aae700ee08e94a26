//! The chaos driver's command line: real hosts, faults injected from outside, and a table of faults
//! and findings.
//!
//! ```text
//! cargo run -p tests --bin chaos -- --seconds 3600                 one host on SQLite
//! cargo run -p tests --bin chaos -- --seconds 3600 --hosts 3       three on PostgreSQL
//! … --hosts 3 --databases 3                                      … with three databases
//! … --hosts 3 --through pooler                                     … through PgBouncer
//! ```

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode};

use clap::Parser;
use segno_env::Env;
use tests::chaos::{self, Plan, access::DatabaseAccess, flows::Kind, plan::Fault};

/// Injects faults into real hosts, and compares every outcome with the expected one
///
/// Exit codes: 0 no findings, 1 findings, 2 wrong usage.
#[derive(Debug, Parser)]
struct Arguments {
    /// Path of the command `segno` (default: beside this program)
    #[arg(long)]
    segno: Option<PathBuf>,
    /// Seed of all random numbers (default: a new one)
    #[arg(long)]
    seed: Option<u64>,
    /// Duration of the faults, in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Number of hosts: one uses SQLite, several use a PostgreSQL of their own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    hosts: u8,
    /// Number of databases of several hosts, each on a server of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    databases: u8,
    /// What is between several hosts and PostgreSQL: direct, pooler or strict
    #[arg(long, default_value_t)]
    through: DatabaseAccess,
    /// Number of concurrent flows
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    clients: u16,
    /// Kinds of flows, separated by commas (default: all)
    #[arg(long, value_delimiter = ',')]
    flows: Vec<Kind>,
    /// Kinds of faults, separated by commas; `none` for a run without faults (default: all)
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
    let databases = usize::from(arguments.databases);
    let possible = Fault::of(hosts, databases);
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
    let flows = match arguments.flows {
        named if named.is_empty() => Kind::ALL.to_vec(),
        named => named,
    };
    let access = arguments.through;
    if databases > 1 && (hosts == 1 || access != DatabaseAccess::Direct) {
        return Err("several databases take several hosts and direct access".to_owned());
    }
    Ok(Plan { segno, seed, seconds, hosts, databases, access, clients, faults, flows })
}
