//! A valid store with every kind of row, and for each predicate a change that breaks it.

use std::sync::Arc;

use crate::{
    command::{Command, FenceOperation},
    graph::{NodeRow, NodeState},
    id::{CommandIndex, Digest, PromiseId, ScheduleId, Version},
    limit::{LimitName, LimitPosition, LimitPositionState, Partition},
    object::ObjectQueue,
    promise::{
        CancelState, OutboxKey, OutboxMessage, OutboxRow, Overlap, Promise, PromiseState, Schedule,
        Settlement, SkipReason, Task, TaskState, Verdict,
    },
    saga::{Fact, FactKey, FactKind},
    snapshot::Snapshot,
    stream::DurableStream,
    tags,
    time::Timestamp,
    tree::TreeCount,
    value::{Text, Value},
    world::{self, CheckedStore},
};

/// - `wait` is suspended on `open`.
/// - `run` is acquired and has a journal with a child `run/0`.
/// - `work` is offered to an external worker.
/// - `stop` is halted.
/// - `each` is a schedule that created `each@60000`.
/// - `ran` is the run of a key whose object has state and a promise.
/// - `cart` has the turn of an object and `next` waits for it.
/// - `pack1` and `pack4` are admitted by a limit, `pack2` and `pack3` wait behind `pack1`.
/// - `roll` continued as new.
/// - `graph` is a graph run that waits for a signal.
/// - `done` is fulfilled and owes a message.
/// - `paid` has a budget.
/// - `late` timed out.
/// - `nap` is a timer.
/// - `branch` is a stream that was forked from the stream `chat`; `run` has the stream `out`.
pub(crate) fn legal() -> Snapshot {
    let mut world = CheckedStore::new();
    let id = PromiseId::from;
    world.done(world::create("open", &[]));
    world.done(world::listener("open"));
    world.done(world::create("nap", &[(tags::TIMER, "true"), (tags::TARGET, "poll://workers")]));
    for hosted in ["wait", "run", "stop", "done"] {
        world.done(world::workflow(hosted));
    }
    world.done(world::outside("work"));
    let wait = world.acquire("wait", 1);
    world.done(world::suspend(wait, &["open"]));
    let run = world.acquire("run", 2);
    let child = world::new("run/0", &[(tags::TARGET, "ship")], Timestamp::NEVER);
    let create = FenceOperation::Create { new: child, request: None };
    world.done(world::fence(run.clone(), vec![world::started(), world::asked(1, 0)], vec![create]));
    let made = |id: &str, pairs: &[(&str, &str)]| FenceOperation::Create {
        new: world::new(id, pairs, Timestamp::NEVER),
        request: None,
    };
    let resolve = |id: &str| FenceOperation::Settle {
        id: PromiseId::from(id),
        verdict: Verdict::Resolved,
        value: Value::default(),
    };
    let acts = vec![
        made("run/step", &world::step("0")),
        resolve("run/step"),
        made("run/c/trip/0", &[(tags::TARGET, "ship")]),
        resolve("run/c/trip/0"),
    ];
    world.done(world::fence(run, vec![], acts));
    world.done(world::write("stock", "1", 1));
    world.done(world::lease("stock", "ada", 5_000));
    world.done(world::graph_run("graph"));
    let graph = world.acquire("graph", 4);
    let acts = vec![
        world::attempt("graph", "a"),
        world::node("a", NodeState::Running),
        resolve("graph/n/a/0"),
        world::node("a", NodeState::Completed),
        world::awaited_signal("graph"),
        world::node("b", NodeState::Waiting),
    ];
    world.done(world::fence(graph.clone(), vec![], acts));
    world.done(world::suspend(graph, &["graph/sig/go"]));
    world.done(world::keyed("cart", "add"));
    world.done(world::keyed("next", "add"));
    let cart = world.acquire("cart", 5);
    let record = world::wrote(1, 0);
    world.done(world::fence(
        cart,
        vec![world::started(), record],
        vec![world::state("total", "1")],
    ));
    world.done(world::signup("ran", "run"));
    let ran = world.acquire("ran", 7);
    let record = world::wrote(1, 0);
    let acts = vec![world::state("mail", "1"), world::of_object("sure", None)];
    world.done(world::fence(ran.clone(), vec![world::started(), record], acts));
    world.done(world::fulfill(ran));
    for (packer, key) in [("pack1", "a"), ("pack2", "a"), ("pack3", "a"), ("pack4", "b")] {
        world.done(Command::PromiseCreate(world::limited(packer, "pack", key, 0)));
    }
    world.acquire("pack1", 6);
    world.done(world::workflow("roll"));
    let roll = world.acquire("roll", 8);
    world.done(world::fence(roll.clone(), vec![world::started()], vec![]));
    world.done(world::hand_over(roll, vec![world::finished(1)], &[]));
    world.done(world::stream("chat", None));
    world.done(world::stream("branch", Some("chat")));
    world.done(world::stream("run/stream/out", None));
    world.done(world::budgeted("paid", "tokens=10"));
    world.done(Command::TaskHalt { id: id("stop") });
    world.done(world::listener("done"));
    let done = world.acquire("done", 3);
    world.done(world::fulfill(done));
    world.done(Command::PromiseCreate(world::new("late", &[], Timestamp(2_000))));
    world.wait(5_000);
    world.done(Command::PromiseGet { id: id("late") });
    world.done(world::schedule("each", Overlap::Queue));
    world.wait(60_000);
    world.done(Command::ScheduleDue { id: ScheduleId::from("each") });
    world.snapshot
}

