//! A decision that waited for another transaction sees all of it or nothing, for every kind of row.
//!
//! A connection of the test locks a row that the first host's batch needs late, which keeps this
//! batch open at a chosen point. Then the second host's batch begins, and waits for the first.

use std::{future::Future, sync::Arc};

use segno_core::{
    command::Command,
    config::Config,
    id::{Claim, Digest, Holder, HostName, PromiseId, ScheduleId},
    invariants,
    promise::{CancelState, NewSchedule, Overlap, PromiseTemplate, Verdict},
    reply::Reply,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_env::{Runtime as _, SystemRuntime};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use throwaway_postgres::Database;

use super::{
    super::{
        HandClock, create, deploy,
        work::{acquire, fence, length, run},
    },
    database, store,
};
use crate::{NewModule, Store as _, postgres::PostgresStore};

/// A transaction of the test that holds row locks.
pub(super) struct Gate {
    connection: PgConnection,
}

impl Gate {
    async fn shut(database: &Database<'_>, statement: &str) -> Self {
        let mut connection = PgConnection::connect(&database.url()).await.expect("a connection");
        connection.execute("BEGIN").await.expect("a transaction");
        connection.execute(AssertSqlSafe(statement.to_owned())).await.expect(statement);
        Self { connection }
    }

    /// Locks the task of `id`: a transaction that locks its promise first then waits with that
    /// lock.
    async fn task(database: &Database<'_>, id: &str) -> Self {
        let task = "SELECT FROM tasks JOIN promises USING (n)";
        Self::shut(database, &format!("{task} WHERE id = '{id}' FOR UPDATE OF tasks")).await
    }

    /// Holds the id of a promise that is never created: a transaction that inserts it waits with
    /// all its locks.
    pub(super) async fn id(database: &Database<'_>, id: &str) -> Self {
        let columns = "n, id, state, created_at, timeout_at, attached, tags, param";
        let values = format!("nextval('promises_n'), '{id}', 0, 0, 9, 0, '{{}}', ''");
        Self::shut(database, &format!("INSERT INTO promises ({columns}) VALUES ({values})")).await
    }

    pub(super) async fn open(self) {
        self.connection.close().await.expect("it ends");
    }
}

/// Counts the transactions of a database that wait for locks.
pub(super) struct Waiters {
    connection: PgConnection,
}

impl Waiters {
    pub(super) async fn new(database: &Database<'_>) -> Self {
        let connection = PgConnection::connect(&database.url()).await.expect("a connection");
        Self { connection }
    }

    pub(super) async fn count(&mut self) -> usize {
        let waiters = "SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let count = sqlx::query_scalar(waiters).fetch_one(&mut self.connection);
        let count: i64 = count.await.expect("a count");
        count as usize
    }
}

/// Waits until `count` transactions of the database wait for locks.
async fn waiting(database: &Database<'_>, count: usize) {
    let mut waiters = Waiters::new(database).await;
    for _ in 0..3_000 {
        if waiters.count().await >= count {
            return;
        }
        SystemRuntime.sleep(Millis(10)).await;
    }
    panic!("{count} transactions never waited");
}

/// The result of `second`, which waits for `first`. `first` continues once `second` waits.
async fn one_after_the_other<T>(
    database: &Database<'_>,
    gate: Gate,
    first: impl Future<Output = Reply>,
    second: impl Future<Output = T>,
) -> (Reply, T) {
    let second = async {
        waiting(database, 1).await;
        let opened = async {
            waiting(database, 2).await;
            gate.open().await;
        };
        tokio::join!(second, opened).0
    };
    tokio::join!(first, second)
}

async fn hosts(
    database: &Database<'_>,
) -> (Arc<HandClock>, Arc<PostgresStore>, Arc<PostgresStore>) {
    let (clock, engine) = (HandClock::new(), Config::default());
    let one = store(database, &clock, &engine).await;
    let two = store(database, &clock, &engine).await;
    deploy(&*one).await;
    (clock, one, two)
}

/// Creates and begins the workflow `w`, claimed by the first host.
async fn workflow(one: &PostgresStore) -> Claim {
    run(one, create("w", &[("target", "wasm://shop/order")])).await;
    let claim = acquire(one, "w", "one").await;
    assert_eq!(length(&run(one, fence(&claim, 0)).await), 1);
    claim
}

fn signal(id: &str) -> Command {
    Command::Signal {
        invocation: id.into(),
        name: "s".into(),
        payload: Value::default(),
        key: None,
    }
}

fn suspend(claim: &Claim, on: &[&str]) -> Command {
    Command::TaskSuspend {
        claim: claim.clone(),
        records: Vec::new(),
        logs: Vec::new(),
        awaits: on.iter().map(|id| PromiseId::from(*id)).collect(),
    }
}

async fn is_sound(host: &PostgresStore) {
    let dump = host.read().dump().await.expect("a dump");
    let violations = invariants::check(&dump);
    assert!(violations.is_empty(), "{violations:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_comes_while_its_receiver_suspends_elsewhere_is_there() {
    let Some(database) = database() else { return };
    let (_clock, one, two) = hosts(&database).await;
    let claim = workflow(&one).await;
    let gate = Gate::task(&database, "w").await;
    let sent = run(&*two, signal("w"));
    let suspended = run(&*one, suspend(&claim, &["w/s/0"]));
    let (sent, suspended) = one_after_the_other(&database, gate, sent, suspended).await;
    assert!(matches!(sent, Reply::Signalled { n: 0, .. }), "{sent:?}");
    let Reply::Ready { settled, .. } = suspended else { panic!("{suspended:?}") };
    assert_eq!(settled, ["w/s/0".into()]);
    is_sound(&one).await;
}

/// The same id is created again in the transaction that removes it: a new row, which the
/// transaction waiting for the old row never sees.
#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_was_removed_and_made_again_meanwhile_is_there() {
    let Some(database) = database() else { return };
    let (clock, one, two) = hosts(&database).await;
    run(&*one, create("p", &[])).await;
    let (id, value) = (PromiseId::from("p"), Value::default());
    let verdict = Verdict::Resolved;
    run(&*one, Command::PromiseSettle { id: id.clone(), verdict, value: value.clone() }).await;
    clock.advance(Millis(10));
    let gate = Gate::id(&database, "z").await;
    let again = async {
        let before = Timestamp(1_005);
        let commands = vec![
            Command::Prune { top: id.clone(), before, part: false, state: false },
            create("p", &[]),
            create("z", &[]),
        ];
        two.execute(commands).await.expect("replies").remove(1)
    };
    let read = run(&*one, Command::PromiseSettle { id: id.clone(), verdict, value });
    let (made, settled) = one_after_the_other(&database, gate, again, read).await;
    assert!(matches!(made, Reply::Promise { changed: true, .. }), "{made:?}");
    assert!(matches!(settled, Reply::Promise { changed: true, .. }), "{settled:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_and_a_resource_that_came_with_what_was_waited_for_are_there() {
    let Some(database) = database() else { return };
    let (_clock, one, two) = hosts(&database).await;
    run(&*one, create("p", &[("target", "poll://w")])).await;
    let schedule = NewSchedule {
        id: ScheduleId::new("late"),
        cron: "0 0 * * *".into(),
        zone: Default::default(),
        jitter: Millis::ZERO,
        template: PromiseTemplate {
            id: "{{.id}}@{{.timestamp}}".into(),
            param: Value::default(),
            tags: Tags::from([("target".to_owned(), "poll://w".to_owned())]),
            timeout: Millis(1_000),
        },
        overlap: Overlap::Allow,
    };
    let gate = Gate::task(&database, "p").await;
    let lease =
        Command::ResourceLease { name: "r".into(), holder: "h".into(), ttl: Millis(60_000) };
    let made = async {
        let commands = vec![
            Command::Cancel { invocation: "p".into() },
            Command::ScheduleCreate(schedule),
            lease,
        ];
        two.execute(commands).await.expect("replies").remove(1)
    };
    let asked = one.execute(vec![
        Command::PromiseGet { id: "p".into() },
        Command::SchedulePause { id: ScheduleId::new("late"), paused: true },
        Command::ResourceGet { name: "r".into() },
    ]);
    let (made, asked) = one_after_the_other(&database, gate, made, asked).await;
    assert!(matches!(made, Reply::Schedule { created: true, .. }), "{made:?}");
    let asked = asked.expect("replies");
    assert!(matches!(asked[1], Reply::Schedule { .. }), "{asked:?}");
    assert!(matches!(&asked[2], Reply::Resource { lease: Some(_), .. }), "{asked:?}");
}

/// A worker's heartbeat does not name its tasks.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_to_a_task_is_not_undone_by_a_heartbeat_of_its_worker() {
    let Some(database) = database() else { return };
    let (clock, one, two) = hosts(&database).await;
    let claim = workflow(&one).await;
    let held = one.read().promise(&claim.id).await.expect("a row").and_then(|row| row.task);
    let held = held.expect("it has a task").lease().expect("it is held").holder.clone();
    clock.advance(Millis(500));
    let gate = Gate::id(&database, "z").await;
    let cancelled = async {
        let commands = vec![Command::Cancel { invocation: claim.id.clone() }, create("z", &[])];
        two.execute(commands).await.expect("replies").remove(0)
    };
    let beat = run(&*one, Command::WorkerHeartbeat { holder: held });
    let (_, beat) = one_after_the_other(&database, gate, cancelled, beat).await;
    assert!(matches!(&beat, Reply::Heartbeat(beats) if beats.len() == 1), "{beat:?}");
    let row = one.read().promise(&claim.id).await.expect("a row").expect("it is there");
    let task = row.task.expect("it has a task");
    assert_eq!(task.cancel, CancelState::Requested, "{task:?}");
    assert_eq!(task.last_heartbeat, Some(Timestamp(1_500)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_was_settled_meanwhile_is_not_given_back_by_a_heartbeat() {
    let Some(database) = database() else { return };
    let (_clock, one, two) = hosts(&database).await;
    let claim = workflow(&one).await;
    let holder = Holder { node: HostName::new("one"), incarnation: 1 };
    let gate = Gate::id(&database, "z").await;
    let killed = async {
        let commands = vec![Command::Kill { invocation: claim.id.clone() }, create("z", &[])];
        two.execute(commands).await.expect("replies").remove(0)
    };
    let beat = run(&*one, Command::WorkerHeartbeat { holder });
    let (_, beat) = one_after_the_other(&database, gate, killed, beat).await;
    assert!(matches!(&beat, Reply::Heartbeat(beats) if beats.is_empty()), "{beat:?}");
    is_sound(&one).await;
}

/// An append under a remembered claim: the statement waits for the lock, and then compares with the
/// current row.
#[tokio::test(flavor = "multi_thread")]
async fn records_that_wait_for_a_change_of_their_task_are_decided_on_it() {
    let Some(database) = database() else { return };
    let (_clock, one, two) = hosts(&database).await;
    let claim = workflow(&one).await;
    assert_eq!(length(&run(&*one, fence(&claim, 1)).await), 2);
    let gate = Gate::id(&database, "z").await;
    let cancelled = async {
        let commands = vec![Command::Cancel { invocation: claim.id.clone() }, create("z", &[])];
        two.execute(commands).await.expect("replies").remove(0)
    };
    let (_, fenced) =
        one_after_the_other(&database, gate, cancelled, run(&*one, fence(&claim, 2))).await;
    assert_eq!(length(&fenced), 3);
    let row = one.read().promise(&claim.id).await.expect("a row").expect("it is there");
    assert_eq!(row.task.expect("it has a task").cancel, CancelState::Requested);
    is_sound(&one).await;
}

/// A module without references is removed between a decision to use it and the commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_is_removed_meanwhile_is_not_left_out_of_what_names_it() {
    let Some(database) = database() else { return };
    let (_clock, one, _two) = hosts(&database).await;
    let digest = Digest([9; 32]);
    let bytes = Arc::from(&b"another"[..]);
    one.modules().put(NewModule::plain(digest, bytes, Timestamp(1_000))).await.expect("it is kept");
    let target = format!("wasm://sha256:{digest}/order");
    // The removal is in progress when the decision reads, and ends when the task is written.
    let mut gate = Gate::shut(&database, "DELETE FROM modules WHERE component = 'another'").await;
    let made = run(&*one, create("m", &[("target", &target)]));
    let removed = async {
        waiting(&database, 1).await;
        gate.connection.execute("COMMIT").await.expect("it is removed");
        gate.open().await;
    };
    let (made, ()) = tokio::join!(made, removed);
    assert!(matches!(made, Reply::Refused(_)), "{made:?}");
    assert!(one.read().promise(&"m".into()).await.expect("a row").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_twice_where_nobody_is_in_the_way() {
    let Some(database) = database() else { return };
    let (_clock, one, _two) = hosts(&database).await;
    let claim = workflow(&one).await;
    let statements = async |command| {
        let before = one.written().statements;
        run(&*one, command).await;
        one.written().statements - before
    };
    // BEGIN, lock promises, lock tasks, the rest, write, COMMIT. A new promise has no task to lock,
    // but needs a number.
    assert_eq!(statements(create("p", &[("target", "poll://w")])).await, 6);
    assert_eq!(statements(Command::Cancel { invocation: "p".into() }).await, 6);
    assert_eq!(statements(suspend(&claim, &["p"])).await, 6);
    // The task determines the promise of a signal, which takes two more statements to look up, and
    // one for its number.
    assert_eq!(statements(signal("w")).await, 9);
}

/// The predecessor in a queue is known by name before it is locked.
#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_a_line_waits_for_the_row_of_whom_it_was_behind() {
    let Some(database) = database() else { return };
    let (_clock, one, _two) = hosts(&database).await;
    for id in ["a", "b", "c"] {
        run(&*one, create(id, &[("target", "wasm://shop/Cart@ada/add")])).await;
    }
    let held = "SELECT FROM promises WHERE id = 'a' FOR UPDATE";
    let gate = Gate::shut(&database, held).await;
    let killed = run(&*one, Command::Kill { invocation: "b".into() });
    let opened = async {
        waiting(&database, 1).await;
        gate.open().await;
    };
    tokio::join!(killed, opened);
    let dump = one.read().dump().await.expect("a dump");
    assert!(dump.callbacks.contains_key(&("a".into(), "c".into())), "{:?}", dump.callbacks);
    is_sound(&one).await;
}
