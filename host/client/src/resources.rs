//! Requests about resources.

use reqwest::Method;
use segno_model::{ResourceView, TakeResource, WriteResource};
use serde_json::Value;

use super::{Client, ClientError};

impl Client {
    /// Reads a resource and its last lease.
    pub async fn resource(&self, name: &str) -> Result<ResourceView, ClientError> {
        self.get(&["v1", "resources", name], &()).await
    }

    /// Leases a resource.
    /// The host refuses while another holder has the lease.
    pub async fn lease(
        &self,
        name: &str,
        holder: &str,
        ttl_ms: u64,
    ) -> Result<ResourceView, ClientError> {
        let body = TakeResource { holder: holder.to_owned(), ttl_ms };
        self.post(&["v1", "resources", name, "lease"], &body).await
    }

    /// Writes a resource with a fencing token.
    /// The host refuses if a larger token has written the resource.
    pub async fn put(
        &self,
        name: &str,
        value: Value,
        token: u64,
    ) -> Result<ResourceView, ClientError> {
        let body = WriteResource { value, token };
        self.read(self.request(Method::PUT, &["v1", "resources", name]).json(&body)).await
    }
}
