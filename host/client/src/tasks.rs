//! Requests about tasks.

use segno_model::{Accepted, ReleaseTask, TaskPage, TaskQuery, TaskView};

use super::{Client, ClientError};

impl Client {
    /// Lists a page of tasks, newest first.
    pub async fn tasks(&self, query: &TaskQuery) -> Result<TaskPage, ClientError> {
        self.get(&["v1", "tasks"], query).await
    }

    /// Reads a task.
    pub async fn task(&self, id: &str) -> Result<TaskView, ClientError> {
        self.get(&["v1", "tasks", id], &()).await
    }

    /// Halts an invocation; [`Client::resume`] continues it.
    pub async fn halt(&self, id: &str) -> Result<Accepted, ClientError> {
        self.post(&["v1", "invocations", id, "halt"], &serde_json::json!({})).await
    }

    /// Releases a task from its holder. With `version`, only if the claim has this version.
    pub async fn release(&self, id: &str, version: Option<u64>) -> Result<Accepted, ClientError> {
        self.post(&["v1", "invocations", id, "release"], &ReleaseTask { version }).await
    }
}
