//! External services that are written for Restate: the host keeps their journals and calls their
//! deployments.
//!
//! - `deployments`: the registered deployments, the connections to them, and the encoding of ids,
//!   values and state;
//! - `run`: runs an invocation under a claim, by attempts at its deployment;
//! - [`front`]: the routes for callers and operators.

mod deployments;
pub mod front;
mod run;

pub use deployments::{
    AttemptRequest, BY, ConnectError, Connector, Deployment, DeploymentAddress, DeploymentAnswer,
    Exchange, FailedAttempt, FailedCommand, HEADER, HandlerConcurrency, HandlerFacts,
    HandlerRetryPolicy, HttpConnector, IDEMPOTENCY, NoConnector, PauseRequest, PauseRequests,
    ResponseStream, SPOKEN, ServiceChange, ServiceRetention, Services, Timeouts, UnknownHandler,
    UnreadableDeployment, frames, identity, ids, kind, outcome, signals, state_names,
};
