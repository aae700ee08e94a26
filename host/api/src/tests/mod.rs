//! The API over the in-memory store: every route, every refusal. No worker runs, so the tests
//! settle promises themselves.

mod access;
mod blobs;
mod bodies;
mod budgets;
mod console;
mod document;
mod events;
mod graphs;
mod invocations;
mod limits;
mod messages;
mod metrics;
mod modules;
mod overload;
mod promises;
mod replaying;
mod reruns;
mod resources;
mod routes;
mod runs;
mod sagas;
mod schedules;
mod serving;
mod sessions;
mod starting;
mod stream;
mod tasks;
mod tree;
mod unreadable;
mod waiting;

pub(crate) use crate::testing::{ApiWorld, signed};
