//! SQLite's journal buffer: readers cannot see where the records of claims are stored.

use std::sync::Arc;

use segno_core::{
    command::Command,
    config::Config,
    id::{Claim, PromiseId},
    invocation::RecordBody,
    promise::Verdict,
    time::{Millis, Timestamp},
    value::{Payload, Value},
};
use sqlx::{Connection as _, SqliteConnection};
use tempfile::TempDir;

use super::{
    HandClock,
    conformance::compare,
    create, deploy,
    dice::Dice,
    forgetful, memory, sqlite,
    work::{LEASE, acquire, fence, length, run},
};
use crate::{
    MemoryStore, Store,
    sqlite::{SqliteReader, SqliteStore},
};

/// A model and a store; both hold claimed workflows `w0`, `w1` ….
struct Pair {
    dir: TempDir,
    clock: Arc<HandClock>,
    model: Arc<MemoryStore>,
    store: Arc<SqliteStore>,
    /// The claims, each with the length of its journal.
    held: Vec<(Claim, u32)>,
}

impl Pair {
    async fn of(workflows: usize) -> Self {
        let (dir, clock) = (tempfile::tempdir().expect("a directory"), HandClock::new());
        let config = Config::default();
        let (model, store) = (memory(&clock, &config), sqlite(dir.path(), &clock, &config).await);
        deploy(&*model).await;
        deploy(&*store).await;
        let mut pair = Self { dir, clock, model, store, held: Vec::new() };
        for number in 0..workflows {
            let id = format!("w{number}");
            pair.both(create(&id, &[("target", "wasm://shop/order")])).await;
            let claim = pair.take(&id).await;
            pair.held.push((claim, 0));
        }
        pair
    }

    async fn both(&self, command: Command) {
        self.all(vec![command]).await;
    }

    async fn all(&self, commands: Vec<Command>) {
        let expected = self.model.execute(commands.clone()).await.expect("replies");
        assert_eq!(self.store.execute(commands).await.expect("replies"), expected);
    }

    async fn take(&self, id: &str) -> Claim {
        let claim = acquire(&*self.model, id, "n").await;
        assert_eq!(acquire(&*self.store, id, "n").await, claim);
        claim
    }

    /// The command that appends the next record of a workflow.
    fn next(&mut self, number: usize) -> Command {
        let (claim, len) = &mut self.held[number];
        let next = fence(claim, *len);
        *len += 1;
        next
    }

    async fn append(&mut self, number: usize) {
        let next = self.next(number);
        self.both(next).await;
    }

    /// Lets the claim of a workflow expire, and claims it anew.
    async fn pass_on(&mut self, number: usize) {
        let id = self.held[number].0.id.clone();
        self.clock.advance(LEASE + Millis(1));
        self.both(Command::LeaseDue { id: id.clone() }).await;
        self.clock.advance(Millis(3_600_000));
        self.both(Command::RetryDue { id: id.clone() }).await;
        self.held[number].0 = self.take(id.as_str()).await;
    }

    async fn open_again(&mut self, holds_little: bool) {
        self.store.close().await;
        let (dir, config) = (self.dir.path(), Config::default());
        self.store = match holds_little {
            true => forgetful(dir, &self.clock, &config).await,
            false => sqlite(dir, &self.clock, &config).await,
        };
    }

    async fn agree(&self, context: &str) {
        compare(&*self.model, &*self.store, &self.clock, context).await;
        let look = SqliteReader::at(self.dir.path()).await.expect("it may be looked at");
        let mut damage = look.scan().candidates(0, 1_000).await.expect("a look").items;
        damage.retain(|id| id.as_str().starts_with('w'));
        assert!(damage.is_empty(), "{context}: {damage:?}");
        look.close().await;
    }

