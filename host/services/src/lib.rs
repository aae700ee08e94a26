//! Services that run outside and are written for Restate: the host keeps their journals, and calls their deployments.
//!
//! - `deployments`: which deployments are registered, how they are reached, and how ids, values and state are written;
//! - `run`: an invocation under a claim, as attempts at its deployment;
//! - [`front`]: the routes of callers and of operators.

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
