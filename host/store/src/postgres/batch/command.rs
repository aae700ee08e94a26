//! A command of a batch.

use std::sync::OnceLock;

use segno_core::{
    command::Command,
    footprint::{Footprint, footprint},
};

/// A command with its footprint, which is computed on first use.
#[derive(Debug)]
pub(in crate::postgres) struct FootprintedCommand {
    pub(in crate::postgres) command: Command,
    named: OnceLock<Footprint>,
}

impl From<Command> for FootprintedCommand {
    fn from(command: Command) -> Self {
        Self { command, named: OnceLock::new() }
    }
}

impl FootprintedCommand {
    /// The rows that the command names.
    pub(in crate::postgres) fn named(&self) -> &Footprint {
        self.named.get_or_init(|| footprint(&self.command))
    }
}
