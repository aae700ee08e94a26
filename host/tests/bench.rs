//! `segno bench --quick` measures everything, and what it answers can be read by programs.

use std::{env, process::Command};

use serde_json::Value as Json;
use throwaway_postgres::Cluster;

#[test]
fn every_scenario_is_measured_with_its_floor() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_segno"));
    command
        .args(["bench", "--quick", "--json"])
        .env_remove("SEGNO_BENCH_POSTGRES")
        .env_remove("SEGNO_BENCH_RESTATE_SERVER");
    let cluster = Cluster::shared();
    if let Some(cluster) = cluster {
        command.env("SEGNO_BENCH_POSTGRES", cluster.database().url());
    }
    let output = command.output().expect("the binary of this package runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let report: Json =
        serde_json::from_slice(&output.stdout).expect("one document on standard output");

    let sections = report["sections"].as_array().expect("sections");
    let names: Vec<_> =
        sections.iter().filter_map(|section| section["scenario"].as_str()).collect();
    let mut all = vec![
        "http",
        "steps",
        "throughput",
        "replay",
        "memory",
        "disk",
        "starts",
        "fan",
        "graphs",
        "objects",
        "limits",
        "timers",
        "resume",
        "long",
        "streams",
        "values",
        "fairness",
        "overload",
        "cold-start",
        "lists",
        "check",
        "resonate",
        "restate",
    ];
    all.extend(cluster.iter().flat_map(|_| ["peers", "databases"]));
    assert_eq!(names, all);
    for section in sections {
        let name = section["scenario"].as_str().expect("a scenario has a name");
        let figures = section["figures"].as_array().expect("figures");
        for figure in figures {
            let [median, min, max] = ["median", "min", "max"].map(|field| figure[field].as_f64());
            assert!(min <= median && median <= max, "{name}: {figure}");
            // What is more than something else can be less by chance.
            let what = figure["name"].as_str().expect("a figure has a name");
            let is_more = [" adds ", " add "].iter().any(|word| what.contains(word));
            if is_more || what.starts_with("beyond ") {
                continue;
            }
            assert!(min >= Some(0.0), "{name}: {figure}");
            // A timer may be in time to the millisecond, a host may have had room for everybody, the
            // process may have held enough free memory, and threads that step back may get no
            // processor of a busy machine; all else takes some.
            let may_be_none = name == "timers"
                || ["batches decided again", "memory that the replay takes at most"]
                    .contains(&what)
                || what.ends_with("memory of a node at the most")
                || what.starts_with("processors that ")
                || what.contains("refused with 503");
            assert!(may_be_none || median > Some(0.0), "{name}: {figure}");
        }
        let has = |role: &str| figures.iter().any(|figure| figure["role"] == role);
        assert!(has("measured"), "{name}");
        assert!(
            has("floor") || ["memory", "resume"].contains(&name),
            "{name} has nothing to compare it with"
        );
    }
    assert_eq!(report["conditions"]["quick"], true);
    assert_eq!(report["conditions"]["repetitions"], 1);
}

#[test]
fn dbos_is_installed_and_measured_beside_a_host() {
    if env::var("SEGNO_CLIENTS").unwrap_or_default().is_empty() {
        eprintln!("skipped: this runs with SEGNO_CLIENTS=1, which installs DBOS");
        return;
    }
    let Some(cluster) = Cluster::shared() else { return };
    let output = Command::new(env!("CARGO_BIN_EXE_segno"))
        .args(["bench", "dbos", "--quick", "--json"])
        .env("SEGNO_BENCH_POSTGRES", cluster.database().url())
        .output()
        .expect("the binary of this package runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Json = serde_json::from_slice(&output.stdout).expect("one document");
    let figures = report["sections"][0]["figures"].as_array().expect("figures");
    let measured = figures.iter().filter(|figure| figure["role"] == "measured");
    let names: Vec<_> = measured.filter_map(|figure| figure["name"].as_str()).collect();
    for name in names.iter().filter(|name| **name != "most memory of this process") {
        let others = format!("{name}, DBOS");
        let other = figures.iter().find(|figure| figure["name"] == *others);
        assert!(other.and_then(|figure| figure["median"].as_f64()) > Some(0.0), "{others}");
    }
    assert!(names.len() > 5, "{names:?}");
}

#[test]
fn a_place_that_cannot_be_written_to_is_an_error_that_names_it() {
    let output = Command::new(env!("CARGO_BIN_EXE_segno"))
        .args(["bench", "steps", "--quick", "--dir", "/nowhere/at/all"])
        .output()
        .expect("the binary of this package runs");
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("cannot make a folder in `/nowhere/at/all`"), "{complaint}");
}