    /// Number of rows of `journal`, of `journal_recent`, and of those in the latter alone.
    async fn rows(&self) -> (i64, i64, i64) {
        let path = self.dir.path().join("segno.db");
        let path = path.to_str().expect("a path");
        let mut connection = SqliteConnection::connect(path).await.expect("it opens");
        let counts = "SELECT (SELECT count(*) FROM journal), (SELECT count(*) FROM journal_recent),
                             (SELECT count(*) FROM journal_ahead)";
        sqlx::query_as(counts).fetch_one(&mut connection).await.expect("counts")
    }
}

#[tokio::test]
async fn what_a_claim_appended_is_one_row_of_its_journal_when_the_claim_ends() {
    let mut pair = Pair::of(2).await;
    for round in 0..20 {
        pair.append(0).await;
        pair.append(1).await;
        pair.agree(&format!("round {round}")).await;
    }
    assert_eq!(pair.rows().await, (0, 40, 40));
    pair.pass_on(0).await;
    assert_eq!(pair.rows().await, (1, 40, 20));
    pair.agree("one claim has ended").await;
    for round in 0..5 {
        pair.append(0).await;
        pair.agree(&format!("round {round} of the next claim")).await;
    }
    assert_eq!(pair.rows().await, (1, 45, 25));
    let id = pair.held[0].0.id.clone();
    pair.both(Command::Kill { invocation: id }).await;
    assert_eq!(pair.rows().await, (2, 45, 20));
    pair.agree("it was killed").await;
}

#[tokio::test]
async fn what_came_with_the_end_of_a_claim_goes_to_the_journal_at_once() {
    let mut pair = Pair::of(1).await;
    pair.append(0).await;
    let Command::TaskFence { claim, records, logs, .. } = pair.next(0) else { unreachable!() };
    let awaits = [PromiseId::from("never")].into();
    pair.both(create("never", &[])).await;
    pair.both(Command::TaskSuspend { claim, records, logs, awaits }).await;
    assert_eq!(pair.rows().await, (1, 1, 0));
    pair.agree("it sleeps").await;
}

#[tokio::test]
async fn a_store_that_is_opened_again_or_forgets_knows_what_claims_appended() {
    let mut pair = Pair::of(4).await;
    let mut dice = Dice::new(5);
    for step in 0..240 {
        let number = dice.roll(4);
        match dice.roll(12) {
            0 => pair.pass_on(number).await,
            1 => pair.open_again(dice.roll(2) == 0).await,
            _ => pair.append(number).await,
        }
        pair.agree(&format!("step {step}")).await;
    }
    let (merged, recent, ahead) = pair.rows().await;
    assert!(merged > 8 && 0 < ahead && ahead < recent, "{merged} {recent} {ahead}");
}

#[tokio::test]
async fn a_table_that_grew_long_is_moved_and_emptied() {
    let mut pair = Pair::of(40).await;
    let mut longest = 0;
    for _ in 0..210 {
        // The first workflow gets more records than a row can hold.
        let turns = (0..40).chain(std::iter::repeat_n(0, 40));
        let commands: Vec<_> = turns.map(|number| pair.next(number)).collect();
        pair.all(commands).await;
        longest = longest.max(pair.rows().await.1);
    }
    let (merged, recent, ahead) = pair.rows().await;
    assert!(longest <= 8_192, "{longest} rows");
    assert!((41..200).contains(&merged), "{merged} rows of journals");
    assert!(recent < 4_400 && ahead <= recent, "{recent} {ahead}");
    pair.agree("all is there").await;
    let len = pair.held[0].1;
    assert_eq!(length(&run(&*pair.store, fence(&pair.held[0].0, len)).await), len + 1);
}

#[tokio::test]
async fn a_large_record_is_written_once() {
    let mut pair = Pair::of(1).await;
    let mut large = pair.next(0);
    let Command::TaskFence { records, .. } = &mut large else { unreachable!() };
    let RecordBody::Started { input, .. } = &mut records[0].body else { unreachable!() };
    *input = Payload::Bytes(vec![7; 20_000].into());
    pair.both(large).await;
    assert_eq!(pair.rows().await, (1, 0, 0));
    pair.append(0).await;
    assert_eq!(pair.rows().await, (1, 1, 1));
    pair.agree("small ones go on after it").await;
}

