//! Requests about objects.

use reqwest::Method;
use segno_model::{
    ChangeState, FailureView, ObjectList, ObjectPromiseView, ObjectQuery, ObjectView,
    RejectPromise, ResolvePromise, StateQuery,
};
use serde_json::Value;

use super::{Client, ClientError};

impl Client {
    /// Lists a page of objects, by name.
    pub async fn objects(&self, query: &ObjectQuery) -> Result<ObjectList, ClientError> {
        self.get(&["v1", "objects"], query).await
    }

    /// Reads an object: its state or the value of one name, and the holder of its turn.
    pub async fn object(
        &self,
        [module, object, key]: [&str; 3],
        name: Option<&str>,
    ) -> Result<ObjectView, ClientError> {
        let query = StateQuery { name: name.map(str::to_owned) };
        self.get(&["v1", "objects", module, object, key], &query).await
    }

    /// Changes the state of an object.
    /// The host refuses while an invocation holds the turn or waits for it.
    pub async fn change_object(
        &self,
        [module, object, key]: [&str; 3],
        change: &ChangeState,
    ) -> Result<ObjectView, ClientError> {
        let path = ["v1", "objects", module, object, key];
        self.read(self.request(Method::PATCH, &path).json(change)).await
    }

    /// Reads a promise of an object.
    pub async fn object_promise(
        &self,
        [module, object, key]: [&str; 3],
        name: &str,
    ) -> Result<ObjectPromiseView, ClientError> {
        self.get(&["v1", "objects", module, object, key, "promises", name], &()).await
    }

    /// Resolves a promise of an object, and creates it if it does not exist.
    pub async fn resolve_object_promise(
        &self,
        [module, object, key]: [&str; 3],
        name: &str,
        value: Value,
    ) -> Result<ObjectPromiseView, ClientError> {
        let path = ["v1", "objects", module, object, key, "promises", name, "resolve"];
        self.post(&path, &ResolvePromise { value }).await
    }

    /// Rejects a promise of an object with `failure`, and creates it if it does not exist.
    pub async fn reject_object_promise(
        &self,
        [module, object, key]: [&str; 3],
        name: &str,
        failure: FailureView,
    ) -> Result<ObjectPromiseView, ClientError> {
        let path = ["v1", "objects", module, object, key, "promises", name, "reject"];
        self.post(&path, &RejectPromise { failure: Some(failure), value: None }).await
    }
}
