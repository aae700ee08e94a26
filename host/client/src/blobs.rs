//! Requests for blobs.

use std::{io, time::Duration};

use futures::Stream;
use reqwest::{Body, Method, Response, header};
use segno_model::{BlobList, BlobView};

use super::{Client, ClientError};

/// Timeout of a transfer.
const PATIENCE: Duration = Duration::from_secs(6 * 60 * 60);

/// A blob in transfer.
pub struct BlobDownload {
    client: Client,
    response: Response,
}

impl Client {
    /// Stores a blob of an invocation, which need not exist yet. `length` is the number of bytes, if
    /// it is known.
    pub async fn upload_blob(
        &self,
        id: &str,
        content_type: &str,
        length: Option<u64>,
        pieces: impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static,
    ) -> Result<BlobView, ClientError> {
        let mut request = self
            .request(Method::POST, &["v1", "invocations", id, "blobs"])
            .header(header::CONTENT_TYPE, content_type)
            .body(Body::wrap_stream(pieces));
        if let Some(length) = length {
            request = request.header(header::CONTENT_LENGTH, length);
        }
        self.read(self.patient(request, PATIENCE)).await
    }

    /// Lists the blobs of an invocation.
    pub async fn blobs(&self, id: &str) -> Result<BlobList, ClientError> {
        self.get(&["v1", "invocations", id, "blobs"], &()).await
    }

    /// Requests a blob of an invocation, or a range of it such as `0-1023`.
    pub async fn download_blob(
        &self,
        id: &str,
        digest: &str,
        range: Option<&str>,
    ) -> Result<BlobDownload, ClientError> {
        let mut request = self.request(Method::GET, &["v1", "invocations", id, "blobs", digest]);
        if let Some(range) = range {
            request = request.header(header::RANGE, format!("bytes={range}"));
        }
        let response = self.send(self.patient(request, PATIENCE)).await?;
        Ok(BlobDownload { client: self.clone(), response })
    }

    /// Removes a blob of an invocation.
    pub async fn remove_blob(&self, id: &str, digest: &str) -> Result<(), ClientError> {
        let path = ["v1", "invocations", id, "blobs", digest];
        self.send(self.request(Method::DELETE, &path)).await.map(drop)
    }
}

impl BlobDownload {
    /// Content type of the blob.
    pub fn content_type(&self) -> &str {
        let value = self.response.headers().get(header::CONTENT_TYPE);
        value.and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Number of bytes to come. `None` if the host does not say.
    pub fn length(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// True if a range was asked for and the host sends that range.
    pub fn is_part(&self) -> bool {
        self.response.status() == reqwest::StatusCode::PARTIAL_CONTENT
    }

    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    /// The host closed the connection early: the bytes received so far are incomplete, or the blob
    /// is damaged.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let chunk = self.response.chunk().await.map_err(|error| self.client.broken(error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}
