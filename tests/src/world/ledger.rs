//! The outside world as a ledger: a payment service that charges once per idempotency key.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use segno_guest::{Failure, HttpRequest, HttpResponse, Outbound, Payload};
use serde_json::{Value as Json, json};

/// Accepted requests, by key, with the number of their repetitions.
#[derive(Default)]
pub struct Ledger(Mutex<BTreeMap<String, Line>>);

/// One accepted request.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Path: `/charges` or `/refunds`.
    pub path: String,
    /// Body of the request.
    pub body: Json,
    /// Number of requests with this key.
    pub requests: u32,
}

impl Ledger {
    /// All accepted requests, by key.
    pub fn lines(&self) -> BTreeMap<String, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Accepted requests without their numbers of repetitions. They must not depend on crashes.
    pub fn accepted(&self) -> Vec<(String, String, Json)> {
        self.lines().into_iter().map(|(key, line)| (key, line.path, line.body)).collect()
    }
}

#[async_trait]
impl Outbound for Ledger {
    async fn send(&self, _module: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        let header = |name: &str| {
            request
                .headers
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.clone())
        };
        let key = header("idempotency-key").expect("every durable request has a key");
        let path =
            request.url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap_or_default();
        let body = match &request.body {
            Some(Payload::Json(text)) => serde_json::from_str(text).expect("the body is JSON"),
            _ => Json::Null,
        };
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.entry(key.clone()).or_insert_with(|| Line { path, body, requests: 0 });
        line.requests += 1;
        let answer = json!({ "charge": key, "refund": key, "accepted": true });
        Ok(HttpResponse { status: 200, headers: Vec::new(), body: answer.to_string().into_bytes() })
    }

    fn allows(&self, _module: &str, _url: &str) -> Result<(), Failure> {
        Ok(())
    }
}
