//! Published events on their way out: what one looks like, which receivers there are, and how they are reached.
//!
//! That an event is owed, and until when, is the core's to decide and the outbox's to keep. Where no route takes an
//! event's topic, it lies in the outbox until somebody reads and acknowledges it over the API.

mod push;
mod receiver;
mod routes;

pub use push::{Push, offer};
pub use routes::{Route, Routes, RoutesError, Secret, fits};
pub use segno_model::{CloudEvent, EventId};
