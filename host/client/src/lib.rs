//! The client of the API, for the command line, the demo and the tests.

mod error;
mod events;
mod graphs;
mod http;
mod invocations;
mod limits;
mod modules;
mod objects;
mod promises;
mod resources;
mod schedules;
mod tasks;

pub use error::ClientError;
pub use http::Client;
