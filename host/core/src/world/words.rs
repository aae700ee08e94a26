//! Short constructors for commands and records.

use std::collections::BTreeMap;

use super::MODULE;
use crate::{
    address::GRAPH_RUN,
    command::{ClaimRequest, Command, FenceAction, FenceOperation, Fulfillment},
    fork::{Fork, KeptPromise},
    graph::{NodeRow, NodeState},
    id::{Claim, CommandIndex, Holder, HostName, ObjectId, PromiseId, ScheduleId, Version},
    invocation::{
        CommandKind, CommandRequest, EngineFacts, LogLine, Outcome, Record, RecordBody, Seed,
        StepResult,
    },
    limit::{AdmissionBounds, AdmissionRule},
    object::StateWrite,
    promise::{
        FenceToken, NewPromise, NewSchedule, Note, Overlap, PromiseTemplate, ReleaseReason, Verdict,
    },
    stream::{NewStream, StreamForkPoint, StreamItems},
    tags,
    time::{Millis, Timestamp},
    value::{Payload, Tags, Text, Value},
};

pub(crate) fn claim(id: &str, version: u64) -> Claim {
    Claim { id: PromiseId::from(id), version: Version(version) }
}

pub(crate) fn holder(node: &str, incarnation: u64) -> Holder {
    Holder { node: HostName::from(node), incarnation }
}

pub(crate) fn claim_request(nonce: u64) -> ClaimRequest {
    ClaimRequest { holder: holder("n", 1), nonce, ttl: Millis(15_000) }
}

pub(crate) fn tagged(pairs: &[(&str, &str)]) -> Tags {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn new(id: &str, pairs: &[(&str, &str)], timeout_at: Timestamp) -> NewPromise {
    NewPromise {
        id: PromiseId::from(id),
        param: Value::of(&b"{}"[..]),
        tags: tagged(pairs),
        timeout_at,
    }
}

pub(crate) fn create(id: &str, pairs: &[(&str, &str)]) -> Command {
    Command::PromiseCreate(new(id, pairs, Timestamp::NEVER))
}

/// Creates a promise whose task hosts execute.
pub(crate) fn workflow(id: &str) -> Command {
    create(id, &[(tags::TARGET, "wasm://shop/order")])
}

/// Creates a promise whose task an external worker executes.
pub(crate) fn outside(id: &str) -> Command {
    create(id, &[(tags::TARGET, "poll://any@workers")])
}

/// Creates a graph run: `a`, then the signal `go`, then `c`, with functions of the module `shop`.
pub(crate) fn graph_run(id: &str) -> Command {
    let pairs = [(tags::TARGET, GRAPH_RUN), (tags::MODULE, "shop")];
    let plan = r#"{"nodes": {"a": {"call": "ship"}, "b": {"signal": "go", "needs": ["a"]},
        "c": {"call": "ship", "needs": ["b"]}}}"#;
    let param = format!(r#"{{"func": "{GRAPH_RUN}", "args": [{{"plan": {plan}}}]}}"#);
    let new = new(id, &pairs, Timestamp::NEVER);
    Command::PromiseCreate(NewPromise { param: Value::of(param.as_bytes()), ..new })
}

/// Writes the row of a node in its first attempt.
pub(crate) fn node(name: &str, state: NodeState) -> FenceOperation {
    FenceOperation::Node { node: Text::from(name), row: NodeRow { state, attempt: 0 }, reset: None }
}

/// Creates the first attempt of a node of a run.
pub(crate) fn attempt(run: &str, node: &str) -> FenceOperation {
    let id = PromiseId::from(run).attempt(node, 0);
    FenceOperation::Create {
        new: new(id.as_str(), &[(tags::TARGET, "ship")], Timestamp::NEVER),
        request: None,
    }
}

/// Creates the promise of the signal `go` of a run.
pub(crate) fn awaited_signal(run: &str) -> FenceOperation {
    let id = PromiseId::from(run).run_signal("go");
    FenceOperation::Create { new: new(id.as_str(), &[], Timestamp::NEVER), request: None }
}

