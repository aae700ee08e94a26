//! Requests for bundles.

use std::time::Duration;

use reqwest::{Method, Response};
use segno_model::BundleQuery;

use super::{Client, ClientError};

/// Timeout of a bundle request: exporting all unfinished executions takes a while.
const PATIENCE: Duration = Duration::from_secs(600);

/// A bundle in transfer.
pub struct BundleDownload {
    client: Client,
    response: Response,
}

impl Client {
    /// Requests a bundle of an invocation.
    pub async fn bundle(
        &self,
        id: &str,
        query: &BundleQuery,
    ) -> Result<BundleDownload, ClientError> {
        self.download(&["v1", "invocations", id, "bundle"], query).await
    }

    /// Requests a bundle of all unfinished executions of a module.
    pub async fn bundle_in_flight(
        &self,
        module: &str,
        query: &BundleQuery,
    ) -> Result<BundleDownload, ClientError> {
        self.download(&["v1", "modules", module, "bundle"], query).await
    }

    async fn download(
        &self,
        path: &[&str],
        query: &BundleQuery,
    ) -> Result<BundleDownload, ClientError> {
        let request = self.request_with(Method::GET, path, query);
        let response = self.send(self.patient(request, PATIENCE)).await?;
        Ok(BundleDownload { client: self.clone(), response })
    }
}

impl BundleDownload {
    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    /// The host closed the connection early: the bytes received so far are incomplete.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let chunk = self.response.chunk().await.map_err(|error| self.client.broken(error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}
