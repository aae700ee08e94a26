//! Why an execution cannot go on by itself.

use segno_core::{
    address::is_internal,
    promise::{HaltReason, Promise, Task, TaskState},
    time::{Millis, Timestamp},
};

/// How long a task is offered before nobody seems to be there to take it.
pub(super) const UNTAKEN: Millis = Millis(5 * 60_000);
/// The number of claims lost in a row from which on an execution seems to be lost for good.
const LOSING: u32 = 3;
/// The number of failed attempts from which on an execution seems to fail for good.
const FAILING: u32 = 10;
/// How long an execution waits for promises without an owner before it seems that nobody settles
/// them.
pub(super) const UNSETTLED: Millis = Millis(24 * 3_600_000);

/// A kind of reason. Metrics and alerts know them by these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A person halted it.
    Halted,
    /// It asked for something else than its journal says.
    Diverged,
    /// It trapped in the same way again and again.
    Trapped,
    /// It failed as often as the host's limit allows.
    Exhausted,
    /// Its holders died or stalled again and again.
    ClaimsLost,
    /// Its rows or its journal contradict themselves.
    Damaged,
    /// It neither ended nor waits for anything.
    WaitsForNothing,
    /// The module that it runs is not stored.
    ModuleMissing,
    /// It waits for executions that wait for it.
    Deadlocked,
    /// It waits behind a limit that lets nobody begin.
    LimitClosed,
    /// It is offered, and nobody takes it.
    NoWorker,
    /// It failed many times, and is tried again.
    Failing,
    /// It has waited for a day for promises that have no owner and no deadline.
    Unsettled,
}

/// An execution that cannot go on by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// The kind of reason.
    pub reason: Reason,
    /// The reason in a sentence.
    pub why: String,
}

impl Reason {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::Halted,
        Self::Diverged,
        Self::Trapped,
        Self::Exhausted,
        Self::ClaimsLost,
        Self::Damaged,
        Self::WaitsForNothing,
        Self::ModuleMissing,
        Self::Deadlocked,
        Self::LimitClosed,
        Self::NoWorker,
        Self::Failing,
        Self::Unsettled,
    ];

    /// The name in JSON, in metrics and in alerts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Halted => "halted",
            Self::Diverged => "diverged",
            Self::Trapped => "trapped",
            Self::Exhausted => "exhausted",
            Self::ClaimsLost => "claims-lost",
            Self::Damaged => "damaged",
            Self::WaitsForNothing => "waits-for-nothing",
            Self::ModuleMissing => "module-missing",
            Self::Deadlocked => "deadlocked",
            Self::LimitClosed => "limit-closed",
            Self::NoWorker => "no-worker",
            Self::Failing => "failing",
            Self::Unsettled => "unsettled",
        }
    }
}

impl Stuck {
    pub(super) fn new(reason: Reason, why: impl Into<String>) -> Self {
        Self { reason, why: why.into() }
    }

