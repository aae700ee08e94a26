//! The recovery policy as data: the duties with their periods, and the action for each kind of
//! damage.
//!
//! The core makes the actual decision (`Reconcile`). A test keeps this table equal to the
//! decisions.

use segno_core::{config::Config, time::Millis};
use serde::Serialize;

use super::damage::{DamageClass, ORPHANS, class};

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
        assert_eq!(duties, ["timers", "outbox", "reconcile", "stuck", "retention", "blobs"]);
        assert!(policy.duties.iter().all(|duty| duty.period_ms > 0 && duty.page > 0));
    }
}
