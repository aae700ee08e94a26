//! The Resonate protocol: released Resonate clients work with a host unchanged.
//!
//! `POST /` accepts every operation in an envelope, `GET /poll/{group}/{id}` is a worker's stream
//! of messages, and messages are posted to workers with an HTTP address. The front end decides
//! nothing: it parses an operation, sends it to the store as a command of the engine, and writes
//! the reply in the protocol's form.
//!
//! - [`envelope`], [`protocol_error`], [`values`], [`wire`], [`address`], `json`: the wire format;
//! - [`handler`], `operations`: shared state, and dispatch;
//! - `promises`, `tasks`, `fence`, `schedules`, `search`, `debug`: the operations, one file for
//!   each family;
//! - `preload`: the recorded steps that a worker receives with a task;
//! - [`streams`], `poll`, `push`, `deliver`: delivery of messages to workers;
//! - [`settings`], `router`: the operator's settings, and the routes with their guards.

pub mod address;
pub mod envelope;
pub mod handler;
pub mod protocol_error;
pub mod settings;
pub mod streams;
pub mod values;
pub mod wire;

mod debug;
mod deliver;
mod fence;
mod json;
mod operations;
mod poll;
mod preload;
mod promises;
mod push;
mod router;
mod schedules;
mod search;
mod tasks;

pub use handler::Resonate;
pub use settings::ResonateSettings;

#[cfg(test)]
mod tests;
