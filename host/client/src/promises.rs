//! Promises, from the client's side.

use serde_json::Value;

use segno_model::{
    CreatePromise, FailureView, PromiseCreated, PromisePage, PromiseQuery, PromiseView,
    RejectPromise, ResolvePromise, TreePage, TreeQuery,
};

use super::{Client, ClientError};

impl Client {
    /// Makes a promise, or finds the one with its id.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn create_promise(
        &self,
        promise: &CreatePromise,
    ) -> Result<PromiseCreated, ClientError> {
        self.post(&["v1", "promises"], promise).await
    }

    /// A page of promises, by id.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn promises(&self, query: &PromiseQuery) -> Result<PromisePage, ClientError> {
        self.get(&["v1", "promises"], query).await
    }

    /// One promise.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn promise(&self, id: &str) -> Result<PromiseView, ClientError> {
        self.get(&["v1", "promises", id], &()).await
    }

    /// A part of the tree of calls below a promise.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn tree(&self, id: &str, query: &TreeQuery) -> Result<TreePage, ClientError> {
        self.get(&["v1", "promises", id, "tree"], query).await
    }

    /// Settles a promise with `value`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn resolve(&self, id: &str, value: Value) -> Result<PromiseView, ClientError> {
        self.post(&["v1", "promises", id, "resolve"], &ResolvePromise { value }).await
    }

    /// Settles a promise with `failure`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn reject(&self, id: &str, failure: FailureView) -> Result<PromiseView, ClientError> {
        let body = RejectPromise { failure: Some(failure), value: None };
        self.post(&["v1", "promises", id, "reject"], &body).await
    }

    /// Settles a promise as cancelled.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn cancel_promise(&self, id: &str) -> Result<PromiseView, ClientError> {
        self.post(&["v1", "promises", id, "cancel"], &serde_json::json!({})).await
    }
}
