//! The native HTTP API: JSON under `/v1`, errors as problem documents, and an OpenAPI document.
//!
//! Handlers read the store and send commands to it; the engine decides. The wire types are in
//! [`model`].

pub use segno_model as model;

mod access;
mod admission;
mod behind;
mod body;
mod connection;
mod connections;
mod error;
mod openapi;
mod problem_kind;
mod refusals;
mod routes;
mod server;
mod state;
mod stuck;
mod target;

mod blobs;
mod budgets;
mod bundle;
mod catalog;
mod check;
mod console;
mod control;
mod docs;
mod dry_run;
mod events;
mod fork;
mod graphs;
mod handlers;
mod health;
mod index;
mod inspector;
mod invocations;
mod journal;
mod limits;
mod local;
mod messages;
mod metrics;
mod migrate;
mod misfits;
mod modules;
mod new_invocation;
mod object_promises;
mod objects;
mod origins;
mod page;
mod promises;
mod queries;
mod reads;
mod remove;
mod replay;
mod rerun;
mod resources;
mod restart;
mod sagas;
mod schedules;
mod served;
mod session;
mod shadow;
mod start;
mod stream;
mod streams;
mod tasks;
mod tree;
mod updates;
mod values;
mod view;
mod wait;
mod why;

pub use access::{AccessControl, AccessError, ClientRights, KeyError, TokenVerifier};
pub use admission::{Admission, AdmissionLimits};
pub use connection::EndsWithClient;
pub use error::ApiError;
pub use inspector::{ComponentInspector, ComponentRefusal};
pub use local::LocalApi;
pub use origins::AllowedOrigins;
pub use reads::{PermittedRead, ReadPermits};
pub use routes::document;
pub use routes::router;
pub use server::{serve, serve_beside, serve_metrics};
pub use state::{Api, ApiState, CONNECTIONS, CONNECTIONS_OF_A_PEER};

/// Functions and types that the front ends of other protocols use too.
pub mod shared {
    pub use super::{
        admission::place, catalog::CatalogEntry, journal::owner, objects::held, remove::advice,
        restart::RESTART_OF, state::unexpected,
    };

    /// Views of promises and tasks.
    pub mod view {
        pub use crate::view::{caller, failure, labels, retry_at};
    }

    /// Waiting for the end of an invocation.
    pub mod wait {
        pub use crate::wait::settled;
    }
}

#[doc(hidden)]
pub mod testing;

#[cfg(test)]
pub(crate) mod tests;
