//! Requests about graphs.

use segno_model::{
    GraphChecked, GraphHistory, GraphHistoryQuery, GraphQuery, GraphRun, GraphStarted, RetryGraph,
    StartGraph,
};
use serde_json::Value;

use super::{Client, ClientError};

impl Client {
    /// Checks a plan, and that the host has everything that it names.
    ///
    /// # Errors
    /// See [`ClientError`]; refused with every fault of the plan.
    pub async fn check_graph(&self, start: &StartGraph) -> Result<GraphChecked, ClientError> {
        self.post(&["v1", "graphs", "check"], start).await
    }

    /// Starts a run of a plan.
    ///
    /// # Errors
    /// See [`ClientError`]; refused with every fault of the plan.
    pub async fn start_graph(&self, start: &StartGraph) -> Result<GraphStarted, ClientError> {
        self.post(&["v1", "graphs"], start).await
    }

    /// Reads how a run stands, and a page of its nodes.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn graph(&self, id: &str, query: &GraphQuery) -> Result<GraphRun, ClientError> {
        self.get(&["v1", "graphs", id], query).await
    }

    /// Reads the plan of a run.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn graph_plan(&self, id: &str) -> Result<Value, ClientError> {
        self.get(&["v1", "graphs", id, "plan"], &()).await
    }

    /// Reads a page of the history of a run.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn graph_history(
        &self,
        id: &str,
        query: &GraphHistoryQuery,
    ) -> Result<GraphHistory, ClientError> {
        self.get(&["v1", "graphs", id, "history"], query).await
    }

    /// Starts a run that takes over what another has completed.
    ///
    /// # Errors
    /// See [`ClientError`]; refused while the other goes on.
    pub async fn retry_graph(
        &self,
        id: &str,
        retry: &RetryGraph,
    ) -> Result<GraphStarted, ClientError> {
        self.post(&["v1", "graphs", id, "retry"], retry).await
    }
}
