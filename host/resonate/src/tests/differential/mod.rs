//! Random operations, sent to a host through its front end and to a model of the protocol over the
//! pure core. Answers, including their shape, and contents must be equal after each operation,
//! until every operation has reached every documented outcome.
//!
//! - `script`, `faults`: the operations;
//! - `model`: the expected answers;
//! - `course`: one script on one host;
//! - `coverage`: the documented outcomes, and those that were reached;
//! - `shorten`: reduction to the shortest script that still fails.
//!
//! `SEGNO_SCRIPTS=500` runs that number of scripts; `SEGNO_SCRIPT=17` repeats one.

mod course;
mod coverage;
mod faults;
mod model;
mod script;
mod shorten;

use std::env;

use segno_core::config::{Config, VersionRule};

use super::world::{ResonateWorld, TestStore};
use course::DifferentialRun;
use coverage::ReachedOutcomes;
use script::ScriptOperation;
use shorten::shortened;

fn config(strict: bool) -> Config {
    match strict {
        true => Config {
            version_rule: VersionRule::AcquireOnly,
            resonate_strict: true,
            ..Config::default()
        },
        false => Config::default(),
    }
}

/// Number of scripts to run.
#[derive(Clone, Copy, PartialEq)]
enum ScriptCount {
    /// A fixed number.
    Some(u64),
    /// Until every outcome was reached.
    Enough,
}

/// Minimum and maximum number of scripts under `ScriptCount::Enough`.
const ENOUGH: (u64, u64) = (20, 1_000);

/// Runs scripts on stores of one kind.
async fn explore(place: fn() -> Option<TestStore>, strict: bool, scripts: ScriptCount) {
    let (least, most) = match scripts {
        ScriptCount::Some(count) => (count, count),
        ScriptCount::Enough => ENOUGH,
    };
    let number = |name| env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let seeds = match (number("SEGNO_SCRIPT"), number("SEGNO_SCRIPTS")) {
        (Some(one), _) => one..one + 1,
        (None, longer) => 0..longer.unwrap_or(most),
    };
    let mut met = ReachedOutcomes::default();
    for seed in seeds {
        if number("SEGNO_SCRIPTS").is_none() && seed >= least && met.missing(strict).is_empty() {
            break;
        }
        let Some(here) = place() else { return };
        let mut course = DifferentialRun::on(&here, strict).await;
        let mut script = Vec::new();
        if let Err(wrong) = course.explore(seed, &mut script, &mut met).await {
            fail(place, strict, seed, script, &wrong).await;
        }
        course.end().await;
    }
    let strange = met.strange(strict);
    assert!(strange.is_empty(), "answers that are not documented: {strange:?}");
    if number("SEGNO_SCRIPT").is_none() && scripts == ScriptCount::Enough {
        let missing = met.missing(strict);
        assert!(missing.is_empty(), "these were never met: {missing:?}");
    }
}

/// Panics with the difference, and with the shortest script that reproduces it.
async fn fail(
    place: fn() -> Option<TestStore>,
    strict: bool,
    seed: u64,
    script: Vec<ScriptOperation>,
    wrong: &str,
) {
    let repeated = async |script: &[ScriptOperation]| {
        let Some(here) = place() else { return Ok(()) };
        let mut course = DifferentialRun::on(&here, strict).await.closely();
        let repeated = course.repeat(script).await;
        course.end().await;
        repeated
    };
    let shortest = shortened(script, 400, async |script| repeated(script).await.is_err()).await;
    let lines: Vec<String> = shortest
        .iter()
        .map(|asked| format!("  {} {} {}", asked.at, asked.kind, asked.data))
        .collect();
    let wrong = repeated(&shortest).await.err().unwrap_or_else(|| wrong.to_owned());
    panic!("SEGNO_SCRIPT={seed}: {wrong}\nthe shortest script:\n{}", lines.join("\n"));
}

fn memory() -> Option<TestStore> {
    Some(TestStore::Memory)
}

fn sqlite() -> Option<TestStore> {
    Some(TestStore::Sqlite(tempfile::tempdir().expect("a directory")))
}

fn postgres() -> Option<TestStore> {
    throwaway_postgres::Cluster::shared().map(|cluster| TestStore::Postgres(cluster.database()))
}

#[tokio::test]
async fn operations_are_answered_as_the_model_says() {
    explore(memory, false, ScriptCount::Enough).await;
}

#[tokio::test]
async fn operations_are_answered_as_the_model_says_under_the_narrow_reading() {
    explore(memory, true, ScriptCount::Enough).await;
}

#[tokio::test]
async fn operations_are_answered_as_the_model_says_on_sqlite() {
    explore(sqlite, false, ScriptCount::Enough).await;
}

#[tokio::test]
async fn operations_are_answered_as_the_model_says_on_sqlite_under_the_narrow_reading() {
    explore(sqlite, true, ScriptCount::Some(12)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_answered_as_the_model_says_on_postgresql() {
    explore(postgres, false, ScriptCount::Some(12)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_answered_as_the_model_says_on_postgresql_under_the_narrow_reading() {
    explore(postgres, true, ScriptCount::Some(6)).await;
}

#[tokio::test]
async fn operations_for_debugging_are_refused_where_nobody_debugs() {
    let world = ResonateWorld::new();
    for (kind, _) in script::KINDS.iter().filter(|(kind, _)| kind.starts_with("debug.")) {
        let (status, sentence) = world.ask(kind, serde_json::json!({ "time": 1 })).await;
        assert!(status == 403 && sentence.to_string().contains("--debug"), "{kind}: {sentence}");
    }
}

/// Checks that the comparison can fail, and that the script is then shortened.
#[tokio::test]
async fn an_answer_that_is_changed_on_its_way_is_noticed() {
    let course = async || {
        DifferentialRun::on(&TestStore::Memory, false).await.tampered(|kind, answer| {
            if kind == "task.release" && answer["http"] == 200 {
                answer["data"]["preload"] = serde_json::json!([]);
            }
        })
    };
    let mut script = Vec::new();
    for seed in 0.. {
        script.clear();
        if course().await.explore(seed, &mut script, &mut ReachedOutcomes::default()).await.is_err()
        {
            break;
        }
    }
    let fails = async |script: &[ScriptOperation]| course().await.repeat(script).await.is_err();
    let shortest = shortened(script, 2_000, fails).await;
    assert_eq!(shortest.last().map(|asked| asked.kind), Some("task.release"));
    assert!(shortest.len() <= 3, "{shortest:?}");
}
