//! Requests about published events.

use std::time::Duration;

use reqwest::Method;
use segno_model::{AcknowledgeEvents, Acknowledged, EventPage, EventQuery};

use super::{Client, ClientError};

impl Client {
    /// Reads unacknowledged events.
    pub async fn events(&self, query: &EventQuery) -> Result<EventPage, ClientError> {
        let wait = Duration::from_millis(query.wait_ms.unwrap_or(0));
        let request = self.request_with(Method::GET, &["v1", "events"], query);
        self.read(self.patient(request, wait)).await
    }

    /// Acknowledges events: later reads omit them.
    pub async fn acknowledge(&self, ids: Vec<String>) -> Result<Acknowledged, ClientError> {
        self.post(&["v1", "events", "ack"], &AcknowledgeEvents { ids }).await
    }
}
