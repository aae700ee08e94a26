//! The means of all tools: the client of the host, time, and commands of `segno` on this machine.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use segno_client::{Client, ClientError};
use segno_env::Env;
use segno_model::InvocationQuery;
use serde_json::json;

use super::{answer::id_argument, failure::ToolFailure, similar::similar};

/// Number of executions whose ids are compared with an unknown one.
const COMPARED_EXECUTIONS: u32 = 200;

/// The permission to change the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePermission {
    /// Tools only read.
    ReadOnly,
    /// Tools also start, settle, signal and cancel.
    Allowed,
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// The exit code; `None` if a signal ended the command.
    pub exit: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// The command `segno` on this machine, for work that needs the engine.
#[async_trait]
pub trait SegnoCommand: Send + Sync {
    /// Runs `segno --json` with these arguments.
    ///
    /// # Errors
    /// A sentence that says why the command cannot be run.
    async fn run(&self, arguments: &[String]) -> Result<CommandOutput, String>;
}

/// Access to a host, shared by all tools.
#[derive(Clone)]
pub(crate) struct HostAccess {
    pub(crate) client: Client,
    pub(crate) env: Env,
    pub(crate) command: Arc<dyn SegnoCommand>,
    pub(crate) permission: WritePermission,
}

impl fmt::Debug for HostAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HostAccess")
            .field("client", &self.client)
            .field("permission", &self.permission)
            .finish_non_exhaustive()
    }
}

impl HostAccess {
    /// Milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> i64 {
        self.env.clock.now().0
    }

    /// The failure of a request about the execution `id`. If there is none with this id, the
    /// failure names similar ids.
    pub(crate) async fn failure(&self, id: &str, error: ClientError) -> ToolFailure {
        let is_unknown = matches!(error.code(), "unknown-invocation" | "unknown-promise");
        let failure = ToolFailure::from(error);
        if !is_unknown {
            return failure;
        }
        let query = InvocationQuery { limit: Some(COMPARED_EXECUTIONS), ..Default::default() };
        let known = match self.client.list(&query).await {
            Ok(page) => similar(id, page.items.into_iter().map(|item| item.id)),
            Err(_) => Vec::new(),
        };
        let Some(first) = known.first() else {
            return failure.then("list_executions", json!({}), "the executions of this host");
        };
        let message = format!("{}; similar ids: {}", failure.message, known.join(", "));
        ToolFailure::new(&failure.code, message).then(
            "inspect_execution",
            id_argument(first),
            "the most similar id",
        )
    }
}
