//! Requests for durable streams.

use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use segno_model::StreamList;
use serde_json::json;

use super::{Client, ClientError};

/// Longest wait of the host for new data.
const LONG_POLL: Duration = Duration::from_secs(20);
const JSON: &str = "application/json";

/// Data of a stream.
#[derive(Debug, Clone, Default)]
pub struct StreamData {
    /// `application/json` for a list of messages. Empty if there is no data.
    pub content_type: String,
    /// The bytes, or a JSON list of the messages.
    pub body: Vec<u8>,
    /// Offset of the next read.
    pub next_offset: String,
    /// True if there is no more data at present.
    pub up_to_date: bool,
    /// True if there will be no more data.
    pub closed: bool,
}

impl Client {
    /// Lists the streams of an invocation.
    pub async fn streams(&self, id: &str) -> Result<StreamList, ClientError> {
        self.get(&["v1", "invocations", id, "streams"], &()).await
    }

    /// Reads a stream of an invocation from an offset; `-1` is its beginning. If `waits` is true,
    /// the answer comes when there is data, or after some seconds without.
    pub async fn stream(
        &self,
        id: &str,
        name: &str,
        offset: &str,
        waits: bool,
    ) -> Result<StreamData, ClientError> {
        self.read_at(&["v1", "stream", id, "stream", name], offset, waits).await
    }

    /// Creates a stream of JSON messages that belongs to no invocation, unless it exists.
    pub async fn create_stream(&self, path: &str) -> Result<(), ClientError> {
        let request = self.request(Method::PUT, &["v1", "stream", path]);
        self.send(request.header(header::CONTENT_TYPE, JSON)).await.map(drop)
    }

    /// Appends to a stream of JSON messages that belongs to no invocation: a message, or a list of
    /// messages.
    pub async fn append_to_stream(&self, path: &str, json: String) -> Result<(), ClientError> {
        let request = self.request(Method::POST, &["v1", "stream", path]).body(json);
        self.send(request.header(header::CONTENT_TYPE, JSON)).await.map(drop)
    }

    /// Reads a stream that belongs to no invocation, as [`stream`](Self::stream).
    pub async fn read_stream(
        &self,
        path: &str,
        offset: &str,
        waits: bool,
    ) -> Result<StreamData, ClientError> {
        self.read_at(&["v1", "stream", path], offset, waits).await
    }

    async fn read_at(
        &self,
        path: &[&str],
        offset: &str,
        waits: bool,
    ) -> Result<StreamData, ClientError> {
        let query = match waits {
            true => json!({ "offset": offset, "live": "long-poll" }),
            false => json!({ "offset": offset }),
        };
        let request = self.request_with(Method::GET, path, &query);
        let response = self.send(self.patient(request, LONG_POLL)).await?;
        let text = |name: &str| {
            let value = response.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let mut data = StreamData {
            content_type: text(header::CONTENT_TYPE.as_str()),
            next_offset: text("stream-next-offset"),
            up_to_date: text("stream-up-to-date") == "true",
            closed: text("stream-closed") == "true",
            body: Vec::new(),
        };
        if response.status() != StatusCode::NO_CONTENT {
            let body = response.bytes().await.map_err(|error| self.broken(error))?;
            data.body = body.to_vec();
        }
        Ok(data)
    }
}
