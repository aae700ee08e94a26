//! A step as its predicates see it.

use crate::{command::Command, config::Config, snapshot::Snapshot, time::Timestamp};

/// A step: the rows before a command, and after it.
pub struct StepView<'a> {
    /// The rows before.
    pub before: &'a Snapshot,
    /// The command.
    pub command: &'a Command,
    /// The rows after.
    pub after: &'a Snapshot,
    /// When.
    pub now: Timestamp,
    /// The settings it was decided with.
    pub config: &'a Config,
}
