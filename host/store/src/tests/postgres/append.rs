//! Appends under remembered claims: whatever other hosts did in the meantime, the records end up
//! where they belong.

use std::sync::Arc;

use segno_core::{
    command::Command,
    config::Config,
    id::{Claim, Version},
    invariants,
    invocation::{LogLevel, LogLine},
    promise::CancelState,
    reply::{Conflict, Refusal, Reply},
    time::{Millis, Timestamp},
};
use throwaway_postgres::Database;

use super::{
    super::{
        HandClock, create, deploy, new,
        work::{LEASE, acquire, fence, length, run},
    },
    database, store,
};
use crate::{Store as _, postgres::PostgresStore};

/// Two hosts, and the workflow `w`, which the first host has claimed.
async fn held(
    database: &Database<'_>,
    clock: &Arc<HandClock>,
) -> (Arc<PostgresStore>, Arc<PostgresStore>, Claim) {
    let engine = Config::default();
    let one = store(database, clock, &engine).await;
    let two = store(database, clock, &engine).await;
    deploy(&*one).await;
    run(&*one, create("w", &[("target", "wasm://shop/order")])).await;
    let claim = acquire(&*one, "w", "one").await;
    (one, two, claim)
}

/// The reply to a command, and the number of statements it takes.
async fn statements(host: &PostgresStore, command: Command) -> (Reply, u64) {
    let before = host.written().statements;
    let reply = run(host, command).await;
    (reply, host.written().statements - before)
}

