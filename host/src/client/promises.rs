//! Promises, from the client's side.

use serde_json::Value;

use crate::api::model::{FailureView, PromiseView, RejectPromise, ResolvePromise};

use super::{Client, ClientError};

impl Client {
    /// One promise.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn promise(&self, id: &str) -> Result<PromiseView, ClientError> {
        self.get(&["v1", "promises", id], &()).await
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
