//! Requests about objects.

use reqwest::Method;
use segno_model::{ChangeState, ObjectList, ObjectQuery, ObjectView, StateQuery};

use super::{Client, ClientError};

impl Client {
    /// Lists a page of objects, by name.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn objects(&self, query: &ObjectQuery) -> Result<ObjectList, ClientError> {
        self.get(&["v1", "objects"], query).await
    }

    /// Reads an object: its state, or the value of one name, and whose turn it is.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn object(
        &self,
        [module, object, key]: [&str; 3],
        name: Option<&str>,
    ) -> Result<ObjectView, ClientError> {
        let query = StateQuery { name: name.map(str::to_owned) };
        self.get(&["v1", "objects", module, object, key], &query).await
    }

    /// Changes the state of an object.
    ///
    /// # Errors
    /// See [`ClientError`]; refused while an invocation has the turn, or waits for it.
    pub async fn change_object(
        &self,
        [module, object, key]: [&str; 3],
        change: &ChangeState,
    ) -> Result<ObjectView, ClientError> {
        let path = ["v1", "objects", module, object, key];
        self.read(self.request(Method::PATCH, &path).json(change)).await
    }
}
