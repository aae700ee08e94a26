//! The front end for services that are written for Restate: clients call them, operators register them.
//!
//! Two listeners of their own, because that is how clients and tools know them: the *ingress* takes calls, attaches
//! to results and completes awakeables; the *admin* side registers deployments, lists services, and stops, pauses
//! and resumes invocations. Nothing is decided here: a call is a promise with a target, as from anywhere else.
//!
//! - [`path`]: the segments of a path;
//! - [`settings`], [`api`]: settings of both sides, and what their handlers share;
//! - [`error`]: refusals in the form of either side;
//! - [`ingress`]: calls, results, awakeables, promises;
//! - [`openapi`]: services, as tools that make clients read them;
//! - [`admin`]: deployments, services, invocations, state.

mod admin;
mod api;
mod error;
mod guard;
mod ingress;
mod openapi;
mod path;
mod settings;

pub use admin::router as admin_router;
pub use api::Api;
pub use ingress::router as ingress_router;
pub use settings::RestateSettings;

use ingress::{new_id, parse_delay as delay_of};

#[cfg(test)]
mod tests;
