//! The chaos driver in its short form: one host on SQLite, and three on PostgreSQL, also with
//! three databases, behind PgBouncer, and on a server that knows less than PostgreSQL and serializes everything.
//!
//! `SEGNO_CHAOS_SECONDS` sets the duration of the faults (40), `SEGNO_SEED` repeats a run's draws.

use std::process::{Command, Stdio};

use tests::seed;

const CHAOS: &str = env!("CARGO_BIN_EXE_chaos");
const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Runs the driver. Its table goes to the test's output.
fn chaos(arguments: &[&str]) {
    let seconds = seed::number("SEGNO_CHAOS_SECONDS").unwrap_or(40).to_string();
    let mut command = Command::new(CHAOS);
    command.args(["--segno", SEGNO, "--seconds", &seconds]).args(arguments).stdin(Stdio::null());
    if let Some(seed) = seed::number("SEGNO_SEED") {
        command.args(["--seed", &seed.to_string()]);
    }
    let output = command.output().expect("the driver runs");
    let said = String::from_utf8_lossy(&output.stderr);
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}: {said}", output.status);
}

#[test]
fn a_host_on_sqlite_survives_all_faults() {
    chaos(&[]);
}

#[test]
fn three_hosts_on_postgresql_survive_all_faults() {
    if throwaway_postgres::Cluster::is_possible() {
        chaos(&["--hosts", "3"]);
    }
}

#[test]
fn three_hosts_on_three_databases_survive_all_faults() {
    if throwaway_postgres::Cluster::is_possible() {
        chaos(&["--hosts", "3", "--databases", "3"]);
    }
}

#[test]
fn three_hosts_survive_all_faults_behind_a_pooler() {
    if throwaway_postgres::Cluster::is_possible() {
        chaos(&["--hosts", "3", "--through", "pooler"]);
    }
}

#[test]
fn three_hosts_survive_all_faults_on_a_server_that_knows_less() {
    if throwaway_postgres::Cluster::is_possible() {
        chaos(&["--hosts", "3", "--through", "strict"]);
    }
}

#[test]
fn a_host_takes_no_more_and_more_memory_and_gives_it_back_when_its_clients_are_gone() {
    chaos(&["--faults", "none", "--clients", "24"]);
}
