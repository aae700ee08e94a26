//! A store of maps for the tests, in which every command is checked: the decision over the rows its footprint names
//! must be that over all rows, every invariant must hold after it, and what was written under a claim must have been
//! written by the live claim.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{Command, FenceAct, FenceAction, Hold};
use crate::config::Config;
use crate::footprint::{Footprint, footprint, rests_on, widen};
use crate::id::{Claim, CommandIndex, Digest, Holder, NodeName, PromiseId, ScheduleId, Version};
use crate::invariants::{check, check_step};
use crate::invocation::{
    CommandKind, EngineFacts, LogLine, Outcome, Record, RecordBody, Request, Seed, StepResult,
};
use crate::promise::{
    FenceToken, NewPromise, NewSchedule, Note, OutboxKey, Overlap, ReleaseReason, TaskStatus,
    Template, Verdict,
};
use crate::reply::{Refusal, Reply};
use crate::snapshot::Snapshot;
use crate::state::State;
use crate::tags;
use crate::time::{Millis, Timestamp};
use crate::transition::{Decision, transition};
use crate::value::{Payload, Tags, Text, Value};

/// The module that the tests' functions are in.
pub(crate) const MODULE: Digest = Digest([7; 32]);

/// A checked store.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) snapshot: Snapshot,
    pub(crate) now: Timestamp,
    pub(crate) config: Config,
    /// The live claim of each task, kept outside the engine.
    claims: BTreeMap<PromiseId, Version>,
    /// Every claim ever granted.
    granted: BTreeSet<Claim>,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut state = State::whole();
        state.put_module(MODULE);
        state.put_alias(Text::from("shop"), MODULE);
        Self {
            snapshot: Snapshot::of(&state),
            state,
            now: Timestamp(1_000),
            config: Config::default(),
            claims: BTreeMap::new(),
            granted: BTreeSet::new(),
        }
    }

    /// Carries a command out and checks everything.
    pub(crate) fn decide(&mut self, command: &Command) -> Decision {
        let decision = self.consider(command);
        if !decision.delta.is_empty() {
            self.accept(command, &decision);
        }
        decision
    }

    /// What a command would do, checked as far as that can be before it is done.
    pub(crate) fn consider(&self, command: &Command) -> Decision {
        let decision = transition(&self.state, command, self.now, &self.config);
        let loaded = load(&self.state, command);
        assert_eq!(
            transition(&loaded, command, self.now, &self.config),
            decision,
            "over the footprint of {command:?}"
        );
        if let Some(bare) = rests_on(command).and_then(|claim| bare(&self.state, &claim.id)) {
            let over_claim = transition(&bare, command, self.now, &self.config);
            if over_claim.delta.only_appends() {
                assert_eq!(over_claim, decision, "over the claim alone of {command:?}");
            }
        }
        if let Reply::Refused(_) = decision.reply {
            self.check_refused(command, &decision);
        }
        decision
    }

    /// Does what was decided, and checks the rest.
    pub(crate) fn accept(&mut self, command: &Command, decision: &Decision) {
        self.state.apply(&decision.delta);
        let after = Snapshot::of(&self.state);
        let mut violations = check(&after);
        violations.extend(check_step(&self.snapshot, command, &after, self.now, &self.config));
        assert!(violations.is_empty(), "{command:?} at {} broke {violations:#?}", self.now);
        // A pruned id begins anew, with its first version.
        self.granted.retain(|claim| !decision.delta.removed.contains(&claim.id));
        self.check_claims(command, decision, &after);
        self.snapshot = after;
    }

    pub(crate) fn run(&mut self, command: Command) -> Reply {
        self.decide(&command).reply
    }

    /// Like [`World::run`], for commands that must not be refused.
    pub(crate) fn done(&mut self, command: Command) -> Reply {
        let reply = self.run(command.clone());
        assert!(!matches!(reply, Reply::Refused(_)), "{command:?} was answered {reply:?}");
        reply
    }

    pub(crate) fn refused(&mut self, command: Command) -> Refusal {
        match self.run(command.clone()) {
            Reply::Refused(refusal) => refusal,
            reply => panic!("{command:?} was answered {reply:?}"),
        }
    }

    pub(crate) fn status(&self, id: &str) -> Option<TaskStatus> {
        self.state.task(&PromiseId::from(id)).map(crate::promise::Task::status)
    }

    pub(crate) fn verdict(&self, id: &str) -> Option<Verdict> {
        self.state.promise(&PromiseId::from(id))?.settlement().map(|settlement| settlement.verdict)
    }

    pub(crate) fn wait(&mut self, length: i64) {
        self.now = self.now + Millis(length);
    }

    /// Claims the task at its present version.
    pub(crate) fn acquire(&mut self, id: &str, nonce: u64) -> Claim {
        let version = self.state.task(&PromiseId::from(id)).expect("a task to acquire").version;
        self.done(acquire(id, version.0, nonce));
        claim(id, version.0 + 1)
    }

    /// A refusal changes nothing but that overdue promises are settled.
    fn check_refused(&self, command: &Command, decision: &Decision) {
        for promise in decision.delta.promises.values() {
            let before = self
                .state
                .promise(promise.id())
                .unwrap_or_else(|| panic!("{command:?} made {promise:?}"));
            assert!(before.is_overdue(self.now), "{command:?} was refused and settled {promise:?}");
        }
        assert!(
            decision.delta.appends.is_empty() && decision.delta.logs.is_empty(),
            "{command:?} appended"
        );
        assert!(
            !decision.delta.promises.is_empty() || decision.delta.is_empty(),
            "{command:?} wrote {decision:?}"
        );
    }

    /// Only the live claim writes, and no claim is granted twice.
    fn check_claims(&mut self, command: &Command, decision: &Decision, after: &Snapshot) {
        let refused = matches!(decision.reply, Reply::Refused(_));
        if let Some(claim) = guard(command).filter(|_| !refused) {
            assert_eq!(
                self.claims.get(&claim.id),
                Some(&claim.version),
                "{command:?} wrote under a claim that is not live"
            );
        }
        for (id, task) in &after.tasks {
            let live = self.claims.get(id).copied();
            match task.status() {
                TaskStatus::Acquired if live != Some(task.version) => {
                    let claim = Claim { id: id.clone(), version: task.version };
                    assert_eq!(live, None, "{command:?} took {id} from its live holder");
                    assert!(
                        self.granted.insert(claim.clone()),
                        "{command:?} granted {claim:?} again"
                    );
                    self.claims.insert(id.clone(), task.version);
                }
                TaskStatus::Acquired => {}
                TaskStatus::Pending
                | TaskStatus::Suspended
                | TaskStatus::Halted
                | TaskStatus::Fulfilled => {
                    self.claims.remove(id);
                }
            }
        }
    }
}