/// Tags of a step of the saga `trip` that is compensated even if its effect is unknown.
pub(crate) fn step(seq: &str) -> [(&str, &str); 4] {
    [
        (tags::SAGA, "trip"),
        (tags::SEQ, seq),
        (tags::COMPENSATE, "ship"),
        (tags::UNKNOWN, "compensate"),
    ]
}

/// Creates an invocation with a budget.
pub(crate) fn budgeted(id: &str, budget: &str) -> Command {
    create(id, &[(tags::TARGET, "wasm://shop/order"), (tags::BUDGET, budget)])
}

/// Counts the beginning of an attempt, or charges costs.
pub(crate) fn charge(claim: Claim, begins: bool, costs: &str) -> Command {
    Command::BudgetCharge { claim, begins, costs: costs.parse().unwrap_or_default() }
}

pub(crate) fn lease(name: &str, holder: &str, ttl: i64) -> Command {
    Command::ResourceLease { name: name.into(), holder: Text::from(holder), ttl: Millis(ttl) }
}

pub(crate) fn write(name: &str, value: &str, token: u64) -> Command {
    let value = Value::of(value.as_bytes());
    Command::FencedPut { name: name.into(), value, token: FenceToken(token) }
}

/// Creates a schedule with a task for external workers every minute.
pub(crate) fn stream(id: &str, source: Option<&str>) -> Command {
    let fork =
        source.map(|source| StreamForkPoint { source: source.into(), offset: None, sub_offset: 0 });
    Command::StreamCreate(Box::new(NewStream {
        id: id.into(),
        content_type: None,
        lifetime: None,
        closed: false,
        items: StreamItems::bytes(&b"data"[..]),
        fork,
    }))
}

pub(crate) fn schedule(id: &str, overlap: Overlap) -> Command {
    let template = PromiseTemplate {
        id: Text::from("{{.id}}@{{.timestamp}}"),
        param: Value::default(),
        tags: tagged(&[(tags::TARGET, "poll://any@workers")]),
        timeout: Millis(100_000),
    };
    let cron = Text::from("* * * * *");
    Command::ScheduleCreate(NewSchedule::plain(ScheduleId::from(id), cron, template, overlap))
}

/// Creates an invocation that has already run, with the results of the run.
pub(crate) fn begin(id: &str, first: &[Command]) -> Command {
    Command::TaskBegin {
        new: new(id, &[(tags::TARGET, "wasm://shop/order")], Timestamp::NEVER),
        request: claim_request(3),
        module: MODULE,
        at: Timestamp(1_000),
        born: Version(0),
        first: first.to_vec(),
    }
}

/// Creates a fork with these records of another invocation, and with a kept step of its saga.
pub(crate) fn fork(new: NewPromise, of: &str, records: &[Record]) -> Command {
    let id = new.id.named("step");
    let (verdict, value) = (Verdict::Resolved, Some(Value::of(&b"1"[..])));
    let kept = vec![KeptPromise { id, tags: tagged(&step("0")), verdict, value }];
    let (of, copied, records) = (PromiseId::from(of), records.len() as u32, records.to_vec());
    let set = Vec::new();
    Command::InvocationFork(Box::new(Fork {
        new,
        module: None,
        of,
        set,
        records,
        copied,
        kept,
        streams: Vec::new(),
    }))
}

/// Creates an execution of an object's function.
pub(crate) fn keyed(id: &str, function: &str) -> Command {
    Command::PromiseCreate(keyed_new(id, function))
}

/// The promise of [`keyed`].
pub(crate) fn keyed_new(id: &str, function: &str) -> NewPromise {
    let target = format!("wasm://shop/Cart@ada/{function}");
    new(id, &[(tags::TARGET, &target)], Timestamp::NEVER)
}

