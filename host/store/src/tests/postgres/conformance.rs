//! The scripts of every store, against the model.

use segno_core::config::Config;

use super::{
    super::{
        HandClock,
        conformance::{batches, configs, walk, wipe},
        coverage::{self, Seen},
        deploy, memory,
        runs::a_run_takes_all_along,
    },
    database, store,
};
use crate::Store as _;

#[tokio::test(flavor = "multi_thread")]
async fn random_scripts_are_answered_alike_until_every_command_was_answered_and_refused() {
    let mut seen = Seen::new();
    for (seed, engine) in (0..60).zip(configs().iter().cycle()) {
        if seed >= 2 && coverage::missing(&seen).is_empty() {
            break;
        }
        let Some(database) = database() else { return };
        let clock = HandClock::new();
        let model = memory(&clock, engine);
        let store = store(&database, &clock, engine).await;
        deploy(&*model).await;
        deploy(&*store).await;
        walk(&*model, &*store, &clock, seed, 120, &mut seen).await;
        store.close().await;
    }
    let missing = coverage::missing(&seen);
    assert!(missing.is_empty(), "these were never met: {missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_serializes_everything_answers_alike() {
    let Some(database) = database() else { return };
    let name = database.name();
    database
        .sql(&format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"));
    let (clock, engine) = (HandClock::new(), Config::default());
    let model = memory(&clock, &engine);
    let store = store(&database, &clock, &engine).await;
    deploy(&*model).await;
    deploy(&*store).await;
    walk(&*model, &*store, &clock, 21, 150, &mut Seen::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_wiped_is_as_new() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let model = memory(&clock, &engine);
    let store = store(&database, &clock, &engine).await;
    wipe(&*model, &*store, &clock).await;
}

/// Reopening a store loses only numbers that were assigned and not used.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_opened_again_goes_on_as_if_nothing_had_happened() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let model = memory(&clock, &engine);
    deploy(&*model).await;
    for seed in 100..104 {
        let store = store(&database, &clock, &engine).await;
        deploy(&*store).await;
        walk(&*model, &*store, &clock, seed, 40, &mut Seen::new()).await;
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_leave_what_single_commands_leave() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let model = memory(&clock, &engine);
    let store = store(&database, &clock, &engine).await;
    batches(&*model, &*store, &clock, 40).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_takes_all_along_that_its_object_holds() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let model = memory(&clock, &engine);
    let store = store(&database, &clock, &engine).await;
    a_run_takes_all_along(&*model, &*store, &clock).await;
}