/// What a host remembers of a claim.
fn bare(whole: &State, id: &PromiseId) -> Option<State> {
    let mut view = State::new();
    view.put_promise(whole.promise(id)?.bare());
    view.put_task(whole.task(id)?.clone());
    view.put_head(id.clone(), whole.head(id));
    Some(view)
}

/// The rows a store would load for a command, in rounds until nothing new is named.
fn load(whole: &State, command: &Command) -> State {
    let mut view = State::new();
    let named = footprint(command);
    let mut loaded = named.clone();
    put(whole, &mut view, &loaded);
    for round in 0.. {
        let mut wider = loaded.clone();
        wider.merge(widen(&view, command, &named));
        if wider == loaded {
            break;
        }
        assert!(round < 4, "widening {command:?} does not end");
        put(whole, &mut view, &wider);
        loaded = wider;
    }
    view
}

fn put(whole: &State, view: &mut State, rows: &Footprint) {
    let mut composites = rows.composites.clone();
    for (parent, page) in &rows.children {
        composites
            .extend(whole.children(parent, page.after.as_ref()).take(page.limit as usize).cloned());
    }
    for (top, limit) in &rows.trees {
        let tree = whole.tree(top, *limit);
        composites.extend(tree.members.iter().cloned());
        for (key, row) in whole.outbox().filter(|(key, _)| tree.members.contains(key.promise())) {
            view.put_outbox(key.clone(), row.clone());
        }
        view.put_tree(top.clone(), tree);
    }
    for id in composites.iter().chain(&rows.rows) {
        whole.promise(id).into_iter().for_each(|promise| view.put_promise(promise.clone()));
        whole.task(id).into_iter().for_each(|task| view.put_task(task.clone()));
    }
    for id in &composites {
        whole
            .callbacks_on(id)
            .for_each(|(by, consumed)| view.put_callback(id.clone(), by.clone(), consumed));
        for on in whole.awaited_by(id) {
            let consumed = whole.callback(on, id).expect("both indexes agree");
            view.put_callback(on.clone(), id.clone(), consumed);
        }
        whole.listeners_on(id).for_each(|address| view.put_listener(id.clone(), address.clone()));
        view.put_head(id.clone(), whole.head(id));
        let key = OutboxKey::Execute(id.clone());
        whole
            .outbox_row(&key)
            .into_iter()
            .for_each(|row| view.put_outbox(key.clone(), row.clone()));
    }
    for (id, from) in &rows.tails {
        view.put_tail(id.clone(), whole.tail(id)[*from as usize..].to_vec());
    }
    for key in &rows.outbox {
        whole.outbox_row(key).into_iter().for_each(|row| view.put_outbox(key.clone(), row.clone()));
    }
    for alias in &rows.aliases {
        whole.alias(alias).into_iter().for_each(|module| view.put_alias(alias.clone(), module));
    }
    rows.modules
        .iter()
        .filter(|module| whole.has_module(module))
        .for_each(|module| view.put_module(*module));
    rows.hosts.iter().for_each(|node| view.put_host(node.clone(), whole.incarnation(node)));
    for task in whole.tasks() {
        if task.lease().is_some_and(|lease| rows.held_by.contains(&lease.holder.node)) {
            view.put_task(task.clone());
            whole
                .promise(&task.id)
                .into_iter()
                .for_each(|promise| view.put_promise(promise.clone()));
        }
    }
    for id in &rows.schedules {
        whole.schedule(id).into_iter().for_each(|schedule| view.put_schedule(schedule.clone()));
    }
    for name in &rows.resources {
        whole.resource(name).into_iter().for_each(|row| view.put_resource(row.clone()));
        let lease = whole.resource_lease(name);
        lease.into_iter().for_each(|lease| view.put_resource_lease(lease.clone()));
    }
    for id in &rows.facts {
        for (key, fact) in whole.facts_of(id) {
            view.put_fact(id.clone(), key.clone(), fact.clone());
        }
    }
    for (id, key) in &rows.signal_keys {
        whole
            .signal_key(id, key)
            .into_iter()
            .for_each(|n| view.put_signal_key(id.clone(), key.clone(), n));
    }
}

