//! The reasons why a fork is not created.

use segno_core::{fork::ForkPositionError, id::PromiseId, invocation::CommandKind};
use segno_store::StoreError;

use crate::worker::replay::{ReplayError, ReplayReport};

/// The reason why a fork was not created. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The journal is missing or too short, or the module fails on it.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// No fork can begin at this record.
    #[error(transparent)]
    Impossible(#[from] ForkPositionError),
    /// The module does not repeat the records.
    #[error(
        "the module does not repeat the first {} records of `{id}`: at record {} the journal has {}, and it asks for {}",
        .report.records, at(.report), recorded(.report), asked(.report)
    )]
    Diverges {
        /// The original invocation.
        id: PromiseId,
        /// The report, with the first difference.
        report: Box<ReplayReport>,
    },
    /// The command is not in the records.
    #[error(
        "command {command} is not among the first {records} records of `{id}`, which have {}",
        count(.commands)
    )]
    NoSuchCommand {
        id: PromiseId,
        /// The index of the command.
        command: u32,
        /// Number of commands in the records.
        commands: u32,
        /// Number of records.
        records: u32,
    },
    /// The result of a command is given twice.
    #[error("the result of command {0} is given twice")]
    GivenTwice(u32),
    /// A command of this kind cannot have this result.
    #[error("command {command} is a {kind} (`{name}`), and such a command {why}")]
    CannotHave {
        /// The index of the command.
        command: u32,
        /// The kind of the command.
        kind: CommandKind,
        /// The name of the command.
        name: String,
        /// A description of the results that such a command has.
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