#[tokio::test]
async fn who_is_removed_leaves_nothing_that_a_later_one_could_find() {
    let mut pair = Pair::of(2).await;
    pair.append(0).await;
    pair.append(1).await;
    pair.both(Command::Kill { invocation: "w1".into() }).await;
    assert_eq!(pair.rows().await, (1, 2, 1));
    let prune =
        Command::Prune { top: "w1".into(), before: Timestamp::NEVER, part: false, state: false };
    pair.both(prune).await;
    assert_eq!(pair.rows().await, (1, 0, 0), "the other one's row was moved");
    // The newest workflow is removed, so that a reopened store could reuse its number.
    pair.open_again(false).await;
    pair.both(create("w2", &[("target", "wasm://shop/order")])).await;
    assert!(pair.store.read().journal(&"w2".into(), 0, 10).await.expect("a journal").is_empty());
    pair.held[1] = (pair.take("w2").await, 0);
    pair.append(1).await;
    pair.append(0).await;
    let expected = pair.model.read().dump().await.expect("a dump");
    assert_eq!(pair.store.read().dump().await.expect("a dump"), expected);
}

#[tokio::test]
async fn a_journal_that_is_removed_leaves_nothing_wherever_its_records_were() {
    let mut pair = Pair::of(3).await;
    for number in [0, 1, 1, 2] {
        pair.append(number).await;
    }
    let fulfill = |claim: Claim| {
        let (verdict, value, records) = (Verdict::Resolved, Value::default(), vec![]);
        Command::TaskFulfill { claim, records, logs: vec![], verdict, value }
    };
    let remove = |claim: Claim| Command::JournalRemove { id: claim.id };
    let [one, other] = [0, 1].map(|number: usize| pair.held[number].0.clone());
    // The records are buffered until the claim ends; the workflow is removed together with that, or
    // after it.
    let last = pair.next(0);
    pair.all(vec![last, fulfill(one.clone()), remove(one)]).await;
    pair.both(fulfill(other.clone())).await;
    pair.both(remove(other)).await;
    pair.agree("two are removed").await;
    for (id, len) in [("w0", 0), ("w1", 0), ("w2", 1)] {
        let records = pair.store.read().journal(&id.into(), 0, 9).await.expect("a journal");
        assert_eq!(records.len(), len, "{id}");
    }
    pair.open_again(false).await;
    pair.append(2).await;
    pair.agree("it is opened again").await;
}

#[tokio::test]
async fn a_batch_that_fails_appends_nothing() {
    let mut pair = Pair::of(1).await;
    pair.append(0).await;
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON promises WHEN new.id = 'poison'
                  BEGIN SELECT RAISE(ABORT, 'poison'); END";
    let path = pair.dir.path().join("segno.db");
    let path = path.to_str().expect("a path");
    let mut connection = SqliteConnection::connect(path).await.expect("it opens");
    sqlx::query(poison).execute(&mut connection).await.expect("a trigger");
    let (claim, len) = pair.held[0].clone();
    let refused = pair.store.execute(vec![fence(&claim, len), create("poison", &[])]).await;
    assert!(refused.is_err(), "{refused:?}");
    pair.agree("nothing came of it").await;
    pair.append(0).await;
    pair.agree("it goes on from there").await;
    assert_eq!(pair.rows().await, (0, 2, 2));
}

#[tokio::test]
async fn a_wiped_store_has_no_recent_records_either() {
    let mut pair = Pair::of(1).await;
    pair.append(0).await;
    pair.store.wipe().await.expect("it forgets");
    assert_eq!(pair.rows().await, (0, 0, 0));
    assert!(pair.store.read().journal(&"w0".into(), 0, 10).await.expect("a journal").is_empty());
}
