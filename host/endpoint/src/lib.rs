//! A component as a *deployment* of Restate services: a runtime elsewhere keeps the journal and
//! calls the functions of the component.
//!
//! One request is one attempt, and one attempt uses one instance. The instance replays the journal,
//! issues the commands that follow, and ends when it has to wait. The endpoint stores nothing.
//!
//! In reading order:
//! - [`offer`]: the services of a component, and their manifest;
//! - [`callee`]: the handler that a function's name calls;
//! - [`stream_journal`]: a workflow's commands and events in terms of the protocol;
//! - [`values`]: payloads, outcomes and the protocol's forms of them;
//! - [`attempt`]: bytes in, bytes out, and the instance between them;
//! - [`activity`]: an attempt that performs an activity;
//! - [`http`]: the HTTP server.

mod activity;
mod attempt;
mod callee;
mod http;
mod offer;
mod stream_journal;
mod values;

use std::sync::Arc;

use segno_core::id::Digest;
use segno_env::Env;
use segno_guest::{Failure, Guests, Level, Outbound, Payload};
use segno_restate::version::{ProtocolVersion, VersionRange};
use tokio_util::sync::CancellationToken;

pub use self::{
    attempt::{EndpointAttempt, RequestStream},
    http::{IdentityKeyError, IdentityKeys, PermittedCallers, endpoint_router, serve_endpoint},
    offer::{OfferRefusal, OfferedHandler, ServiceOffer},
};

/// The versions of the protocol that an endpoint speaks.
pub const SPOKEN: VersionRange = VersionRange { min: 5, max: 7 };

/// A component whose functions an external runtime calls.
pub struct Endpoint {
    /// Runs the component.
    pub guests: Arc<dyn Guests>,
    /// Sends the HTTP requests of its functions.
    pub outbound: Arc<dyn Outbound>,
    /// Clock and timers.
    pub env: Env,
    /// The services of the component.
    pub offer: Arc<ServiceOffer>,
    pub digest: Digest,
    /// Cancelled when the process shuts down. Attempts are then suspended when they wait.
    pub draining: CancellationToken,
}

impl Endpoint {
    /// The endpoint of the component with this digest, which `guests` runs.
    pub fn new(
        guests: Arc<dyn Guests>,
        outbound: Arc<dyn Outbound>,
        env: Env,
        offer: ServiceOffer,
        digest: Digest,
    ) -> Self {
        let (offer, draining) = (Arc::new(offer), CancellationToken::new());
        Self { guests, outbound, env, offer, digest, draining }
    }

    /// The failure of an invocation whose input does not match the schema of its function. `None`
    /// if it matches.
    async fn misfit(&self, handler: &OfferedHandler, input: &Payload) -> Option<Failure> {
        // A component that cannot be described cannot be started either.
        let functions = self.guests.describe(self.digest).await.ok()?;
        let function = functions.iter().find(|function| function.name == handler.function)?;
        let target = format!("{}/{}", handler.service, handler.name);
        self.offer.schemas.check_input(self.digest, &target, function, input).err()
    }

    /// Creates an attempt of `handler` in this protocol version (V5 to V7). `input` is the request
    /// body.
    pub fn attempt(
        self: &Arc<Self>,
        handler: &Arc<OfferedHandler>,
        version: ProtocolVersion,
        input: RequestStream,
    ) -> EndpointAttempt {
        EndpointAttempt::new(self.clone(), handler.clone(), version, input)
    }
}

/// Writes a line of a guest's log to the process log. It is not stored anywhere else.
fn log(invocation: &str, function: &str, level: Level, message: &str) {
    match level {
        Level::Trace => tracing::trace!(invocation, function, "{message}"),
        Level::Debug => tracing::debug!(invocation, function, "{message}"),
        Level::Info => tracing::info!(invocation, function, "{message}"),
        Level::Warn => tracing::warn!(invocation, function, "{message}"),
        Level::Error => tracing::error!(invocation, function, "{message}"),
    }
}
