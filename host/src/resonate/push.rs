//! Messages to workers with an HTTP address. A target that hangs keeps a few connections busy and nobody waiting.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use reqwest::{Client, Url, header, redirect::Policy};
use segno_core::time::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{client::provide_tls, runtime::Surroundings};

/// Messages under way to one server.
const AT_ONCE: usize = 16;
/// Messages under way to all of them.
const IN_ALL: usize = 256;
/// Servers that are remembered.
const SERVERS: usize = 1_024;
/// A server must answer within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// Waits between attempts.
const PAUSES: [Millis; 3] = [Millis(100), Millis(500), Millis(2_000)];

/// Posts messages. Cheap to clone.
#[derive(Clone)]
pub(super) struct Push {
    surroundings: Surroundings,
    http: Client,
    in_all: Arc<Semaphore>,
    servers: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
}

impl Push {
    pub(super) fn new(surroundings: Surroundings) -> Result<Self, reqwest::Error> {
        provide_tls();
        let http = Client::builder()
            .redirect(Policy::none())
            .timeout(PATIENCE)
            .user_agent(concat!("segno/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let in_all = Arc::new(Semaphore::new(IN_ALL));
        Ok(Self { surroundings, http, in_all, servers: Arc::default() })
    }

    /// Posts a message and does not wait for what comes of it; tries a few times.
    pub(super) fn insist(&self, url: String, message: Bytes) {
        let push = self.clone();
        let posting = async move {
            for pause in PAUSES {
                if push.once(&url, message.clone()).await {
                    return;
                }
                push.surroundings.runtime.sleep(pause).await;
            }
            tracing::debug!(url, "a worker did not take a task; it is offered again later");
        };
        self.surroundings.runtime.spawn("push", Box::pin(posting));
    }

    /// Posts a message once. Whether it was taken; a server that has too many already is not asked.
    pub(super) async fn once(&self, url: &str, message: Bytes) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        let Some(_room) = self.room(&url) else { return false };
        let request = self.http.post(url.clone()).header(header::CONTENT_TYPE, "application/json");
        match request.body(message).send().await {
            Ok(response) if response.status().is_success() => true,
            Ok(response) => {
                tracing::debug!(%url, status = %response.status(), "a worker refused a message");
                false
            }
            Err(error) => {
                tracing::debug!(%url, %error, "a worker could not be reached");
                false
            }
        }
    }

    fn room(&self, url: &Url) -> Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let server = url.authority().to_owned();
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.len() >= SERVERS && !servers.contains_key(&server) {
            servers.retain(|_, room| room.available_permits() < AT_ONCE);
        }
        let room = servers.entry(server).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE)));
        let of_server = room.clone().try_acquire_owned().ok()?;
        Some((of_server, self.in_all.clone().try_acquire_owned().ok()?))
    }
}
