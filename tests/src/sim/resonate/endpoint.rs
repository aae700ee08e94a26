//! The front end of a host, and the front ends of all hosts that are up.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::{Body, BodyDataStream, to_bytes},
    http::{Request, StatusCode, header},
};
use futures::StreamExt as _;
use segno_core::time::Millis;
use segno_engine::host::Host;
use segno_resonate::{Resonate, ResonateSettings};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::super::dice::Dice;
use crate::front::api_of;

/// Front end of one incarnation of a host.
#[derive(Clone)]
pub(crate) struct Endpoint {
    router: Router,
    /// Cancelled when the host is stopped gracefully.
    stopping: CancellationToken,
    /// Cancelled when the incarnation is gone.
    gone: CancellationToken,
}

impl Endpoint {
    /// Creates a front end for `host`, which delivers its messages from now on. Departed workers
    /// keep their claims for `grace`.
    pub(crate) fn of(host: &Host, grace: Option<Millis>) -> Self {
        let api = api_of(host);
        let settings = ResonateSettings { grace, ..ResonateSettings::new("http://localhost:7766") };
        let front = Resonate::start(&api, settings).expect("nothing is posted here");
        let (stopping, gone) = (api.stopping.clone(), CancellationToken::new());
        Self { router: front.router(), stopping, gone }
    }

    /// Ends its streams as a host does on a graceful stop.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }

    /// Answer to an envelope. `None` if the host is gone before the answer arrives.
    pub(crate) async fn ask(&self, envelope: String) -> Option<(u16, Json)> {
        let request = Request::post("/").header(header::HOST, "localhost:7766");
        let request = request.body(Body::from(envelope)).expect("a request");
        let answering = async {
            let response = self.router.clone().oneshot(request).await.expect("it always answers");
            let status = response.status().as_u16();
            let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
            (status, serde_json::from_slice(&body).expect("answers are JSON"))
        };
        tokio::select! {
            biased;
            () = self.gone.cancelled() => None,
            answer = answering => Some(answer),
        }
    }

    /// Opens the message stream of a worker. `None` if the host refuses or is gone.
    pub(crate) async fn listen(&self, group: &str, id: &str) -> Option<Messages> {
        let request = Request::get(format!("/poll/{group}/{id}"));
        let request = request.header(header::HOST, "localhost:7766").body(Body::empty());
        let request = request.expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("it always answers");
        let open = response.status() == StatusCode::OK && !self.gone.is_cancelled();
        open.then(|| Messages {
            frames: response.into_body().into_data_stream(),
            gone: self.gone.clone(),
        })
    }
}

/// Message stream of a worker.
pub(crate) struct Messages {
    frames: BodyDataStream,
    gone: CancellationToken,
}

impl Messages {
    /// Next message. `None` if the stream has broken.
    pub(crate) async fn next(&mut self) -> Option<Json> {
        loop {
            let frame = tokio::select! {
                biased;
                () = self.gone.cancelled() => None,
                frame = self.frames.next() => frame,
            };
            let frame = frame?.ok()?;
            if let Some(message) = frame.strip_prefix(b"data: ") {
                return Some(serde_json::from_slice(message).expect("messages are JSON"));
            }
        }
    }
}

/// Endpoints of the hosts that are up.
#[derive(Default)]
pub(crate) struct Endpoints(Mutex<BTreeMap<u64, Endpoint>>);

impl Endpoints {
    /// Adds the endpoint of an incarnation.
    pub(crate) fn add(&self, life: u64, endpoint: Endpoint) {
        self.endpoints().insert(life, endpoint);
    }

    /// Removes the endpoint of an incarnation, and ends its streams.
    pub(crate) fn remove(&self, life: u64) {
        if let Some(endpoint) = self.endpoints().remove(&life) {
            endpoint.gone.cancel();
        }
    }

    /// A random endpoint. `None` if no host is up.
    pub(crate) fn any(&self, dice: &mut Dice) -> Option<Endpoint> {
        let endpoints: Vec<Endpoint> = self.endpoints().values().cloned().collect();
        (!endpoints.is_empty()).then(|| dice.pick(&endpoints))
    }

    fn endpoints(&self) -> MutexGuard<'_, BTreeMap<u64, Endpoint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
