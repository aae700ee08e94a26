//! Services that run outside and are written for Restate: the host keeps their journals, and calls their deployments.
//!
//! - `deployments`: which deployments are registered, how they are reached, and how ids, values and state are written;
//! - `run`: an invocation under a claim, as attempts at its deployment;
//! - [`front`]: the routes of callers and of operators.

mod deployments;
pub mod front;
mod run;

pub use deployments::{
    AttemptRequest, BY, Change, ConnectError, Connector, Deployment, DeploymentAnswer, Endpoint,
    Exchange, FailedAttempt, FailedCommand, HEADER, HandlerFacts, HandlerKind, HttpConnector,
    IDEMPOTENCY, Incoming, NoConnector, PauseRequest, PauseRequests, RetryPolicy, SPOKEN,
    ServiceRetention, Services, Timeouts, UnknownHandler, Unreadable, frames, identity, ids, kind,
    outcome, signals, state_names,
};