type SnapshotMutation = fn(&mut Snapshot);

/// For each predicate, a change that breaks it.
pub(crate) fn violators() -> Vec<(&'static str, SnapshotMutation)> {
    vec![
        ("a_stream_has_its_data", |rows| rows.stream_chunks.clear()),
        ("a_stream_belongs_to_an_execution_that_exists", |rows| {
            let stream = rows.streams[&"run/stream/out".into()].clone();
            let lost = crate::id::StreamId::from("gone/stream/out");
            rows.streams.insert(lost.clone(), DurableStream { id: lost, ..stream });
        }),
        ("a_source_counts_its_forks", |rows| {
            rows.streams.get_mut(&"chat".into()).expect("a stream").forks = 0;
        }),
        ("an_account_is_an_execution", |rows| {
            let budget = rows.budgets[&id("paid")].clone();
            rows.budgets.insert(id("open"), budget);
        }),
        ("an_account_has_a_budget", |rows| rows.budgets.clear()),
        ("orphan_invokes", |rows| drop(rows.tasks.remove(&id("work")))),
        ("born_in_time", |rows| edit_spec(rows, "open", |spec| spec.timeout_at = Timestamp(999))),
        ("timedout_settled_at_mismatch", |rows| {
            settle(rows, "late", Verdict::TimedOut, None, 1_999)
        }),
        ("settled_fields", |rows| {
            settle(rows, "late", Verdict::TimedOut, Some(Value::default()), 2_000)
        }),
        ("deadline_verdict", |rows| settle(rows, "late", Verdict::Resolved, None, 2_000)),
        ("minted_by_owner", |rows| {
            edit_spec(rows, "run/0", |spec| {
                spec.made_by = None;
                spec.created_at = Timestamp(999);
            })
        }),
        ("makers_are_kept", |rows| edit_spec(rows, "late", |spec| spec.made_by = Some(id("gone")))),
        ("orphan_tasks", |rows| drop(rows.promises.remove(&id("stop")))),
        ("settled_task_open", |rows| state(rows, "wait", TaskState::Fulfilled)),
        ("acquired_at_a_version", |rows| task(rows, "run").version = Version(0)),
        ("no_request_outlives_its_task", |rows| {
            task(rows, "done").cancel = CancelState::Requested;
        }),
        ("signals_are_made", |rows| rows.tasks.get_mut(&id("run")).expect("a task").signals = 1),
        ("listener_for_settled_promise", |rows| listen(rows, "late")),
        ("suspended_no_callback", |rows| rows.callbacks.clear()),
        ("suspended_with_consumed_callbacks", |rows| callback(rows, "open", "wait", true)),
        ("callback_awaiter_no_target", |rows| callback(rows, "open", "late", true)),
        ("callback_on_itself", |rows| callback(rows, "wait", "wait", false)),
        ("unconsumed_on_settled", |rows| callback(rows, "late", "run", false)),
        ("fulfilled_has_callbacks", |rows| callback(rows, "open", "done", true)),
        ("outbox_never_ahead", |rows| {
            owe(
                rows,
                OutboxKey::Execute(id("work")),
                OutboxMessage::Execute { version: Version(9) },
            )
        }),
        ("timer_not_dispatched", |rows| {
            owe(rows, OutboxKey::Execute(id("nap")), OutboxMessage::Execute { version: Version(0) })
        }),
        ("hosted_not_dispatched", |rows| {
            owe(
                rows,
                OutboxKey::Execute(id("run/0")),
                OutboxMessage::Execute { version: Version(0) },
            );
        }),
        ("unblock_settled", |rows| {
            owe(
                rows,
                OutboxKey::Unblock(id("open"), Text::from("poll://me")),
                OutboxMessage::Unblock,
            )
        }),
        ("message_of_its_key", |rows| {
            owe(rows, OutboxKey::Event(id("run"), CommandIndex(0)), OutboxMessage::Unblock)
        }),
        ("journal_prefix", |rows| {
            drop(rows.journals.get_mut(&id("run")).expect("a journal").records.pop())
        }),
        ("compensation_facts", |rows| {
            let both = fact(rows, FactKind::Completed);
            rows.facts.insert((id("run"), FactKey { kind: FactKind::Failed, ..trip() }), both);
        }),
        ("facts_follow_settlements", |rows| {
            fact(rows, FactKind::Registered);
            let key = (id("run"), FactKey { kind: FactKind::Registered, ..trip() });
            rows.facts.get_mut(&key).expect("it is there").promise = id("open");
        }),
        ("graph_domain", |rows| write(rows, "d", NodeState::Skipped)),
        ("graph_causal", |rows| write(rows, "c", NodeState::Skipped)),
        ("graph_facts_follow_settlements", |rows| write(rows, "a", NodeState::Failed)),
        ("graph_history_ends_where_nodes_stand", |rows| rows.graph_nodes.clear()),
        ("graph_settles_with_its_nodes", |rows| {
            let task = task(rows, "graph");
            task.state = TaskState::Fulfilled;
            settle(rows, "graph", Verdict::Resolved, None, 1_500);
            rows.callbacks.remove(&(id("graph/sig/go"), id("graph")));
        }),
        ("one_holder_an_object", |rows| line(rows).holder = Some(id("next"))),
        ("a_line_has_one_start", |rows| {
            let turn = (tags::TURN.to_owned(), world::cart().to_string());
            edit_spec(rows, "done", |spec| spec.tags.extend([turn.clone()]));
            rows.callbacks.remove(&(id("cart"), id("next")));
            callback(rows, "done", "next", true);
        }),
        ("a_line_has_one_end", |rows| line(rows).tail = id("cart")),
        ("a_key_has_one_run", |rows| {
            let tags = [(tags::TURN, world::ada().to_string()), (tags::RUN, "true".to_owned())];
            let tags = tags.map(|(name, value)| (name.to_owned(), value));
            edit_spec(rows, "done", |spec| spec.tags.extend(tags.clone()));
        }),
        ("promises_of_objects_have_their_ids", |rows| {
            let tag = (tags::OBJECT.to_owned(), world::ada().to_string());
            edit_spec(rows, "open", |spec| spec.tags.extend([tag.clone()]));
        }),
        ("a_limit_counts_those_who_are_there", |rows| partition(rows, "a").running = 2),
        ("only_the_admitted_begin", |rows| {
            place(rows, "pack1").state = LimitPositionState::Waiting
        }),
        ("who_settles_leaves_the_limit", |rows| {
            settle(rows, "pack2", Verdict::Resolved, None, 1_500)
        }),
        ("nobody_waits_while_there_is_room", |rows| {
            rows.limits.values_mut().for_each(|limit| limit.running = 0);
            partition(rows, "a").running = 0;
        }),
        ("schedule_last_before_next", |rows| each(rows).last_at = Some(Timestamp::NEVER)),
        ("schedule_skips_are_counted", |rows| {
            each(rows).skips.add(SkipReason::Missed, 9, Timestamp(60_000), "nobody was there");
        }),
        ("heard_signals_are_recorded", |rows| task(rows, "run").inbox.heard = Some(1)),
        ("invocation_ends_with_its_newest_generation", |rows| {
            settle(rows, "roll/g/2", Verdict::Resolved, None, 9_000)
        }),
        ("journal_has_a_task", |rows| drop(rows.tasks.remove(&id("run")))),
    ]
}

