//! Requests about promises.

use segno_model::{
    CreatePromise, FailureView, PromiseCreated, PromisePage, PromiseQuery, PromiseView,
    RejectPromise, ResolvePromise, TreePage, TreeQuery,
};
use serde_json::Value;

use super::{Client, ClientError};

impl Client {
    /// Creates a promise, or finds the one with the same id.
    pub async fn create_promise(
        &self,
        promise: &CreatePromise,
    ) -> Result<PromiseCreated, ClientError> {
        self.post(&["v1", "promises"], promise).await
    }

    /// Lists a page of promises, by id.
    pub async fn promises(&self, query: &PromiseQuery) -> Result<PromisePage, ClientError> {
        self.get(&["v1", "promises"], query).await
    }

    /// Reads a promise.
    pub async fn promise(&self, id: &str) -> Result<PromiseView, ClientError> {
        self.get(&["v1", "promises", id], &()).await
    }

    /// Reads a page of the tree of calls below a promise.
    pub async fn tree(&self, id: &str, query: &TreeQuery) -> Result<TreePage, ClientError> {
        self.get(&["v1", "promises", id, "tree"], query).await
    }

    /// Resolves a promise with `value`.
    pub async fn resolve(&self, id: &str, value: Value) -> Result<PromiseView, ClientError> {
        self.post(&["v1", "promises", id, "resolve"], &ResolvePromise { value }).await
    }

    /// Rejects a promise with `failure`.
    pub async fn reject(&self, id: &str, failure: FailureView) -> Result<PromiseView, ClientError> {
        let body = RejectPromise { failure: Some(failure), value: None };
        self.post(&["v1", "promises", id, "reject"], &body).await
    }

    /// Settles a promise as cancelled.
    pub async fn cancel_promise(&self, id: &str) -> Result<PromiseView, ClientError> {
        self.post(&["v1", "promises", id, "cancel"], &serde_json::json!({})).await
    }
}
