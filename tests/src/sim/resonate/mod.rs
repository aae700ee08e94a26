//! Workers and clients of the Resonate protocol in the simulation: they speak envelopes to the real front ends of the
//! simulated hosts, as released clients do, over a network that loses, doubles and delays whatever they say.
//!
//! - `door`: a host's front end, and those that are open;
//! - `caller`: somebody who asks, and whose questions and answers may get lost;
//! - `inbox`: somebody's stream of messages, opened again whenever it breaks;
//! - `worker`: a process that takes tasks, dies, falls silent or goes on too late;
//! - `claimed`: a task in its hands; `flow`: the functions it can run;
//! - `errand`, `client`: what clients want, and how they insist on it.

mod caller;
mod claimed;
mod client;
mod door;
mod errand;
mod flow;
mod inbox;
mod worker;

pub use client::Client;
pub use door::{Door, Doors};
pub use errand::Errand;
pub use flow::FUNCTIONS;
pub use worker::Worker;