#[tokio::test(flavor = "multi_thread")]
async fn records_under_a_claim_take_one_statement() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let (one, _two, claim) = held(&database, &clock).await;
    for seq in 0..4 {
        let (reply, statements) = statements(&one, fence(&claim, seq)).await;
        assert_eq!((length(&reply), statements), (seq + 1, 1));
    }
    let Command::TaskFence { records, actions, .. } = fence(&claim, 4) else { unreachable!() };
    let line = |message: &str| LogLine {
        seq: 4,
        level: LogLevel::Info,
        at: Timestamp(1_000),
        message: message.into(),
    };
    let logs = vec![line("one"), line("two")];
    let told = Command::TaskFence { claim: claim.clone(), records, logs, actions };
    let (reply, statements) = statements(&one, told.clone()).await;
    assert_eq!((length(&reply), statements), (5, 1));
    assert_eq!(one.read().log_count(&claim.id).await.expect("a count"), 2);
    // A repetition must be compared with the stored records.
    assert_eq!(length(&run(&*one, told).await), 5);
    assert_eq!(one.read().journal(&claim.id, 0, 100).await.expect("a journal").len(), 5);
    assert_eq!(one.read().log_count(&claim.id).await.expect("a count"), 2);
    assert!(invariants::check(&one.read().dump().await.expect("a dump")).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_another_host_took_appends_nothing() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let (one, two, claim) = held(&database, &clock).await;
    run(&*one, fence(&claim, 0)).await;
    clock.advance(LEASE + Millis(1));
    run(&*two, Command::LeaseDue { id: claim.id.clone() }).await;
    clock.advance(Millis(600_000));
    run(&*two, Command::RetryDue { id: claim.id.clone() }).await;
    let taken = acquire(&*two, "w", "two").await;
    assert!(taken.version > claim.version);
    let refused = run(&*one, fence(&claim, 1)).await;
    let Reply::Refused(Refusal::Conflict(Conflict::StaleVersion { current, .. })) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(current, taken.version);
    assert_eq!(length(&run(&*two, fence(&taken, 1)).await), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_host_wrote_to_the_task_is_not_lost() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let (one, two, claim) = held(&database, &clock).await;
    run(&*one, fence(&claim, 0)).await;
    run(&*two, Command::Cancel { invocation: claim.id.clone() }).await;
    let (reply, statements_then) = statements(&one, fence(&claim, 1)).await;
    assert_eq!(length(&reply), 2);
    assert!(statements_then > 1, "the task had changed, so it was read");
    assert_eq!(statements(&one, fence(&claim, 2)).await.1, 1, "it is remembered as it is now");
    let row = one.read().promise(&claim.id).await.expect("a row").expect("it is there");
    assert_eq!(row.task.expect("it has a task").cancel, CancelState::Requested);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_was_locked_or_vacuumed_is_as_it_was() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let (one, two, claim) = held(&database, &clock).await;
    run(&*one, fence(&claim, 0)).await;
    let stale = Claim { version: Version(claim.version.0 + 1), ..claim.clone() };
    assert!(matches!(run(&*two, fence(&stale, 1)).await, Reply::Refused(_)));
    database.sql("VACUUM FREEZE tasks");
    assert_eq!(statements(&one, fence(&claim, 1)).await.1, 1);
}

/// External workers may use one claim with several hosts.
#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_grew_elsewhere_under_the_same_claim_goes_on_from_there() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let (one, two, claim) = held(&database, &clock).await;
    for seq in 0..6 {
        let host = if seq % 3 == 2 { &two } else { &one };
        assert_eq!(length(&run(&**host, fence(&claim, seq)).await), seq + 1);
    }
    // Records written by the other host are neither repeated nor skipped.
    assert_eq!(length(&run(&*one, fence(&claim, 5)).await), 6);
    let refused = run(&*one, fence(&claim, 7)).await;
    assert!(matches!(refused, Reply::Refused(Refusal::JournalMismatch { .. })), "{refused:?}");
    let journal = one.read().journal(&claim.id, 0, 100).await.expect("a journal");
    assert_eq!(journal.iter().map(|record| record.seq).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!(invariants::check(&one.read().dump().await.expect("a dump")).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_that_came_is_carried_out_before_records_are_taken() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let engine = Config::default();
    let one = store(&database, &clock, &engine).await;
    deploy(&*one).await;
    let deadline = Timestamp(31_000);
    let new = new("w", &[("target", "wasm://shop/order")], deadline);
    run(&*one, Command::PromiseCreate(new)).await;
    let claim = acquire(&*one, "w", "one").await;
    assert_eq!(length(&run(&*one, fence(&claim, 0)).await), 1);
    clock.advance(Millis(30_000));
    let refused = run(&*one, fence(&claim, 1)).await;
    assert!(matches!(refused, Reply::Refused(Refusal::Conflict(_))), "{refused:?}");
    let row = one.read().promise(&claim.id).await.expect("a row").expect("it is there");
    assert!(!row.promise.is_pending(), "a timeout always wins");
}

/// Verifies the partitioning of one database that docs/concepts/growing.md describes.
#[tokio::test(flavor = "multi_thread")]
async fn tables_that_were_divided_by_the_invocation_are_used_like_any() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    store(&database, &clock, &Config::default()).await.close().await;
    for table in ["journal", "logs"] {
        database.sql(&format!(
            "ALTER TABLE {table} RENAME TO whole;
             CREATE TABLE {table} (LIKE whole INCLUDING ALL) PARTITION BY HASH (inv);
             CREATE TABLE {table}_0 PARTITION OF {table} FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE {table}_1 PARTITION OF {table} FOR VALUES WITH (MODULUS 2, REMAINDER 1);
             DROP TABLE whole"
        ));
    }
    let (one, _two, claim) = held(&database, &clock).await;
    for seq in 0..4 {
        assert_eq!(statements(&one, fence(&claim, seq)).await.1, 1);
    }
    assert_eq!(one.read().journal(&claim.id, 0, 100).await.expect("a journal").len(), 4);
    assert!(invariants::check(&one.read().dump().await.expect("a dump")).is_empty());
    let parts = "SELECT (SELECT count(*) FROM journal_0) + (SELECT count(*) FROM journal_1)";
    assert_eq!(database.sql(parts), "4");
}
