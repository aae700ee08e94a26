//! A second implementation of the protocol: a small mapping of its operations onto the pure core,
//! which shares no code with the front end. The model works on plain JSON and keeps values as they
//! were sent.

mod fields;
mod overview;
mod promises;
mod schedules;
mod tasks;
mod wire;

use segno_core::{
    command::{ClaimRequest, Command},
    config::Config,
    id::{Digest, Holder},
    model::Model as Rows,
    promise::{OutboxMessageKind, Promise, TaskStatus},
    reply::{Refusal, Reply},
    snapshot::Snapshot,
    time::{Millis, Timestamp},
    view::View,
};
use serde_json::Value as Json;

use fields::RequestFields;

/// The only module, under the alias `shop`.
pub(super) const MODULE: Digest = Digest([7; 32]);

/// The model of a host.
pub(super) struct HostModel {
    pub(super) state: Rows,
    config: Config,
    claims: u64,
}

/// An answer.
pub(super) type ModelAnswer = Result<ModelSuccess, ModelRefusal>;

/// A success.
#[derive(Debug)]
pub(super) struct ModelSuccess {
    pub(super) status: u16,
    pub(super) data: Json,
    /// Name of the outcome.
    pub(super) how: &'static str,
}

/// A refusal.
#[derive(Debug)]
pub(super) struct ModelRefusal {
    pub(super) status: u16,
    /// Name of the outcome.
    pub(super) why: &'static str,
    /// A text that the sentence must contain.
    pub(super) says: String,
}

impl HostModel {
    pub(super) fn new(config: Config) -> Self {
        Self { state: empty(), config, claims: 0 }
    }

    /// Returns true if strict Resonate rules apply.
    pub(super) fn is_strict(&self) -> bool {
        self.config.resonate_strict
    }

    /// Answers an operation executed at `now`.
    pub(super) fn answer(&mut self, kind: &str, data: &Json, now: Timestamp) -> ModelAnswer {
        let data = RequestFields::of("data", data)?;
        match kind {
            "promise.get" => promises::get(self, data, now),
            "promise.create" => promises::create(self, data, now),
            "promise.settle" => promises::settle(self, data, now),
            "promise.register_callback" => promises::register_callback(self, data, now),
            "promise.register_listener" => promises::register_listener(self, data, now),
            "promise.search" => overview::promises(self, data, now),
            "task.get" => tasks::get(self, data, now),
            "task.create" => tasks::create(self, data, now),
            "task.acquire" => tasks::acquire(self, data, now),
            "task.release" => tasks::release(self, data, now),
            "task.suspend" => tasks::suspend(self, data, now),
            "task.fulfill" => tasks::fulfill(self, data, now),
            "task.fence" => tasks::fence(self, data, now),
            "task.heartbeat" => tasks::heartbeat(self, data, now),
            "task.halt" => tasks::halt(self, data, now),
            "task.continue" => tasks::proceed(self, data, now),
            "task.search" => overview::tasks(self, data, now),
            "schedule.create" => schedules::create(self, data, now),
            "schedule.get" => schedules::get(self, data),
            "schedule.delete" => schedules::delete(self, data, now),
            "schedule.search" => schedules::search(self, data),
            "debug.start" | "debug.stop" => {
                Ok(ModelSuccess::new("done", Json::Object(Default::default())))
            }
            "debug.reset" => overview::reset(self),
            "debug.snap" => Ok(ModelSuccess::new("done", wire::snapshot(&self.state))),
            "debug.tick" => overview::tick(self, data, now),
            _ => Err(ModelRefusal::bad("unknown", format!("Unknown operation: {kind}"))),
        }
    }

    /// Returns all rows, to check the invariants.
    pub(super) fn rows(&self) -> Snapshot {
        Snapshot::of(&self.state)
    }

    fn ask(&mut self, command: &Command, now: Timestamp) -> Result<Reply, ModelRefusal> {
        let decision = self.state.decide(command, now, &self.config);
        self.state.apply(&decision.delta);
        match decision.reply {
            Reply::Refused(refusal) => Err(refusal.into()),
            reply => Ok(reply),
        }
    }

