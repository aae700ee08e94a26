//! The API from the other side: what the command line, the demo and the tests speak to a host with.

mod error;
mod events;
mod http;
mod invocations;
mod modules;
mod promises;
mod resources;
mod schedules;
mod tasks;

pub use error::ClientError;
pub use http::Client;