/// For each step predicate, a command and a change that the command cannot have made.
pub(crate) fn step_violators() -> Vec<(&'static str, Command, SnapshotMutation)> {
    let elsewhere = || Command::PromiseGet { id: id("elsewhere") };
    vec![
        ("rows_are_not_lost", elsewhere(), |rows| drop(rows.promises.remove(&id("late")))),
        ("nothing_is_born_in_a_killed_tree", elsewhere(), |rows| {
            let killed = TreeCount { killed: true, ..TreeCount::default() };
            rows.tree_counts.insert(id("run"), killed);
            let mut born = rows.promises.get(&id("run/0")).expect("a child").clone();
            Arc::make_mut(&mut born.spec).id = id("run/9");
            rows.promises.insert(id("run/9"), born);
        }),
        ("settled_record_never_changes", elsewhere(), |rows| {
            settle(rows, "late", Verdict::Resolved, None, 1_500)
        }),
        ("birth_never_changes", elsewhere(), |rows| {
            edit_spec(rows, "open", |spec| spec.timeout_at = Timestamp(1))
        }),
        ("version_rises_only_when_a_claim_changes_hands", elsewhere(), |rows| {
            task(rows, "wait").version = Version(7)
        }),
        ("first_version_is_above_what_is_gone", elsewhere(), |rows| {
            drop(rows.tasks.remove(&id("done")));
        }),
        ("lease_changes_only_with_its_claim", elsewhere(), |rows| {
            if let TaskState::Acquired { lease } = &mut task(rows, "run").state {
                lease.nonce += 1;
            }
        }),
        ("only_admitted_edges", elsewhere(), |rows| state(rows, "work", TaskState::Suspended)),
        ("linear_chain", elsewhere(), |rows| settle(rows, "open", Verdict::Resolved, None, 1_500)),
        ("wake_has_a_cause", elsewhere(), |rows| {
            let (since, retry_at) = (Timestamp(6_000), Timestamp(11_000));
            state(rows, "wait", TaskState::Pending { since, retry_at, offered: true });
        }),
        ("fulfilled_task_never_changes", elsewhere(), |rows| task(rows, "done").attempt += 1),
        ("module_is_pinned", elsewhere(), |rows| task(rows, "work").module = Some(Digest([9; 32]))),
        ("overdue_only_settles", elsewhere(), |rows| task(rows, "wait").attempt += 1),
        ("unblock_discharges_a_listener", elsewhere(), |rows| rows.listeners.clear()),
        ("event_is_owed_with_its_record", elsewhere(), |rows| {
            let (topic, payload) = (Text::from("t"), Value::default());
            let key = OutboxKey::Event(id("run"), CommandIndex(0));
            owe(rows, key, OutboxMessage::Event { topic, payload });
        }),
        ("retry_moves_forward", Command::RetryDue { id: id("work") }, |rows| {
            let (since, retry_at) = (Timestamp(1_000), Timestamp(2_000));
            state(rows, "work", TaskState::Pending { since, retry_at, offered: true });
        }),
        ("facts_are_never_rewritten", elsewhere(), |rows| rows.facts.clear()),
        ("graph_nodes_move_forward", elsewhere(), |rows| write(rows, "a", NodeState::Running)),
        ("graph_history_is_never_rewritten", elsewhere(), |rows| rows.graph_facts.clear()),
        ("turns_go_in_order", elsewhere(), |rows| line(rows).holder = Some(id("next"))),
        ("state_is_written_by_its_holder", elsewhere(), |rows| rows.state.clear()),
        ("a_run_leaves_nothing", elsewhere(), |rows| drop(rows.lines.remove(&world::ada()))),
        ("admissions_are_within_bounds", elsewhere(), |rows| {
            place(rows, "pack2").state = LimitPositionState::Admitted;
            partition(rows, "a").running = 2;
        }),
        ("admissions_go_in_order", elsewhere(), |rows| {
            place(rows, "pack3").state = LimitPositionState::Admitted
        }),
        ("tokens_strictly_rise", elsewhere(), |rows| {
            rows.resource_leases.values_mut().for_each(|lease| lease.holder = Text::from("bob"));
        }),
        ("schedules_go_only_when_deleted", elsewhere(), |rows| rows.schedules.clear()),
        ("schedules_move_forward", elsewhere(), |rows| each(rows).next_at = Timestamp(60_000)),
        ("records_are_never_rewritten", elsewhere(), |rows| {
            rows.journals.get_mut(&id("run")).expect("a journal").records[1].at = Timestamp(9_000);
        }),
    ]
}

