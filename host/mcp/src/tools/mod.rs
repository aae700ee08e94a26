//! The tools, in the order of the list.

mod check;
mod control;
mod docs;
mod executions;
mod fork;
mod host;
mod inbox;
mod inspect;
mod journal;
mod logs;
mod modules;
mod objects;
mod replay;
mod rerun;
mod result;
mod schedules;
mod settle;
mod signal;
mod start;
mod tree;
mod verify;
mod why;

use std::sync::LazyLock;

pub(crate) use modules::target;

use super::tool::{ToolEffect, ToolEntry};

static TOOLS: LazyLock<Vec<ToolEntry>> = LazyLock::new(|| {
    vec![
        ToolEntry::of::<host::HostStatus>(),
        ToolEntry::of::<executions::ListExecutions>(),
        ToolEntry::of::<inspect::InspectExecution>(),
        ToolEntry::of::<why::WhyExecution>(),
        ToolEntry::of::<result::ExecutionResult>(),
        ToolEntry::of::<tree::ExecutionTree>(),
        ToolEntry::of::<journal::ReadJournal>(),
        ToolEntry::of::<logs::ReadLogs>(),
        ToolEntry::of::<inbox::ListInbox>(),
        ToolEntry::of::<modules::ListModules>(),
        ToolEntry::of::<modules::DescribeFunction>(),
        ToolEntry::of::<schedules::ListSchedules>(),
        ToolEntry::of::<objects::ListObjects>(),
        ToolEntry::of::<objects::ReadObject>(),
        ToolEntry::of::<replay::ReplayExecution>(),
        ToolEntry::of::<check::CheckModule>(),
        ToolEntry::of::<fork::ForkDryRun>(),
        ToolEntry::of::<rerun::RerunExecutions>(),
        ToolEntry::of::<verify::VerifyWorkflow>(),
        ToolEntry::of::<docs::SearchDocs>(),
        ToolEntry::of::<docs::ReadDoc>(),
        ToolEntry::of::<start::StartExecution>(),
        ToolEntry::of::<settle::SettlePromise>(),
        ToolEntry::of::<signal::SendExecutionSignal>(),
        ToolEntry::of::<control::CancelExecution>(),
        ToolEntry::of::<control::ContinueExecution>(),
        ToolEntry::of::<control::RestartExecution>(),
    ]
});

/// All tools, in the order of the list.
pub(crate) fn all() -> &'static [ToolEntry] {
    &TOOLS
}

/// The tool with this name.
pub(crate) fn named(name: &str) -> Option<&'static ToolEntry> {
    TOOLS.iter().find(|entry| entry.tool.name == name)
}

impl ToolEntry {
    /// Returns true if the tool changes the host.
    pub(crate) fn writes(&self) -> bool {
        self.effect != ToolEffect::Reads
    }
}
