//! A deployment in this process that does nothing of its own: its one handler does as many steps as it
//! is asked for, on the protocol's machine alone. No guest and no SDK runs, so what is measured is
//! the runtime that calls it.

use std::io;

use axum::{
    Router,
    body::{Body, BodyDataStream, Bytes},
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{get, post},
    serve::ListenerExt as _,
};
use futures::{StreamExt as _, stream};
use segno_restate::{
    Outcome, ProtocolVersion,
    deployment::{Attempt, AttemptError},
    immutable::{Future, NotificationId},
    manifest::ManifestVersion,
};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};

/// The path of its one handler, `Bench/steps`. Its input is the number of steps, and so is its result.
pub const HANDLER: &str = "Bench/steps";

/// A deployment that serves until it is dropped.
pub struct Deployment {
    url: String,
    _serving: JoinSet<io::Result<()>>,
}

impl Deployment {
    /// Serves on a free port.
    ///
    /// # Errors
    /// There is none.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let router = Router::new()
            .route("/discover", get(discover))
            .route(&format!("/invoke/{HANDLER}"), post(invoke));
        // A frame is sent when it is written: without that, the second of two waits for the other side.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let mut serving = JoinSet::new();
        serving.spawn(axum::serve(listener, router).into_future());
        Ok(Self { url, _serving: serving })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }
}

async fn discover(headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let Some(version) = ManifestVersion::choose(accept.unwrap_or_default()) else {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    };
    let (service, handler) = HANDLER.split_once('/').expect("a service and a handler");
    let manifest = json!({
        "protocolMode": "BIDI_STREAM",
        "minProtocolVersion": 5,
        "maxProtocolVersion": 7,
        "services": [{ "name": service, "ty": "SERVICE", "handlers": [{
            "name": handler,
            "input": { "required": true, "contentType": "application/json" },
            "output": { "contentType": "application/json", "setContentTypeIfEmpty": false },
        }] }],
    });
    ([(header::CONTENT_TYPE, version.media_type())], manifest.to_string()).into_response()
}

async fn invoke(request: Request) -> Response {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let version = content_type.and_then(|version| version.to_str().ok()?.parse().ok());
    let version =
        version.filter(|version| (ProtocolVersion::V5..=ProtocolVersion::V7).contains(version));
    let Some(version) = version else {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    };
    let steps = Steps {
        attempt: Attempt::new(version),
        request: request.into_body().into_data_stream(),
        taken: 0,
        awaited: None,
    };
    let frames = stream::unfold(steps, async |mut steps: Steps| {
        let bytes = steps.next().await?;
        Some((Ok::<_, io::Error>(bytes), steps))
    });
    ([(header::CONTENT_TYPE, version.media_type())], Body::from_stream(frames)).into_response()
}

/// One attempt of the handler.
struct Steps {
    attempt: Attempt,
    request: BodyDataStream,
    /// Steps whose outcome is stored.
    taken: u32,
    /// The completion of the step that is not.
    awaited: Option<u32>,
}

impl Steps {
    /// The next bytes to send. None: the attempt is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.attempt.is_ready()
                && let Err(error) = self.go_on()
            {
                self.attempt.fail(error.to_message());
            }
            if self.attempt.has_output() {
                return Some(self.attempt.take_output());
            }
            if self.attempt.is_over() {
                return None;
            }
            // A breach of the protocol is written as an error.
            let _ = match self.request.next().await {
                Some(Ok(bytes)) => self.attempt.receive(&bytes),
                Some(Err(_)) | None => self.attempt.end_of_input(),
            };
        }
    }

    /// Goes on until a step waits to be stored, or all are.
    fn go_on(&mut self) -> Result<(), AttemptError> {
        let input = self.attempt.input().value.clone().unwrap_or_default().content;
        let wanted: u32 = serde_json::from_slice(&input).unwrap_or_default();
        loop {
            if let Some(step) = self.awaited {
                if self.attempt.next_notification()?.is_some() {
                    self.awaited = None;
                    self.taken += 1;
                    continue;
                }
                if self.attempt.input_ended() {
                    self.attempt.suspend(Future::first_of([NotificationId::Completion(step)]))?;
                }
                return Ok(());
            }
            if self.taken == wanted {
                return self.attempt.finish(Outcome::Success(input));
            }
            let step = self.attempt.run("step")?.completion_id;
            self.awaited = Some(step);
            if self.attempt.open_runs().contains(&step) {
                self.attempt.propose_run(step, Outcome::Success(Bytes::from_static(b"1")))?;
            }
        }
    }
}
