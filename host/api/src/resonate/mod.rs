//! The Resonate protocol: released Resonate clients work against a host as it is.
//!
//! `POST /` takes every operation in an envelope, `GET /poll/{group}/{id}` is a worker's stream of messages, and workers
//! with an HTTP address have messages posted to them. Nothing is decided here: an operation is read, sent to the store
//! as a command of the engine, and its reply is written in the protocol's words.
//!
//! - [`envelope`], [`refused`], [`values`], [`records`], [`address`], `reading`: the words on the wire;
//! - [`front`]: what the operations share, and which is which;
//! - `promises`, `tasks`, `fence`, `schedules`, `search`, `debug`: the operations, a file a family;
//! - `preload`: what a worker is told of a tree when it takes a task;
//! - [`streams`], `poll`, `push`, `deliver`: messages on their way to workers;
//! - `auth`, `router`: who may ask, and where.

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
mod poll;
mod preload;
mod promises;
mod push;
mod router;
mod schedules;
mod search;
mod tasks;

pub use handler::Resonate;
pub use settings::Settings;

#[cfg(test)]
mod tests;
