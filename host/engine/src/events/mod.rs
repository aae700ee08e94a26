//! Published events on their way to receivers: their format, the routes, and the posts.
//!
//! The core decides that an event is owed, and until when, and the outbox keeps it. An event whose
//! topic no route takes lies in the outbox until a client reads and acknowledges it over the API.

mod push;
mod receiver;
mod routes;

pub use push::{Push, offer};
pub use routes::{Route, Routes, RoutesError, Secret, fits};
pub use segno_model::{CloudEvent, EventId};
