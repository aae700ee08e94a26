//! Workers and clients of the Resonate protocol in the simulation: they speak envelopes to the real
//! front ends of the simulated hosts, as released clients do, over a network that loses, duplicates
//! and delays their messages.
//!
//! - `endpoint`: a host's front end, and those of the hosts that are up;
//! - `caller`: a client whose requests and answers may get lost;
//! - `inbox`: a stream of messages, opened again whenever it breaks;
//! - `worker`: a process that acquires tasks, dies, falls silent or continues too late;
//! - `claimed`: a task held by a worker; `flow`: the functions of workers;
//! - `errand`, `client`: operations of clients, and their retries.

mod caller;
mod claimed;
mod client;
mod endpoint;
mod errand;
mod flow;
mod inbox;
mod worker;

pub use client::Client;
pub use endpoint::{Endpoint, Endpoints};
pub use errand::Errand;
pub use flow::FUNCTIONS;
pub use worker::Worker;
