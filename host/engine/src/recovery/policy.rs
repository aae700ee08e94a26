//! The recovery policy as data: the duties with their periods, and the action for each kind of
//! damage.
//!
//! The core makes the actual decision (`Reconcile`). A test keeps this table equal to the
//! decisions.

use segno_core::{config::Config, reply::DamageKind, time::Millis};
use serde::Serialize;

/// The action for a kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryAction {
    /// Completes the remaining steps of a settlement chain, without a new decision.
    FinishChain,
    /// Offers the task again. The next attempt finds out what the task waits for.
    Requeue,
    /// Requests the cancellation of the children.
    CancelChildren,
    /// Halts the execution and raises an alert, for an operator.
    Halt,
}

impl RecoveryAction {
    /// The description of the action.
    pub fn words(self) -> &'static str {
        match self {
            Self::FinishChain => "finish what follows from the settlement",
            Self::Requeue => "offer the task again",
            Self::CancelChildren => "ask the children to stop",
            Self::Halt => "halt it for a person, raise an alert",
        }
    }
}

/// A kind of damage, with its detection and its action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DamageClass {
    /// The name of the class, for metrics and listings.
    pub class: &'static str,
    /// The description of how the damage is detected.
    pub detection: &'static str,
    /// The action for this class.
    pub action: RecoveryAction,
}

/// Detection and action for this kind of damage.
pub fn class(orphan: DamageKind) -> DamageClass {
    let (class, detection, action) = match orphan {
        DamageKind::TaskMissing => {
            ("task-missing", "a pending promise has a target and no task", RecoveryAction::Halt)
        }
        DamageKind::ChainUnfinished => (
            "chain-unfinished",
            "a settled promise has an open task, listeners, or callbacks that were not consumed",
            RecoveryAction::FinishChain,
        ),
        DamageKind::ChildRuns => (
            "child-runs",
            "a settled invocation has pending attached children, and no message to cancel them",
            RecoveryAction::CancelChildren,
        ),
        DamageKind::SuspendedOnNothing => {
            ("suspended-on-nothing", "a suspended task has no callback", RecoveryAction::Requeue)
        }
        DamageKind::WokenButSuspended => (
            "woken-but-suspended",
            "a suspended task has a consumed callback, or one on a settled promise",
            RecoveryAction::Requeue,
        ),
        DamageKind::TaskWithoutPromise => {
            ("task-without-promise", "a task has no promise", RecoveryAction::Halt)
        }
        DamageKind::JournalDamaged => (
            "journal-damaged",
            "the end of a journal contradicts its records",
            RecoveryAction::Halt,
        ),
        DamageKind::FactsContradict => {
            ("facts-contradict", "a step of a saga is both undone and not", RecoveryAction::Halt)
        }
    };
    DamageClass { class, detection, action }
}

/// All kinds of damage.
pub const ORPHANS: [DamageKind; 8] = [
    DamageKind::ChainUnfinished,
    DamageKind::ChildRuns,
    DamageKind::SuspendedOnNothing,
    DamageKind::WokenButSuspended,
    DamageKind::TaskMissing,
    DamageKind::TaskWithoutPromise,
    DamageKind::JournalDamaged,
    DamageKind::FactsContradict,
];

/// A duty in the listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DutyRow {
    pub duty: &'static str,
    /// A description of the duty.
    pub purpose: &'static str,
    /// The interval between two turns when no hint arrives, in milliseconds.
    pub period_ms: i64,
    /// The delay after a complete round, in milliseconds, for duties that scan the store in rounds.
    /// `None` for others.
    pub round_pause_ms: Option<i64>,
    /// The maximum number of rows read in one turn.
    pub page: u32,
}

/// The complete recovery policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveryPolicy {
    /// All duties.
    pub duties: Vec<DutyRow>,
    /// All classes of damage.
    pub classes: Vec<DamageClass>,
}

/// The policy with these settings.
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
        assert_eq!(duties, ["timers", "outbox", "reconcile", "stuck", "retention"]);
        assert!(policy.duties.iter().all(|duty| duty.period_ms > 0 && duty.page > 0));
    }
}