fn guard(command: &Command) -> Option<&Claim> {
    match command {
        Command::TaskFence { claim, .. }
        | Command::TaskSuspend { claim, .. }
        | Command::TaskFulfill { claim, .. }
        | Command::TaskRelease { claim, .. } => Some(claim),
        _ => None,
    }
}

// Commands in words.

pub(crate) fn claim(id: &str, version: u64) -> Claim {
    Claim { id: PromiseId::from(id), version: Version(version) }
}

pub(crate) fn holder(node: &str, incarnation: u64) -> Holder {
    Holder { node: NodeName::from(node), incarnation }
}

pub(crate) fn hold(nonce: u64) -> Hold {
    Hold { holder: holder("n", 1), nonce, ttl: Millis(15_000) }
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

/// A promise whose task hosts execute.
pub(crate) fn workflow(id: &str) -> Command {
    create(id, &[(tags::TARGET, "wasm://shop/order")])
}

/// A promise whose task a worker outside executes.
pub(crate) fn outside(id: &str) -> Command {
    create(id, &[(tags::TARGET, "poll://any@workers")])
}

/// The tags of a step of the saga `trip`, which is undone even if nobody knows whether it acted.
pub(crate) fn step(seq: &str) -> [(&str, &str); 4] {
    [
        (tags::SAGA, "trip"),
        (tags::SEQ, seq),
        (tags::COMPENSATE, "ship"),
        (tags::UNKNOWN, "compensate"),
    ]
}

pub(crate) fn lease(name: &str, holder: &str, ttl: i64) -> Command {
    Command::ResourceLease { name: name.into(), holder: Text::from(holder), ttl: Millis(ttl) }
}

pub(crate) fn write(name: &str, value: &str, token: u64) -> Command {
    let value = Value::of(value.as_bytes());
    Command::FencedPut { name: name.into(), value, token: FenceToken(token) }
}

/// Every minute, a task for workers outside.
pub(crate) fn schedule(id: &str, overlap: Overlap) -> Command {
    let template = Template {
        id: Text::from("{{.id}}@{{.timestamp}}"),
        param: Value::default(),
        tags: tagged(&[(tags::TARGET, "poll://any@workers")]),
        timeout: Millis(100_000),
    };
    let cron = Text::from("* * * * *");
    Command::ScheduleCreate(NewSchedule { id: ScheduleId::from(id), cron, template, overlap })
}

/// A function that has run already, and what came of it.
pub(crate) fn begin(id: &str, first: &[Command]) -> Command {
    Command::TaskBegin {
        new: new(id, &[(tags::TARGET, "wasm://shop/order")], Timestamp::NEVER),
        hold: hold(3),
        module: MODULE,
        at: Timestamp(1_000),
        first: first.to_vec(),
    }
}

pub(crate) fn acquire(id: &str, version: u64, nonce: u64) -> Command {
    Command::TaskAcquire { claim: claim(id, version), hold: hold(nonce), stall_limit: None }
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

pub(crate) fn fence(claim: Claim, records: Vec<Record>, acts: Vec<FenceAct>) -> Command {
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
        request: Request::of(&[("input", b"{}")]),
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
