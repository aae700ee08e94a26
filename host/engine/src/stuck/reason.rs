//! The reasons why an execution cannot continue by itself.

use segno_core::{
    address::is_internal,
    promise::{HaltReason, Promise, Task, TaskState},
    time::{Millis, Timestamp},
};

/// The time for which a task is offered before it counts as having no worker.
pub(super) const UNTAKEN: Millis = Millis(5 * 60_000);
/// The number of consecutive lost claims from which on an execution counts as stuck.
const LOSING: u32 = 3;
/// The number of failed attempts from which on an execution counts as failing.
const FAILING: u32 = 10;
/// The time for which an execution waits for promises without an owner before it counts as stuck.
pub(super) const UNSETTLED: Millis = Millis(24 * 3_600_000);

/// A kind of reason. Metrics and alerts use its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StuckReason {
    /// An operator halted the execution.
    Halted,
    /// The execution issued another command than its journal has.
    Diverged,
    /// The execution trapped repeatedly in the same way.
    Trapped,
    /// The execution failed as often as the host's limit allows.
    Exhausted,
    /// The hosts that held the claim repeatedly died or stalled.
    ClaimsLost,
    /// The rows or the journal of the execution contradict each other.
    Damaged,
    /// The execution neither ended nor waits for anything.
    WaitsForNothing,
    /// The module of the execution is not stored.
    ModuleMissing,
    /// The execution waits for executions that wait for it.
    Deadlocked,
    /// The execution waits behind a limit that admits none.
    LimitClosed,
    /// The task is offered, and no worker claims it.
    NoWorker,
    /// The execution failed many times, and is retried.
    Failing,
    /// The execution has waited for a day for promises that have no owner and no deadline.
    Unsettled,
}

/// An execution that cannot continue by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckExecution {
    /// The kind of reason.
    pub reason: StuckReason,
    /// The reason as a sentence.
    pub why: String,
}

impl StuckReason {
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

    /// The name in JSON, metrics and alerts.
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

impl StuckExecution {
    pub(super) fn new(reason: StuckReason, why: impl Into<String>) -> Self {
        Self { reason, why: why.into() }
    }

    /// The reason that follows from the row alone. `None` if the row shows none.
    pub(super) fn by_row(promise: &Promise, task: &Task, now: Timestamp) -> Option<Self> {
        let note = task.note.as_ref();
        let said = |otherwise: &str| {
            note.map_or_else(|| otherwise.to_owned(), |note| note.message.to_string())
        };
        match &task.state {
            TaskState::Halted { reason } => {
                let kind = note.map(|note| note.kind.as_str()).unwrap_or_default();
                let reason = match (reason, kind) {
                    (HaltReason::Reported, "divergence") => StuckReason::Diverged,
                    (HaltReason::Reported, "waits-for-nothing") => StuckReason::WaitsForNothing,
                    (HaltReason::Reported, "damaged") | (HaltReason::Damaged, _) => {
                        StuckReason::Damaged
                    }
                    (HaltReason::Trapped, _) => StuckReason::Trapped,
                    (HaltReason::Exhausted, _) => StuckReason::Exhausted,
                    (HaltReason::Lost, _) => StuckReason::ClaimsLost,
                    (HaltReason::Requested | HaltReason::Reported, _) => StuckReason::Halted,
                };
                Some(Self::new(reason, said("halted by hand")))
            }
            TaskState::Pending { .. } if task.losses >= LOSING => {
                Some(Self::new(StuckReason::ClaimsLost, said("its last claims were lost")))
            }
            TaskState::Pending { .. } if task.attempt >= FAILING => {
                let why = format!(
                    "{} attempts failed; the last one: {}",
                    task.attempt,
                    said("no reason is known")
                );
                Some(Self::new(StuckReason::Failing, why))
            }
            TaskState::Pending { since, offered: true, .. } if *since + UNTAKEN <= now => {
                let target = promise.target().unwrap_or_default();
                let who = match is_internal(target) {
                    true => "no host takes it".to_owned(),
                    false => format!("no worker of `{target}` takes it"),
                };
                Some(Self::new(StuckReason::NoWorker, format!("{who}, since {}", since.in_utc())))
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
            (halted(HaltReason::Requested), 0, None, Some(StuckReason::Halted)),
            (halted(HaltReason::Reported), 0, Some("divergence"), Some(StuckReason::Diverged)),
            (
                halted(HaltReason::Reported),
                0,
                Some("waits-for-nothing"),
                Some(StuckReason::WaitsForNothing),
            ),
            (halted(HaltReason::Reported), 0, Some("damaged"), Some(StuckReason::Damaged)),
            (halted(HaltReason::Reported), 0, Some("other"), Some(StuckReason::Halted)),
            (halted(HaltReason::Damaged), 0, None, Some(StuckReason::Damaged)),
            (halted(HaltReason::Trapped), 3, Some("trap"), Some(StuckReason::Trapped)),
            (halted(HaltReason::Exhausted), 5, Some("failure"), Some(StuckReason::Exhausted)),
            (halted(HaltReason::Lost), 0, None, Some(StuckReason::ClaimsLost)),
            (pending(0, true), 0, None, Some(StuckReason::NoWorker)),
            (pending(1, true), 0, None, None),
            (pending(0, false), 0, None, None),
            (pending(1, false), FAILING, Some("failure"), Some(StuckReason::Failing)),
            (pending(1, false), FAILING - 1, Some("failure"), None),
            (TaskState::Suspended, 0, None, None),
            (TaskState::Fulfilled, 0, None, None),
        ] {
            let task = task(state, attempt, kind);
            let found = StuckExecution::by_row(&promise("poll://any@packers"), &task, now);
            assert_eq!(found.map(|stuck| stuck.reason), reason, "{task:?}");
        }
        for (losses, reason) in [(LOSING - 1, None), (LOSING, Some(StuckReason::ClaimsLost))] {
            let task = Task { losses, ..task(pending(1, false), 0, Some("lost")) };
            let found = StuckExecution::by_row(&promise("poll://any@packers"), &task, now);
            assert_eq!(found.map(|stuck| stuck.reason), reason, "{losses} lost");
        }
        let task = task(pending(0, true), 0, None);
        let why =
            |target| StuckExecution::by_row(&promise(target), &task, now).map(|stuck| stuck.why);
        let said = why("poll://any@packers").unwrap_or_default();
        assert!(said.starts_with("no worker of `poll://any@packers` takes it, since "), "{said}");
        let said = why("wasm://shop/order").unwrap_or_default();
        assert!(said.starts_with("no host takes it, since "), "{said}");
    }

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> =
            StuckReason::ALL.map(StuckReason::name).into();
        assert_eq!(names.len(), StuckReason::ALL.len());
    }
}
