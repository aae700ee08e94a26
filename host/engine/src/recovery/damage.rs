//! The kinds of damage, each with its detection and its action.

use segno_core::reply::DamageKind;
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
