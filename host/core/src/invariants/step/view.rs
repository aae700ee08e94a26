//! Input of the predicates over a step.

use crate::{command::Command, config::Config, snapshot::Snapshot, time::Timestamp};

pub struct CheckedStep<'a> {
    pub before: &'a Snapshot,
    pub command: &'a Command,
    pub after: &'a Snapshot,
    /// Instant of the command.
    pub now: Timestamp,
    /// Settings of the decision.
    pub config: &'a Config,
}
