//! Runs one script on the model and a store: equal replies, and equal dumps and reads after each
//! step.

use std::sync::Arc;

use segno_core::{
    command::Command,
    config::{Config, ExhaustionPolicy, StreamBounds, VersionRule},
    id::{ObjectId, PromiseId},
    invariants,
    limit::LimitName,
    promise::{OutboxMessageKind, TaskStatus, Verdict},
    reply::{DamageKind, Reply},
    snapshot::Snapshot,
    stream::StreamRate,
    time::{Millis, Timestamp},
    tree::TreeBounds,
    value::{Tags, Text},
};
use segno_env::Clock as _;

use super::{
    HandClock, MODULE,
    coverage::{self, Seen},
    deploy,
    dice::Dice,
    forgetful, gathering, memory, script, sqlite,
};
use crate::{
    AdmittedFilter, InvocationFilter, LimitFilter, ObjectFilter, ParentCursor, PartitionFilter,
    PromiseFilter, PromiseStateFilter, ScheduleFilter, Store, StoreCounts, StoreProblem,
    examine_pages,
};

/// Maximum number of draws until a command has a wanted kind.
const DRAWS: usize = 12;
/// Number of steps between full comparisons of all reads: rows are compared after every step, but
/// the reads take most of the time.
const READS_EVERY: usize = 4;

pub(super) fn configs() -> [Config; 2] {
    let default = Config::default();
    let strict = Config {
        version_rule: VersionRule::AcquireOnly,
        lost_limit: 3,
        tree: TreeBounds { depth: 2, executions: 3, births: Some(2) },
        attempt_limit: Some(4),
        stall_limit: Some(Millis(40)),
        on_exhausted: ExhaustionPolicy::Reject,
        stream: StreamBounds { rate: Some(StreamRate { bytes_per_second: 20 }), ..default.stream },
        ..default
    };
    [Config::default(), strict]
}

