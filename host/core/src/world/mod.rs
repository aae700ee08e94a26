//! An in-memory store for tests that checks every command: the decision over the rows of the
//! footprint must equal the decision over all rows, every invariant must hold afterwards, and every
//! write under a claim must have been made by the live claim.

mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    command::Command,
    config::Config,
    footprint::rests_on,
    id::{Claim, Digest, ObjectId, PromiseId, Version},
    invariants::{check, check_step},
    model::Model,
    object::ModuleFacts,
    promise::{TaskStatus, Verdict},
    reply::{DamageKind, Refusal, Reply},
    snapshot::Snapshot,
    time::{Millis, Timestamp},
    transition::{Decision, transition, turn_in},
    value::Text,
    view::View,
};

pub(crate) use words::*;

/// The module that contains the tests' functions.
pub(crate) const MODULE: Digest = Digest([7; 32]);
/// Another uploaded module.
pub(crate) const OTHER_MODULE: Digest = Digest([8; 32]);

/// A checked store.
#[derive(Clone)]
pub(crate) struct CheckedStore {
    pub(crate) model: Model,
    pub(crate) snapshot: Snapshot,
    pub(crate) now: Timestamp,
    pub(crate) config: Config,
    /// The live claim of each task, tracked independently of the engine.
    claims: BTreeMap<PromiseId, Version>,
    /// Every claim ever granted.
    granted: BTreeSet<Claim>,
    /// The executions that joined each object's queue, in order.
    joined: BTreeMap<ObjectId, Vec<PromiseId>>,
}

impl CheckedStore {
    pub(crate) fn new() -> Self {
        let mut rows = View::new();
        let shared = [Text::from("Cart/total"), Text::from("Signup/confirm")].into();
        let runs = [Text::from("Signup/run")].into();
        rows.put_module_facts(MODULE, ModuleFacts { shared, limits: words::limits(), runs });
        rows.put_module(OTHER_MODULE);
        rows.put_alias(Text::from("shop"), MODULE);
        let model = Model::from(rows);
        Self {
            snapshot: Snapshot::of(&model),
            model,
            now: Timestamp(1_000),
            config: Config::default(),
            claims: BTreeMap::new(),
            granted: BTreeSet::new(),
            joined: BTreeMap::new(),
        }
    }

    /// Executes a command, with all checks.
    pub(crate) fn decide(&mut self, command: &Command) -> Decision {
        let decision = self.consider(command);
        if !decision.delta.is_empty() {
            self.accept(command, &decision);
        }
        decision
    }

    /// Decides a command, with the checks that are possible before it is applied.
    pub(crate) fn consider(&self, command: &Command) -> Decision {
        let decision = self.model.decide(command, self.now, &self.config);
        let loaded = self.model.view(command, &self.config);
        assert_eq!(
            transition(&loaded, command, self.now, &self.config),
            decision,
            "over the footprint of {command:?}"
        );
        if let Some(bare) = rests_on(command).and_then(|claim| bare(&self.model, &claim.id)) {
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

    /// Applies a decision, with the remaining checks.
    pub(crate) fn accept(&mut self, command: &Command, decision: &Decision) {
        self.model.apply(&decision.delta);
        let after = Snapshot::of(&self.model);
        let mut violations = check(&after);
        violations.extend(check_step(&self.snapshot, command, &after, self.now, &self.config));
        assert!(violations.is_empty(), "{command:?} at {} broke {violations:#?}", self.now);
        self.check_claims(command, decision, &after);
        self.check_nothing_looks_damaged(command);
        self.check_order(command, &after);
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
        self.model.task(&PromiseId::from(id)).map(crate::promise::Task::status)
    }

    pub(crate) fn verdict(&self, id: &str) -> Option<Verdict> {
        self.model.promise(&PromiseId::from(id))?.settlement().map(|settlement| settlement.verdict)
    }

    pub(crate) fn wait(&mut self, length: i64) {
        self.now = self.now + Millis(length);
    }

    /// Acquires the task at its current version.
    pub(crate) fn acquire(&mut self, id: &str, nonce: u64) -> Claim {
        let version = self.model.task(&PromiseId::from(id)).expect("a task to acquire").version;
        self.done(acquire(id, version.0, nonce));
        claim(id, version.0 + 1)
    }

    /// Checks that a refusal changes nothing, except that overdue promises are settled.
    fn check_refused(&self, command: &Command, decision: &Decision) {
        for promise in decision.delta.promises.values() {
            let before = self
                .model
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

    /// Checks that the rows that commands leave behind never look damaged. Exception: a child that
    /// is not in a journal, which scripts create but hosts do not. A check of an overdue promise
    /// would settle it first, so these are left out.
    fn check_nothing_looks_damaged(&self, command: &Command) {
        for promise in self.model.promises().filter(|promise| !promise.is_overdue(self.now)) {
            let look = Command::Reconcile { id: promise.id().clone() };
            let reply = self.model.decide(&look, self.now, &self.config).reply;
            let Reply::Reconciled { mut orphans } = reply else { panic!("{reply:?}") };
            orphans.retain(|orphan| *orphan != DamageKind::ChildRuns);
            assert_eq!(orphans, [], "{command:?} left `{}` like this", promise.id());
        }
    }

    /// Checks that the turns of an object follow the order of joining its queue: the holder is the
    /// first pending member, or the last holder if all have settled.
    fn check_order(&mut self, command: &Command, after: &Snapshot) {
        for (object, line) in &after.lines {
            let in_line = |id: &PromiseId| {
                let promise = after.promises.get(id).filter(|promise| promise.is_pending());
                promise.and_then(turn_in).as_ref() == Some(object)
            };
            let joined = self.joined.entry(object.clone()).or_default();
            joined.retain(&in_line);
            if in_line(&line.tail) && joined.last() != Some(&line.tail) {
                assert!(!joined.contains(&line.tail), "{command:?} moved {} back", line.tail);
                joined.push(line.tail.clone());
            }
            let holder = line.holder.as_ref().filter(|holder| in_line(holder));
            assert!(
                holder.is_none_or(|holder| joined.first() == Some(holder)),
                "{command:?} gave {object} to {holder:?}, and the line is {joined:?}"
            );
        }
    }

    /// Checks that only the live claim writes, and that no claim is granted twice.
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

/// The rows that a host caches for a claim.
fn bare(model: &Model, id: &PromiseId) -> Option<View> {
    let mut view = View::new();
    view.put_promise(model.promise(id)?.bare());
    view.put_task(model.task(id)?.clone());
    view.put_head(id.clone(), model.head(id));
    Some(view)
}

/// The claim that a command writes under. `None` if it needs no claim.
fn guard(command: &Command) -> Option<&Claim> {
    match command {
        Command::TaskFence { claim, .. }
        | Command::TaskSuspend { claim, .. }
        | Command::TaskFulfill { claim, .. }
        | Command::TaskHandOver { claim, .. }
        | Command::TaskRelease { claim, .. } => Some(claim),
        _ => None,
    }
}