fn trip() -> FactKey {
    FactKey { saga: Text::from("trip"), seq: 0, kind: FactKind::Registered }
}

fn fact(rows: &Snapshot, kind: FactKind) -> Fact {
    rows.facts.get(&(id("run"), FactKey { kind, ..trip() })).expect("the fixture has it").clone()
}

fn write(rows: &mut Snapshot, node: &str, state: NodeState) {
    let row = NodeRow { state, attempt: 0 };
    rows.graph_nodes.insert((id("graph"), Text::from(node)), row);
}

fn line(rows: &mut Snapshot) -> &mut ObjectQueue {
    rows.lines.get_mut(&world::cart()).expect("the fixture has this object")
}

fn partition<'a>(rows: &'a mut Snapshot, key: &str) -> &'a mut Partition {
    let id = LimitName::of("shop", "pack").partition(key);
    rows.partitions.get_mut(&id).expect("the fixture has this key")
}

fn place<'a>(rows: &'a mut Snapshot, of: &str) -> &'a mut LimitPosition {
    rows.places.get_mut(&id(of)).expect("the fixture has this place")
}

fn each(rows: &mut Snapshot) -> &mut Schedule {
    rows.schedules.get_mut(&ScheduleId::from("each")).expect("the fixture has this schedule")
}

