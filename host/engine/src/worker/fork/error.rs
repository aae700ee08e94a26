//! Why there is no fork.

use segno_core::{fork::Impossible, id::PromiseId, invocation::CommandKind};
use segno_store::StoreError;

use crate::worker::replay::{ReplayError, ReplayReport};

/// Why nothing was forked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// There is no journal, or not as much of it, or the module fails on it.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// No fork can begin there.
    #[error(transparent)]
    Impossible(#[from] Impossible),
    /// The module does not repeat the records.
    #[error(
        "the module does not repeat the first {} records of `{id}`: at record {} the journal has {}, and it asks for {}",
        .report.records, at(.report), recorded(.report), asked(.report)
    )]
    Diverges {
        /// The invocation.
        id: PromiseId,
        /// What was found.
        report: Box<ReplayReport>,
    },
    /// There is no such command in the records.
    #[error(
        "command {command} is not among the first {records} records of `{id}`, which have {}",
        count(.commands)
    )]
    NoSuchCommand {
        /// The invocation.
        id: PromiseId,
        /// Its index.
        command: u32,
        /// Number of commands that there are.
        commands: u32,
        /// Number of records.
        records: u32,
    },
    /// The result of a command is given twice.
    #[error("the result of command {0} is given twice")]
    GivenTwice(u32),
    /// Such a command never has such a result.
    #[error("command {command} is a {kind} (`{name}`), and such a command {why}")]
    CannotHave {
        /// Its index.
        command: u32,
        /// What it is.
        kind: CommandKind,
        /// What it names.
        name: String,
        /// What its results are.
        why: String,
    },
}

impl From<StoreError> for ForkError {
    fn from(error: StoreError) -> Self {
        Self::Replay(error.into())
    }
}

fn at(report: &ReplayReport) -> u32 {
    report.divergence.as_ref().map_or(report.matched, segno_core::invocation::Divergence::seq)
}

fn recorded(report: &ReplayReport) -> String {
    report.divergence.as_ref().map(|it| it.recorded().to_string()).unwrap_or_default()
}

fn asked(report: &ReplayReport) -> String {
    report.divergence.as_ref().map(|it| it.asked().to_string()).unwrap_or_default()
}

fn count(commands: &u32) -> String {
    match commands {
        0 => "no command".to_owned(),
        1 => "command 0 only".to_owned(),
        many => format!("the commands 0 to {}", many - 1),
    }
}