    /// Builds a claim request with a new nonce for every attempt.
    fn claim_request(&mut self, data: RequestFields<'_>) -> Result<ClaimRequest, ModelRefusal> {
        let (pid, ttl) = (data.text("pid")?, data.number("ttl")?);
        if !(1..=86_400_000).contains(&ttl) {
            return Err(ModelRefusal::bad("ttl", "`ttl` must be from 1 to 86400000 milliseconds"));
        }
        self.claims += 1;
        Ok(ClaimRequest { holder: holder(pid)?, nonce: self.claims, ttl: Millis(ttl) })
    }
}

impl ModelSuccess {
    fn new(how: &'static str, data: Json) -> Self {
        Self { status: 200, data, how }
    }
}

impl ModelRefusal {
    fn bad(why: &'static str, says: impl Into<String>) -> Self {
        Self { status: 400, why, says: says.into() }
    }

    /// Builds the refusal of a missing or mistyped field, which the sentence names.
    fn shape(field: &str) -> Self {
        Self::bad("shape", field)
    }
}

impl From<Refusal> for ModelRefusal {
    fn from(refusal: Refusal) -> Self {
        let says = refusal.to_string();
        let why = match &refusal {
            Refusal::BadRequest(_) | Refusal::Unprocessable(_) => WORDS
                .iter()
                .find(|(words, _)| says.contains(words))
                .map_or_else(|| panic!("no reason is known for `{says}`"), |(_, why)| *why),
            other => other.kind(),
        };
        Self { status: refusal.code(), why, says }
    }
}

/// Texts by which the core's sentences are classified.
const WORDS: [(&str, &str); 19] = [
    ("cannot wait for itself", "itself"),
    ("must not be a timer", "timer"),
    ("is a timer, which cannot have a target", "timer"),
    ("makes timers", "timer"),
    ("belongs to another tree", "tree"),
    ("does not lie under", "lineage"),
    ("cannot be awaited", "not-external"),
    ("has no task that could be resumed", "no-awaiter"),
    ("exists and has no task", "no-task"),
    ("which does not exist", "no-awaited"),
    ("is not deployed", "no-module"),
    ("was never uploaded", "no-module"),
    ("is named without a module", "no-module"),
    ("gives its promises a negative time", "timeout"),
    ("needs a target for its promises", "no-target"),
    ("is no cron expression", "cron"),
    ("has no occurrence", "never"),
    ("looks like a part of a tree", "lineage"),
    ("a name has a visible character and no control characters", "name"),
];

/// Returns a promise in its wire form.
pub(super) fn shown(promise: &Promise) -> Json {
    wire::promise(promise)
}

fn holder(pid: &str) -> Result<Holder, ModelRefusal> {
    let fine = (1..=512).contains(&pid.len());
    fine.then(|| Holder::worker(pid)).ok_or_else(|| ModelRefusal::bad("pid", "`pid` "))
}

fn empty() -> Rows {
    let mut rows = View::new();
    rows.put_module(MODULE);
    rows.put_alias("shop".into(), MODULE);
    rows.into()
}

/// Returns the commands that the engine itself executes at `now`, in the order of the protocol.
fn due(state: &View, now: Timestamp) -> Vec<Command> {
    let comes = |at| wire::comes(at, now);
    let deadlines = state.promises().filter(|p| p.is_pending() && comes(p.spec.timeout_at));
    let mut due: Vec<Command> =
        deadlines.map(|p| Command::PromiseDue { id: p.id().clone() }).collect();
    for task in state.tasks().filter(|task| task.due_at().is_some_and(comes)) {
        let id = task.id.clone();
        due.push(match task.status() {
            TaskStatus::Pending => Command::RetryDue { id },
            _ => Command::LeaseDue { id },
        });
    }
    let mut schedules: Vec<_> = state
        .schedules()
        .filter_map(|s| Some((s.due_at().filter(|at| comes(*at))?, &s.id)))
        .collect();
    // Two schedules may create the same promise: the earlier occurrence does.
    schedules.sort();
    due.extend(schedules.into_iter().map(|(_, id)| Command::ScheduleDue { id: id.clone() }));
    let own = state
        .outbox()
        .filter(|(key, row)| key.kind() == OutboxMessageKind::CancelChildren && comes(row.next_at));
    due.extend(own.map(|(key, _)| Command::OutboxDue { key: key.clone() }));
    due
}