fn id(id: &str) -> PromiseId {
    PromiseId::from(id)
}

fn callback(rows: &mut Snapshot, awaited: &str, awaiter: &str, consumed: bool) {
    rows.callbacks.insert((id(awaited), id(awaiter)), consumed);
}

fn listen(rows: &mut Snapshot, awaited: &str) {
    rows.listeners.insert((id(awaited), Text::from("poll://me")));
}

fn state(rows: &mut Snapshot, of: &str, state: TaskState) {
    task(rows, of).state = state;
}

fn task<'a>(rows: &'a mut Snapshot, of: &str) -> &'a mut Task {
    rows.tasks.get_mut(&id(of)).expect("the fixture has this task")
}

fn settle(rows: &mut Snapshot, of: &str, verdict: Verdict, value: Option<Value>, settled_at: i64) {
    let settlement = Settlement { verdict, value, settled_at: Timestamp(settled_at) };
    promise(rows, of).state = PromiseState::Settled(Arc::new(settlement));
}

fn edit_spec(rows: &mut Snapshot, of: &str, edit: impl Fn(&mut crate::promise::PromiseSpec)) {
    edit(Arc::make_mut(&mut promise(rows, of).spec));
}

fn promise<'a>(rows: &'a mut Snapshot, of: &str) -> &'a mut Promise {
    rows.promises.get_mut(&id(of)).expect("the fixture has this promise")
}

fn owe(rows: &mut Snapshot, key: OutboxKey, message: OutboxMessage) {
    rows.outbox.insert(key, OutboxRow::new(message, Timestamp(1)));
}
