//! Sends and reads the protocol's envelopes and streams like a client.

use anyhow::{Context as _, bail};
use reqwest::{Client, Response};
use segno_resonate::envelope::VERSION;
use serde_json::{Value as Json, json};

/// A connection to a host. Cheap to clone; clones share it.
#[derive(Clone)]
pub(super) struct ResonateConnection {
    http: Client,
    url: String,
}

/// A stream of messages.
pub(super) struct MessageStream {
    response: Response,
    read: Vec<u8>,
}

impl ResonateConnection {
    /// Creates a connection without sending anything.
    pub(super) fn new(url: &str) -> anyhow::Result<Self> {
        let http = segno_env::http_client(segno_env::Proxies::None).tcp_nodelay(true).build()?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned() })
    }

    /// Performs an operation that must succeed. Returns true if its status was 300, and the data.
    pub(super) async fn done(&self, kind: &str, data: Json) -> anyhow::Result<(bool, Json)> {
        match self.ask(kind, data).await? {
            (200, data) => Ok((false, data)),
            (300, data) => Ok((true, data)),
            (status, data) => bail!("{kind} was answered {status}: {data}"),
        }
    }

    /// Performs an operation. Returns the status and the data of the answer.
    pub(super) async fn ask(&self, kind: &str, data: Json) -> anyhow::Result<(u16, Json)> {
        let head = json!({ "corrId": "b", "version": VERSION });
        let envelope = json!({ "kind": kind, "head": head, "data": data });
        let response = self.http.post(&self.url).json(&envelope).send().await?;
        let status = response.status().as_u16();
        let mut answer: Json = response.json().await?;
        Ok((status, answer["data"].take()))
    }

    /// Opens the message stream of a worker. `None` if the host refuses or is gone.
    pub(super) async fn listen(&self, group: &str, worker: &str) -> anyhow::Result<MessageStream> {
        let response = self.http.get(format!("{}/poll/{group}/{worker}", self.url)).send().await?;
        let mut messages =
            MessageStream { response: response.error_for_status()?, read: Vec::new() };
        // The greeting shows that the host has registered the stream.
        messages.frame().await?;
        Ok(messages)
    }
}

impl MessageStream {
    /// Waits for the next message.
    pub(super) async fn next(&mut self) -> anyhow::Result<Json> {
        loop {
            let frame = self.frame().await?;
            if let Some(message) = frame.strip_prefix(b"data: ") {
                return serde_json::from_slice(message).context("a message is no JSON");
            }
        }
    }

    async fn frame(&mut self) -> anyhow::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\n\n") {
                let rest = self.read.split_off(end + 2);
                let mut frame = std::mem::replace(&mut self.read, rest);
                frame.truncate(end);
                return Ok(frame);
            }
            let chunk = self.response.chunk().await?.context("the host closed the stream")?;
            self.read.extend_from_slice(&chunk);
        }
    }
}
