//! Requests about graphs.

use segno_model::{
    GraphChecked, GraphHistory, GraphHistoryQuery, GraphQuery, GraphRun, GraphStarted, RetryGraph,
    StartGraph,
};
use serde_json::Value;

use super::{Client, ClientError};

impl Client {
    /// Checks a plan, including that the host has every function and module that it names.
    /// The refusal lists all faults of the plan.
    pub async fn check_graph(&self, start: &StartGraph) -> Result<GraphChecked, ClientError> {
        self.post(&["v1", "graphs", "check"], start).await
    }

    /// Starts a run of a plan.
    /// The refusal lists all faults of the plan.
    pub async fn start_graph(&self, start: &StartGraph) -> Result<GraphStarted, ClientError> {
        self.post(&["v1", "graphs"], start).await
    }

    /// Reads the state of a run and a page of its nodes.
    pub async fn graph(&self, id: &str, query: &GraphQuery) -> Result<GraphRun, ClientError> {
        self.get(&["v1", "graphs", id], query).await
    }

    /// Reads the plan of a run.
    pub async fn graph_plan(&self, id: &str) -> Result<Value, ClientError> {
        self.get(&["v1", "graphs", id, "plan"], &()).await
    }

    /// Reads a page of the history of a run.
    pub async fn graph_history(
        &self,
        id: &str,
        query: &GraphHistoryQuery,
    ) -> Result<GraphHistory, ClientError> {
        self.get(&["v1", "graphs", id, "history"], query).await
    }

    /// Starts a run that takes over the completed nodes of another run.
    /// The host refuses while the other run has not ended.
    pub async fn retry_graph(
        &self,
        id: &str,
        retry: &RetryGraph,
    ) -> Result<GraphStarted, ClientError> {
        self.post(&["v1", "graphs", id, "retry"], retry).await
    }
}