#[tokio::test]
async fn random_scripts_are_answered_alike_until_every_command_was_answered_and_refused() {
    let mut seen = Seen::new();
    for (seed, config) in (0..60).zip(configs().iter().cycle()) {
        if seed >= 4 && coverage::missing(&seen).is_empty() {
            break;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let clock = HandClock::new();
        let model = memory(&clock, config);
        let store = sqlite(dir.path(), &clock, config).await;
        deploy(&*model).await;
        deploy(&*store).await;
        walk(&*model, &*store, &clock, seed, 250, &mut seen).await;
    }
    let missing = coverage::missing(&seen);
    assert!(missing.is_empty(), "these were never met: {missing:?}");
}

#[tokio::test]
async fn a_store_that_forgets_answers_like_one_that_remembers() {
    let dir = tempfile::tempdir().expect("a directory");
    let (clock, config) = (HandClock::new(), Config::default());
    let model = memory(&clock, &config);
    let store = forgetful(dir.path(), &clock, &config).await;
    deploy(&*model).await;
    deploy(&*store).await;
    walk(&*model, &*store, &clock, 50, 300, &mut Seen::new()).await;
}

#[tokio::test]
async fn a_store_that_is_opened_again_goes_on_as_if_nothing_had_happened() {
    let config = Config::default();
    let dir = tempfile::tempdir().expect("a directory");
    let clock = HandClock::new();
    let model = memory(&clock, &config);
    deploy(&*model).await;
    for seed in 100..110 {
        let store = sqlite(dir.path(), &clock, &config).await;
        deploy(&*store).await;
        assert_eq!(
            store.read().dump().await.expect("a dump"),
            model.read().dump().await.expect("a dump")
        );
        walk(&*model, &*store, &clock, seed, 40, &mut Seen::new()).await;
        store.close().await;
    }
}

#[tokio::test]
async fn a_store_that_is_wiped_is_as_new() {
    let dir = tempfile::tempdir().expect("a directory");
    let (clock, config) = (HandClock::new(), Config::default());
    let model = memory(&clock, &config);
    let store = sqlite(dir.path(), &clock, &config).await;
    wipe(&*model, &*store, &clock).await;
}

/// Wipes both stores in the middle of a script; afterwards nothing of the old content is visible.
pub(super) async fn wipe(model: &dyn Store, store: &dyn Store, clock: &Arc<HandClock>) {
    deploy(model).await;
    deploy(store).await;
    let begun = store.read().dump().await.expect("a dump");
    for seed in 70..72 {
        walk(model, store, clock, seed, 60, &mut Seen::new()).await;
        let full = store.read().dump().await.expect("a dump");
        assert!(!full.promises.is_empty() && full.promises != begun.promises);
        model.wipe().await.expect("it is wiped");
        store.wipe().await.expect("it is wiped");
        let wiped = store.read().dump().await.expect("a dump");
        assert_eq!(wiped, model.read().dump().await.expect("a dump"));
        assert!(wiped.promises.is_empty() && wiped.journals.is_empty());
        assert_eq!(store.modules().list().await.expect("modules").len(), 1, "modules stay");
    }
}

#[tokio::test]
async fn batches_leave_what_single_commands_leave() {
    let config = Config::default();
    let dir = tempfile::tempdir().expect("a directory");
    let clock = HandClock::new();
    let model = memory(&clock, &config);
    let store = sqlite(dir.path(), &clock, &config).await;
    batches(&*model, &*store, &clock, 60).await;
}

/// Compares concurrent submissions of many commands with the model, which runs one command at a
/// time.
pub(super) async fn batches(
    model: &dyn Store,
    store: &dyn Store,
    clock: &Arc<HandClock>,
    rounds: u32,
) {
    deploy(model).await;
    deploy(store).await;
    let mut dice = Dice::new(7);
    for _ in 0..rounds {
        clock.advance(Millis(dice.roll(4_000) as i64));
        let mut expected = Vec::new();
        let mut commands = Vec::new();
        for _ in 0..1 + dice.roll(20) {
            let seen = model.read().dump().await.expect("a dump");
            let command = script::command(&mut dice, &seen, clock.now());
            expected.extend(model.execute(vec![command.clone()]).await.expect("replies"));
            commands.push(command);
        }
        let replies = store.execute(commands.clone()).await.expect("replies");
        for ((command, reply), expected) in commands.iter().zip(replies).zip(expected) {
            assert_eq!(reply, expected, "{command:?}");
        }
        compare(model, store, clock, "a batch").await;
    }
}

pub(super) async fn walk(
    model: &dyn Store,
    store: &dyn Store,
    clock: &Arc<HandClock>,
    seed: u64,
    steps: usize,
    met: &mut Seen,
) {
    walk_comparing(model, store, clock, seed, steps, READS_EVERY, met).await;
}

/// Like [`walk`], without the reads, which show the numbers of rows: a store that decides again
/// leaves some out.
pub(super) async fn walk_rows(
    model: &dyn Store,
    store: &dyn Store,
    clock: &Arc<HandClock>,
    seed: u64,
    steps: usize,
) {
    walk_comparing(model, store, clock, seed, steps, usize::MAX, &mut Seen::new()).await;
}

async fn walk_comparing(
    model: &dyn Store,
    store: &dyn Store,
    clock: &Arc<HandClock>,
    seed: u64,
    steps: usize,
    reads_every: usize,
    met: &mut Seen,
) {
    let mut dice = Dice::new(seed);
    let mut seen = model.read().dump().await.expect("a dump");
    for step in 0..steps {
        if dice.roll(3) == 0 {
            clock.advance(Millis(dice.roll(6_000) as i64));
        }
        let commands = match dice.roll(6) {
            0 => model.work_queue().due(clock.now(), 3).await.expect("what is due").commands,
            1 => {
                let kind = dice.of(&OutboxMessageKind::ALL);
                model
                    .work_queue()
                    .outbox_due(kind, clock.now(), 2)
                    .await
                    .expect("what is owed")
                    .commands
            }
            roll => {
                let mut draw = || script::command(&mut dice, &seen, clock.now());
                let first = draw();
                // Half of the time, prefer a kind that was not seen yet, if a few draws produce
                // one.
                let wanted = coverage::missing(met);
                let is_wanted = |it: &Command| wanted.iter().any(|(kind, _)| *kind == it.name());
                let tries = if roll < 4 { DRAWS } else { 0 };
                let other = (0..tries).map(|_| draw()).find(is_wanted);
                vec![other.unwrap_or(first)]
            }
        };
        let context = format!("step {step} of seed {seed}: {commands:?}");
        let expected = model.execute(commands.clone()).await.expect("replies");
        for (command, reply) in commands.iter().zip(&expected) {
            met.insert((command.name(), !matches!(reply, Reply::Refused(_))));
        }
        let replies = store.execute(commands).await.expect(&context);
        assert_eq!(replies, expected, "{context}");
        seen = match step % reads_every == 0 || step + 1 == steps && reads_every < steps {
            true => compare(model, store, clock, &context).await,
            false => compare_rows(model, store, &context).await,
        };
        // Pages of every length: rows cut off at a page's end must not look wrong.
        if step % 7 == 0 {
            looks_healthy(store, clock, 1 + step as u32 % 20, &context).await;
        }
    }
}

/// Any sequence of commands leaves a healthy store. Exception: children without a command in their
/// parent's journal, which scripts create and hosts do not.
async fn looks_healthy(store: &dyn Store, clock: &Arc<HandClock>, page: u32, context: &str) {
    let scan = store.scan();
    let config = Config::default();
    let found = examine_pages(scan, page, clock.now(), &config, |_| {}).await;
    let mut findings = found.expect("a diagnosis").findings;
    let child = |finding: &StoreProblem| {
        matches!(finding, StoreProblem::Orphan { orphan: DamageKind::ChildRuns, .. })
    };
    findings.retain(|finding| !child(finding));
    assert_eq!(findings, [], "pages of {page} at {context}");
    let damage = scan.damage().await.expect("an answer");
    assert_eq!(damage, Vec::<String>::new(), "{context}");
}

/// Compares all rows of both stores, and checks the invariants.
pub(super) async fn compare_rows(model: &dyn Store, store: &dyn Store, context: &str) -> Snapshot {
    let expected = model.read().dump().await.expect("a dump");
    assert_eq!(store.read().dump().await.expect("a dump"), expected, "{context}");
    let violations = invariants::check(&expected);
    assert!(violations.is_empty(), "{context}: {violations:?}");
    expected
}

/// Compares all rows of both stores, and the results of all reads.
pub(super) async fn compare(
    model: &dyn Store,
    store: &dyn Store,
    clock: &Arc<HandClock>,
    context: &str,
) -> Snapshot {
    let expected = compare_rows(model, store, context).await;
    let (one, two) = (reads(model, clock, &expected).await, reads(store, clock, &expected).await);
    assert_eq!(two, one, "{context}");
    expected
}

/// The results of all reads, as text.
async fn reads(store: &dyn Store, clock: &Arc<HandClock>, seen: &Snapshot) -> Vec<String> {
    let now = clock.now();
    let mut answers = vec![
        format!("{:?}", store.work_queue().due(now, 3).await.expect("what is due")),
        format!(
            "{:?}",
            store.work_queue().due(now + Millis(20_000), 2).await.expect("what is due")
        ),
    ];
    for kind in OutboxMessageKind::ALL {
        answers.push(format!(
            "{:?}",
            store.work_queue().outbox_due(kind, now, 2).await.expect("what is owed")
        ));
    }
    answers.extend(row_reads(store, now, seen).await);
    answers
}

/// The results of all reads except those of due work, as text.
pub(crate) async fn row_reads(store: &dyn Store, now: Timestamp, seen: &Snapshot) -> Vec<String> {
    let mut answers = vec![
        format!("{:?}", store.work_queue().ready(now, None, 3).await.expect("tasks")),
        format!("{:?}", store.work_queue().ready(now, Some(3), 1).await.expect("tasks")),
        format!("{:?}", store.modules().list().await.expect("modules")),
        format!("{:?}", store.modules().in_use().await.expect("counts")),
        format!("{:?}", store.modules().unfinished(MODULE, 3).await.expect("ids")),
    ];
    // The same rows may lie in any number of databases.
    let counts = store.read().counts().await.expect("counts");
    answers.push(format!("{:?}", StoreCounts { answered: Vec::new(), ..counts }));
    let journals: Vec<_> = seen
        .journals
        .iter()
        .map(|(id, journal)| (id.clone(), journal.records.len() as u32))
        .collect();
    answers.push(format!("{:?}", store.read().histories(&journals).await.expect("journals")));
    let first = store.read().events(None, 2).await.expect("events");
    let rest =
        store.read().events(first.first().map(|event| event.place), 100).await.expect("events");
    answers.push(format!("{first:?} {rest:?}"));
    let ids: Vec<PromiseId> = seen.promises.keys().cloned().collect();
    answers.push(format!("{:?}", store.read().promises(&ids).await.expect("promises")));
    answers.extend(call_tree(store, &ids).await);
    answers.extend(gathering::answers(store, &ids).await);
    for id in &ids {
        answers.push(format!("{:?}", store.read().waits(id).await.expect("waits")));
        answers.push(format!("{:?}", store.read().facts(id).await.expect("facts")));
        answers.push(format!("{:?}", store.read().graph_nodes(id).await.expect("nodes")));
        answers.push(format!("{:?}", store.read().graph_history(id).await.expect("a history")));
        answers.push(format!("{:?}", store.read().journal(id, 2, 3).await.expect("a journal")));
        answers.push(format!("{:?}", store.read().logs(id, 1, 2).await.expect("logs")));
    }
    let names = ["total", "имя \u{0}'", "nothing"].map(Text::from);
    for object in seen.lines.keys().chain(seen.state.keys().map(|(object, _)| object)) {
        let state = store.read().object_state(object, &names).await.expect("state");
        answers.push(format!("{state:?}"));
        let names = store.read().object_names(object).await.expect("names");
        answers.push(format!("{names:?}"));
        for bytes_max in [0, u64::MAX] {
            let whole = store.read().object_whole(object, bytes_max).await.expect("state");
            answers.push(format!("{whole:?}"));
        }
    }
    let unknown = Text::from("nobody");
    for alias in seen.aliases.keys().chain([&unknown]) {
        answers.push(format!("{:?}", store.modules().named(alias).await.expect("a module")));
    }
    let after = Some(ObjectId::from("shop/Cart@ada"));
    for filter in [
        ObjectFilter::default(),
        ObjectFilter { limit: 1, ..ObjectFilter::default() },
        ObjectFilter { after, ..ObjectFilter::default() },
        ObjectFilter { prefix: Some("shop/Cart@b/".to_owned()), ..ObjectFilter::default() },
    ] {
        answers.push(format!("{:?}", store.read().objects(&filter).await.expect("objects")));
    }
    answers.extend(limits(store, seen).await);
    for id in seen.schedules.keys() {
        answers.push(format!("{:?}", store.read().schedule(id).await.expect("a schedule")));
    }
    let blue = Tags::from([("label:team".to_owned(), "blue".to_owned())]);
    let all = ScheduleFilter::default();
    for filter in [
        all.clone(),
        ScheduleFilter { limit: 1, ..all.clone() },
        ScheduleFilter { after: Some("b".into()), limit: 1, ..all.clone() },
        ScheduleFilter { prefix: Some("n".to_owned()), ..all.clone() },
        ScheduleFilter { tags: blue, ..all },
    ] {
        answers.push(format!("{:?}", store.read().schedules(&filter).await.expect("schedules")));
    }
    for filter in filters(ids.first()) {
        answers.push(format!("{:?}", store.read().list(&filter).await.expect("a list")));
        answers.push(format!("{:?}", store.read().counts_by_state(&filter).await.expect("counts")));
    }
    for filter in finds(ids.first()) {
        answers.push(format!("{:?}", store.read().find(&filter).await.expect("promises")));
    }
    answers
}

/// The results of the reads of limits, their keys and executions under them.
async fn limits(store: &dyn Store, seen: &Snapshot) -> Vec<String> {
    let mut answers = Vec::new();
    for limit in [0, 1] {
        for after in [None, Some(LimitName::of("shop", "both"))] {
            let filter = LimitFilter { after, limit };
            answers.push(format!("{:?}", store.read().limits(&filter).await.expect("limits")));
        }
    }
    let unknown = LimitName::of("shop", "nothing");
    for name in seen.limits.keys().chain([&unknown]) {
        answers.push(format!("{:?}", store.read().limit(name).await.expect("a limit")));
        let keys = ["a", "б \u{0}'", "nobody"].map(|key| name.partition(key));
        for key in &keys {
            answers.push(format!("{:?}", store.read().partition(key).await.expect("a key")));
        }
        for (limit, after) in [(0, None), (1, None), (1, Some(keys[0].clone()))] {
            let filter = PartitionFilter { name: name.clone(), after, limit };
            answers.push(format!("{:?}", store.read().partitions(&filter).await.expect("keys")));
        }
    }
    for (id, place) in &seen.places {
        answers.push(format!("{:?}", store.read().place(id, 2).await.expect("a place")));
        for (key, limit) in [(None, 0), (None, 1), (Some(place.partition.clone()), 0)] {
            let filter = AdmittedFilter { name: place.partition.limit(), key, limit };
            answers.push(format!("{:?}", store.read().admitted(&filter).await.expect("admitted")));
        }
    }
    answers
}

async fn call_tree(store: &dyn Store, ids: &[PromiseId]) -> Vec<String> {
    let call_tree = store.call_tree();
    let asked = |after: i64| {
        let strangers = std::iter::once(PromiseId::from("nobody at all"));
        let parents = ids.iter().cloned().chain(strangers);
        parents.map(|id| ParentCursor { id, after }).collect::<Vec<_>>()
    };
    let mut strangers = ids.to_vec();
    strangers.insert(0, "nobody at all".into());
    vec![
        format!("{:?}", call_tree.children(&asked(0), 100).await.expect("children")),
        format!("{:?}", call_tree.children(&asked(7), 2).await.expect("children")),
        format!("{:?}", call_tree.latest(&asked(0), 2).await.expect("children")),
        format!("{:?}", call_tree.latest(&asked(7), 100).await.expect("children")),
        format!("{:?}", call_tree.neighbours(&strangers, 3, 2).await.expect("neighbours")),
    ]
}

fn finds(some: Option<&PromiseId>) -> Vec<PromiseFilter> {
    let all = PromiseFilter::default;
    let tag = |name: &str, value: &str| Tags::from([(name.to_owned(), value.to_owned())]);
    vec![
        all(),
        PromiseFilter { limit: 2, ..all() },
        PromiseFilter { after: some.cloned(), limit: 2, ..all() },
        PromiseFilter { standing: Some(PromiseStateFilter::Pending), ..all() },
        PromiseFilter { standing: Some(PromiseStateFilter::Settled(Verdict::Resolved)), ..all() },
        PromiseFilter { tags: tag("target", "poll://workers"), ..all() },
        PromiseFilter { tags: tag("branch", "\"quoted\" \\ é"), ..all() },
        PromiseFilter { branch: some.map(ToString::to_string), ..all() },
        PromiseFilter { branch: Some("\"quoted\" \\ é".to_owned()), ..all() },
        PromiseFilter { tasks: true, ..all() },
        PromiseFilter { status: Some(TaskStatus::Suspended), ..all() },
        PromiseFilter { prefix: Some("i1".to_owned()), limit: 3, ..all() },
        PromiseFilter { prefix: Some("ключ \u{0}".to_owned()), ..all() },
    ]
}

fn filters(parent: Option<&PromiseId>) -> Vec<InvocationFilter> {
    let all = InvocationFilter::default;
    let state = |name: &str| InvocationFilter { state: Some(name.to_owned()), ..all() };
    vec![
        all(),
        InvocationFilter { limit: 2, ..all() },
        InvocationFilter { after: Some(4), limit: 2, ..all() },
        InvocationFilter { module: Some("shop".to_owned()), ..all() },
        InvocationFilter { function: Some("ship".to_owned()), ..all() },
        InvocationFilter { prefix: Some("a/".to_owned()), ..all() },
        InvocationFilter { label: Some(("team".to_owned(), "blue".to_owned())), ..all() },
        InvocationFilter { parent: parent.cloned(), ..all() },
        InvocationFilter { roots: true, ..all() },
        InvocationFilter { since: Some(Timestamp(1_050)), ..all() },
        InvocationFilter { until: Some(Timestamp(1_050)), roots: true, ..all() },
        InvocationFilter { holder: Some("w1".to_owned()), ..all() },
        InvocationFilter { holder: Some("n".to_owned()), limit: 2, ..all() },
        state("acquired"),
        state("halted"),
        state("suspended"),
        state("pending"),
        state("timed-out"),
    ]
}

#[tokio::test]
async fn a_state_that_does_not_exist_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = HandClock::new();
    let model = memory(&clock, &Config::default());
    let store = sqlite(dir.path(), &clock, &Config::default()).await;
    let filter = InvocationFilter { state: Some("done".to_owned()), ..InvocationFilter::default() };
    store.execute(vec![super::create("a", &[("target", "poll://w")])]).await.expect("a promise");
    model.execute(vec![super::create("a", &[("target", "poll://w")])]).await.expect("a promise");
    for refused in [store.read().list(&filter).await, model.read().list(&filter).await] {
        let message = refused.expect_err("there is no such state").to_string();
        assert!(message.starts_with("`done` is no state"), "{message}");
    }
}

#[tokio::test]
async fn a_command_reads_what_a_command_before_it_in_the_same_submission_wrote() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = HandClock::new();
    let store = sqlite(dir.path(), &clock, &Config::default()).await;
    let awaited = super::create("b", &[]);
    let awaiter = super::create("a", &[("target", "poll://w")]);
    let callback = Command::RegisterCallback { awaited: "b".into(), awaiter: "a".into() };
    let replies = store.execute(vec![awaited, awaiter, callback]).await.expect("replies");
    assert!(matches!(replies[2], Reply::Promise { .. }), "{:?}", replies[2]);
    let waits = store.read().waits(&"b".into()).await.expect("waits");
    assert_eq!(waits.awaited_by, ["a".into()]);
}