    /// What the row alone says.
    pub(super) fn by_row(promise: &Promise, task: &Task, now: Timestamp) -> Option<Self> {
        let note = task.note.as_ref();
        let said = |otherwise: &str| {
            note.map_or_else(|| otherwise.to_owned(), |note| note.message.to_string())
        };
        match &task.state {
            TaskState::Halted { reason } => {
                let kind = note.map(|note| note.kind.as_str()).unwrap_or_default();
                let reason = match (reason, kind) {
                    (HaltReason::Reported, "divergence") => Reason::Diverged,
                    (HaltReason::Reported, "waits-for-nothing") => Reason::WaitsForNothing,
                    (HaltReason::Reported, "damaged") | (HaltReason::Damaged, _) => Reason::Damaged,
                    (HaltReason::Trapped, _) => Reason::Trapped,
                    (HaltReason::Exhausted, _) => Reason::Exhausted,
                    (HaltReason::Lost, _) => Reason::ClaimsLost,
                    (HaltReason::Requested | HaltReason::Reported, _) => Reason::Halted,
                };
                Some(Self::new(reason, said("halted by hand")))
            }
            TaskState::Pending { .. } if task.losses >= LOSING => {
                Some(Self::new(Reason::ClaimsLost, said("its last claims were lost")))
            }
            TaskState::Pending { .. } if task.attempt >= FAILING => {
                let why = format!(
                    "{} attempts failed; the last one: {}",
                    task.attempt,
                    said("no reason is known")
                );
                Some(Self::new(Reason::Failing, why))
            }
            TaskState::Pending { since, offered: true, .. } if *since + UNTAKEN <= now => {
                let target = promise.target().unwrap_or_default();
                let who = match is_internal(target) {
                    true => "no host takes it".to_owned(),
                    false => format!("no worker of `{target}` takes it"),
                };
                Some(Self::new(Reason::NoWorker, format!("{who}, since {}", since.in_utc())))
            }
            TaskState::Pending { .. }
            | TaskState::Acquired { .. }
            | TaskState::Suspended
            | TaskState::Fulfilled => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use segno_core::{
        id::{PromiseId, Version},
        promise::{Note, PromiseSpec, PromiseState},
        tags,
        value::{Tags, Text, Value},
    };

    use super::*;

    fn promise(target: &str) -> Promise {
        let spec = PromiseSpec {
            id: PromiseId::from("it"),
            param: Value::default(),
            tags: Tags::from([(tags::TARGET.to_owned(), target.to_owned())]),
            made_by: None,
            timeout_at: Timestamp::NEVER,
            created_at: Timestamp(0),
        };
        Promise { spec: Arc::new(spec), state: PromiseState::Pending }
    }

    fn task(state: TaskState, attempt: u32, kind: Option<&str>) -> Task {
        let note = kind.map(|kind| Note {
            kind: Text::from(kind),
            message: Text::from("why"),
            details: Vec::new().into(),
        });
        Task { attempt, note, ..Task::born(PromiseId::from("it"), Version(0), state, None) }
    }

    #[test]
    fn a_row_says_why_it_is_stuck() {
        let halted = |reason| TaskState::Halted { reason };
        let pending = |since, offered| TaskState::Pending {
            since: Timestamp(since),
            retry_at: Timestamp(0),
            offered,
        };
        let now = Timestamp(0) + UNTAKEN;
        for (state, attempt, kind, reason) in [
            (halted(HaltReason::Requested), 0, None, Some(Reason::Halted)),
            (halted(HaltReason::Reported), 0, Some("divergence"), Some(Reason::Diverged)),
            (
                halted(HaltReason::Reported),
                0,
                Some("waits-for-nothing"),
                Some(Reason::WaitsForNothing),
            ),
            (halted(HaltReason::Reported), 0, Some("damaged"), Some(Reason::Damaged)),
            (halted(HaltReason::Reported), 0, Some("other"), Some(Reason::Halted)),
            (halted(HaltReason::Damaged), 0, None, Some(Reason::Damaged)),
            (halted(HaltReason::Trapped), 3, Some("trap"), Some(Reason::Trapped)),
            (halted(HaltReason::Exhausted), 5, Some("failure"), Some(Reason::Exhausted)),
            (halted(HaltReason::Lost), 0, None, Some(Reason::ClaimsLost)),
            (pending(0, true), 0, None, Some(Reason::NoWorker)),
            (pending(1, true), 0, None, None),
            (pending(0, false), 0, None, None),
            (pending(1, false), FAILING, Some("failure"), Some(Reason::Failing)),
            (pending(1, false), FAILING - 1, Some("failure"), None),
            (TaskState::Suspended, 0, None, None),
            (TaskState::Fulfilled, 0, None, None),
        ] {
            let task = task(state, attempt, kind);
            let found = Stuck::by_row(&promise("poll://any@packers"), &task, now);
            assert_eq!(found.map(|stuck| stuck.reason), reason, "{task:?}");
        }
        for (losses, reason) in [(LOSING - 1, None), (LOSING, Some(Reason::ClaimsLost))] {
            let task = Task { losses, ..task(pending(1, false), 0, Some("lost")) };
            let found = Stuck::by_row(&promise("poll://any@packers"), &task, now);
            assert_eq!(found.map(|stuck| stuck.reason), reason, "{losses} lost");
        }
        let task = task(pending(0, true), 0, None);
        let why = |target| Stuck::by_row(&promise(target), &task, now).map(|stuck| stuck.why);
        let said = why("poll://any@packers").unwrap_or_default();
        assert!(said.starts_with("no worker of `poll://any@packers` takes it, since "), "{said}");
        let said = why("wasm://shop/order").unwrap_or_default();
        assert!(said.starts_with("no host takes it, since "), "{said}");
    }

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = Reason::ALL.map(Reason::name).into();
        assert_eq!(names.len(), Reason::ALL.len());
    }
}
