//! The front end for services written for Restate: clients call services, operators register them.
//!
//! It has two listeners, as Restate's clients and tools expect: the *ingress* accepts calls,
//! attaches to results and completes awakeables; the *admin* API registers deployments, lists
//! services, and stops, pauses and resumes invocations. The front end decides nothing: a call is a
//! promise with a target, like any other.
//!
//! - [`path`]: the segments of a path;
//! - [`settings`], [`api`]: settings of both listeners, and the state that their handlers share;
//! - [`error`]: errors in the format of each listener;
//! - [`request`]: bodies and parameters;
//! - [`ingress`]: calls, results, awakeables, promises;
//! - [`openapi`]: OpenAPI documents of services, for client generators;
//! - [`admin`]: deployments, services, invocations, state.

mod admin;
mod api;
mod error;
mod guard;
mod ingress;
mod openapi;
mod path;
mod request;
mod settings;

pub use admin::router as admin_router;
pub use api::ServicesApi;
pub use ingress::router as ingress_router;
pub use settings::RestateSettings;

use ingress::{new_id, parse_delay as delay_of};

#[cfg(test)]
mod tests;
