//! What the host does on its own, as data: the duties with their periods, and what is done about each kind of damage.
//!
//! The decision itself is the core's (`Reconcile`); a test holds this table and the decisions together.

use segno_core::{config::Config, reply::Orphan, time::Millis};
use serde::Serialize;

/// What is done about a kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// What follows from a settlement is carried out: nothing is decided anew.
    FinishChain,
    /// The task is offered again; its next run finds out what it waits for.
    Requeue,
    /// The children are asked to stop.
    CancelChildren,
    /// The execution is stopped for a person, and an alert is raised.
    Halt,
}

impl Action {
    /// What is done, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::FinishChain => "finish what follows from the settlement",
            Self::Requeue => "offer the task again",
            Self::CancelChildren => "ask the children to stop",
            Self::Halt => "halt it for a person, raise an alert",
        }
    }
}

/// A kind of damage, how it is seen, and what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Class {
    /// Its name, for metrics and people.
    pub class: &'static str,
    /// How it is seen.
    pub detection: &'static str,
    /// What is done.
    pub action: Action,
}

/// What is seen and done for this kind of damage.
pub fn class(orphan: Orphan) -> Class {
    let (class, detection, action) = match orphan {
        Orphan::TaskMissing => {
            ("task-missing", "a pending promise has a target and no task", Action::Halt)
        }
        Orphan::ChainUnfinished => (
            "chain-unfinished",
            "a settled promise has an open task, listeners, or callbacks that were not consumed",
            Action::FinishChain,
        ),
        Orphan::ChildRuns => (
            "child-runs",
            "a settled invocation has pending attached children, and no message to cancel them",
            Action::CancelChildren,
        ),
        Orphan::SuspendedOnNothing => {
            ("suspended-on-nothing", "a suspended task has no callback", Action::Requeue)
        }
        Orphan::WokenButSuspended => (
            "woken-but-suspended",
            "a suspended task has a consumed callback, or one on a settled promise",
            Action::Requeue,
        ),
        Orphan::TaskWithoutPromise => {
            ("task-without-promise", "a task has no promise", Action::Halt)
        }
        Orphan::JournalDamaged => {
            ("journal-damaged", "the end of a journal contradicts its records", Action::Halt)
        }
        Orphan::FactsContradict => {
            ("facts-contradict", "a step of a saga is both undone and not", Action::Halt)
        }
    };
    Class { class, detection, action }
}

/// All kinds of damage.
pub const ORPHANS: [Orphan; 8] = [
    Orphan::ChainUnfinished,
    Orphan::ChildRuns,
    Orphan::SuspendedOnNothing,
    Orphan::WokenButSuspended,
    Orphan::TaskMissing,
    Orphan::TaskWithoutPromise,
    Orphan::JournalDamaged,
    Orphan::FactsContradict,
];

/// A duty as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DutyRow {
    /// Its name.
    pub duty: &'static str,
    /// What it sees to.
    pub purpose: &'static str,
    /// How often it looks when no hint comes.
    pub period_ms: i64,
    /// The wait after a whole round, for duties that go round.
    pub round_pause_ms: Option<i64>,
    /// How many rows it looks at in one turn.
    pub page: u32,
}

/// The whole policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveryPolicy {
    /// What the host does on its own.
    pub duties: Vec<DutyRow>,
    /// What is done about damage.
    pub classes: Vec<Class>,
}

/// The policy under these settings.
pub fn policy(config: &Config) -> RecoveryPolicy {
    let row = |duty: super::Duty| DutyRow {
        duty: duty.name,
        purpose: duty.purpose,
        period_ms: (duty.period)(config).0,
        round_pause_ms: duty.round_pause.map(|Millis(pause)| pause),
        page: duty.page,
    };
    RecoveryPolicy {
        duties: super::duties().into_iter().map(row).collect(),
        classes: ORPHANS.map(class).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_class_is_shown_once_and_every_duty_has_a_period_and_a_page() {
        let policy = policy(&Config::default());
        let names: BTreeSet<&str> = policy.classes.iter().map(|class| class.class).collect();
        assert_eq!(names.len(), ORPHANS.len());
        assert!(policy.classes.iter().all(|class| !class.detection.is_empty()));
        let duties: Vec<&str> = policy.duties.iter().map(|duty| duty.duty).collect();
        assert_eq!(duties, ["timers", "outbox", "reconcile", "retention"]);
        assert!(policy.duties.iter().all(|duty| duty.period_ms > 0 && duty.page > 0));
    }
}
