//! A minimal deployment in this process: its only handler performs the requested number of steps,
//! using the protocol's state machine alone. No guest and no SDK runs, so the measurement covers
//! only the calling runtime.

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
    OperationOutcome, ProtocolVersion,
    deployment::{AttemptError, DeploymentAttempt},
    immutable::{Future, NotificationId},
    manifest::ManifestVersion,
};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};

/// The path of the handler, `Bench/steps`. Its input and its result are the number of steps.
pub(super) const HANDLER: &str = "Bench/steps";

/// A deployment that serves until it is dropped.
pub(super) struct BenchDeployment {
    url: String,
    _serving: JoinSet<io::Result<()>>,
}

impl BenchDeployment {
    /// Serves on a free loopback port.
    ///
    /// # Errors
    /// Fails if there is none.
    pub(super) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let router = Router::new()
            .route("/discover", get(discover))
            .route(&format!("/invoke/{HANDLER}"), post(invoke));
        // Without TCP_NODELAY, the second of two frames would wait for an acknowledgement of the
        // first.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let mut serving = JoinSet::new();
        serving.spawn(axum::serve(listener, router).into_future());
        Ok(Self { url, _serving: serving })
    }

    pub(super) fn url(&self) -> &str {
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
    let steps = HandlerAttempt {
        attempt: DeploymentAttempt::new(version),
        request: request.into_body().into_data_stream(),
        taken: 0,
        awaited: None,
    };
    let frames = stream::unfold(steps, async |mut steps: HandlerAttempt| {
        let bytes = steps.next().await?;
        Some((Ok::<_, io::Error>(bytes), steps))
    });
    ([(header::CONTENT_TYPE, version.media_type())], Body::from_stream(frames)).into_response()
}

/// One attempt of the handler.
struct HandlerAttempt {
    attempt: DeploymentAttempt,
    request: BodyDataStream,
    /// Number of steps whose outcome is stored.
    taken: u32,
    /// The completion of the step that is not stored yet.
    awaited: Option<u32>,
}

impl HandlerAttempt {
    /// The next bytes to send. `None` if the attempt is over.
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
            // A protocol violation is reported through an error message.
            let _ = match self.request.next().await {
                Some(Ok(bytes)) => self.attempt.receive(&bytes),
                Some(Err(_)) | None => self.attempt.end_of_input(),
            };
        }
    }

    /// Continues until a step waits to be stored, or until all steps are done.
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
                return self.attempt.finish(OperationOutcome::Success(input));
            }
            let step = self.attempt.run("step")?.completion_id;
            self.awaited = Some(step);
            if self.attempt.open_runs().contains(&step) {
                self.attempt
                    .propose_run(step, OperationOutcome::Success(Bytes::from_static(b"1")))?;
            }
        }
    }
}