/// Creates the run of a key, or an execution of another function of that object.
pub(crate) fn signup(id: &str, function: &str) -> Command {
    let target = format!("wasm://shop/Signup@ada/{function}");
    Command::PromiseCreate(new(id, &[(tags::TARGET, &target)], Timestamp::NEVER))
}

/// The object of [`signup`].
pub(crate) fn ada() -> ObjectId {
    ObjectId::from("shop/Signup@ada")
}

/// Creates a promise of [`ada`], as a client does.
pub(crate) fn known(name: &str) -> Command {
    let id = ada().promise(name);
    Command::PromiseCreate(new(id.as_str(), &[(tags::OBJECT, ada().as_str())], Timestamp::NEVER))
}

/// Creates a promise of [`ada`] as one of its functions does, and settles it if there is a verdict.
pub(crate) fn of_object(name: &str, verdict: Option<Verdict>) -> FenceOperation {
    let settles = verdict.map(|verdict| (verdict, Value::default()));
    FenceOperation::ObjectPromise { id: ada().promise(name), settles }
}

/// An execution of a limited function ([`limits`]), with a key and a priority.
pub(crate) fn limited(id: &str, function: &str, key: &str, priority: u8) -> NewPromise {
    let target = format!("wasm://shop/{function}");
    let param = format!(r#"{{"func":"{function}","args":[{{"k":"{key}","p":{priority}}}]}}"#);
    let param = Value::of(param.into_bytes());
    NewPromise { param, ..new(id, &[(tags::TARGET, &target)], Timestamp::NEVER) }
}

/// Limits declared by the module of the tests.
pub(crate) fn limits() -> BTreeMap<Text, AdmissionRule> {
    let limits = [
        (
            "pack",
            r#"{"key":"k","per_key":{"concurrency":1},"total":{"concurrency":2},"priority":{"path":"p"}}"#,
        ),
        ("mail", r#"{"per_key":{"rate":{"count":1,"period_ms":50,"burst":2}}}"#),
        (
            "both",
            r#"{"key":"k","per_key":{"concurrency":2,"rate":{"count":1,"period_ms":30,"burst":2}},"total":{"rate":{"count":1,"period_ms":30,"burst":2}},"priority":{"path":"p","order":"weighted"},"weights":{"a":3}}"#,
        ),
        ("only", r#"{"key":"k","singleton":"skip"}"#),
        ("last", r#"{"key":"k","singleton":"replace"}"#),
        ("calm", r#"{"key":"k","debounce":{"period_ms":30,"longest_ms":50}}"#),
        ("Cart/pay", r#"{"per_key":{"concurrency":1}}"#),
    ];
    let rule = |json| serde_json::from_str(json).expect("a rule");
    limits.into_iter().map(|(function, json)| (Text::from(function), rule(json))).collect()
}

/// A rule with this concurrency per key.
pub(crate) fn at_most(concurrency: u32) -> AdmissionRule {
    let per_key = AdmissionBounds { concurrency: Some(concurrency), rate: None };
    AdmissionRule { per_key, ..AdmissionRule::default() }
}

/// The object of [`keyed`].
pub(crate) fn cart() -> ObjectId {
    ObjectId::from("shop/Cart@ada")
}

pub(crate) fn entry(name: &str, value: &str) -> StateWrite {
    let value = Some(Payload::Json(Text::from(value)));
    StateWrite { clears: false, entries: vec![(Text::from(name), value)] }
}

pub(crate) fn state(name: &str, value: &str) -> FenceOperation {
    FenceOperation::State(entry(name, value))
}

/// Record of a command that writes state.
pub(crate) fn wrote(seq: u32, index: u32) -> Record {
    let mut record = asked(seq, index);
    if let RecordBody::Command { kind, .. } = &mut record.body {
        *kind = CommandKind::SetState;
    }
    record
}

pub(crate) fn acquire(id: &str, version: u64, nonce: u64) -> Command {
    Command::TaskAcquire {
        claim: claim(id, version),
        request: claim_request(nonce),
        stall_limit: None,
    }
}

pub(crate) fn settle(id: &str, verdict: Verdict) -> Command {
    Command::PromiseSettle { id: PromiseId::from(id), verdict, value: Value::of(&b"1"[..]) }
}

pub(crate) fn callback(awaited: &str, awaiter: &str) -> Command {
    Command::RegisterCallback {
        awaited: PromiseId::from(awaited),
        awaiter: PromiseId::from(awaiter),
    }
}

pub(crate) fn listener(awaited: &str) -> Command {
    Command::RegisterListener {
        awaited: PromiseId::from(awaited),
        address: Text::from("poll://any@me"),
    }
}

pub(crate) fn suspend(claim: Claim, awaits: &[&str]) -> Command {
    let awaits = awaits.iter().map(|id| PromiseId::from(*id)).collect();
    Command::TaskSuspend { claim, records: Vec::new(), logs: Vec::new(), awaits }
}

pub(crate) fn fulfill(claim: Claim) -> Command {
    let value = Value::of(&b"1"[..]);
    Command::TaskFulfill {
        claim,
        records: Vec::new(),
        logs: Vec::new(),
        verdict: Verdict::Resolved,
        value,
    }
}

/// Settles another task under its claim, as a part of a fence.
pub(crate) fn end(claim: Claim) -> FenceOperation {
    FenceOperation::Fulfill(Box::new(Fulfillment {
        claim,
        records: Vec::new(),
        logs: Vec::new(),
        verdict: Verdict::Resolved,
        value: Value::of(&b"1"[..]),
    }))
}

/// Ends a generation. `unread` are the numbers of the delivered signals that it did not read.
pub(crate) fn hand_over(claim: Claim, records: Vec<Record>, unread: &[u32]) -> Command {
    Command::TaskHandOver {
        claim,
        records,
        logs: Vec::new(),
        param: Value::of(&b"2"[..]),
        same_module: false,
        unread: unread.to_vec(),
    }
}

pub(crate) fn release(claim: Claim, reason: ReleaseReason) -> Command {
    Command::TaskRelease { claim, reason }
}

pub(crate) fn failed() -> ReleaseReason {
    ReleaseReason::Failed { retry_after: None, error: note("failure"), trap: None }
}

pub(crate) fn note(kind: &str) -> Note {
    Note {
        kind: Text::from(kind),
        message: Text::from("it went wrong"),
        details: b"{}".to_vec().into(),
    }
}

pub(crate) fn fence(claim: Claim, records: Vec<Record>, acts: Vec<FenceOperation>) -> Command {
    let number = |(index, act)| FenceAction { index: CommandIndex(index as u32), act };
    let actions = acts.into_iter().enumerate().map(number).collect();
    Command::TaskFence { claim, records, logs: Vec::<LogLine>::new(), actions }
}

pub(crate) fn started() -> Record {
    let body = RecordBody::Started {
        function: Text::from("order"),
        input: Payload::Json(Text::from("{}")),
        module: MODULE,
        seed: Seed([3; 32]),
        engine: EngineFacts::default(),
    };
    Record { seq: 0, at: Timestamp(1_000), body }
}

pub(crate) fn asked(seq: u32, index: u32) -> Record {
    let body = RecordBody::Command {
        index: CommandIndex(index),
        kind: CommandKind::Call,
        name: Text::from("ship"),
        request: CommandRequest::of(&[("input", b"{}")]),
    };
    Record { seq, at: Timestamp(1_000), body }
}

pub(crate) fn notified(seq: u32, index: u32) -> Record {
    let outcome = Outcome::Inline(StepResult::Empty);
    Record {
        seq,
        at: Timestamp(1_000),
        body: RecordBody::Notified { index: CommandIndex(index), outcome },
    }
}

pub(crate) fn finished(seq: u32) -> Record {
    Record { seq, at: Timestamp(1_000), body: RecordBody::Finished { outcome: Outcome::Own } }
}
