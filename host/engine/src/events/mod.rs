//! Published events on their way to receivers: their format, the routes, and the posts.
//!
//! The core decides which events are owed and until when, and the outbox stores them. An event
//! whose topic matches no route stays in the outbox until a client reads and acknowledges it over
//! the API.

mod push;
mod receiver;
mod routes;

pub use push::{EventChannel, offer};
pub use routes::{Route, Routes, RoutesError, SigningSecret, fits};
pub use segno_model::{CloudEvent, EventId};
