//! Workers and clients of the Resonate protocol in the simulation. They exchange envelopes with the
//! real front ends of the simulated hosts, as released clients do, over a network that loses,
//! duplicates and delays their messages.
//!
//! - `endpoint`: the front end of a host, and the front ends of all hosts that are up;
//! - `caller`: a client whose requests and answers may be lost;
//! - `inbox`: a message stream that is reopened whenever it breaks;
//! - `worker`: a process that acquires tasks, dies, falls silent or continues too late;
//! - `claimed`: a task that a worker has claimed; `flow`: the functions of workers;
//! - `errand`, `client`: operations of clients, and their retries.

mod caller;
mod claimed;
mod client;
mod endpoint;
mod errand;
mod flow;
mod inbox;
mod worker;

pub(super) use client::Client;
pub(super) use endpoint::{Endpoint, Endpoints};
pub use errand::Errand;
pub(super) use flow::FUNCTIONS;
pub(super) use worker::Worker;
