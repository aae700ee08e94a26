//! Released Resonate clients in other languages, as separate processes.
//!
//! - `packages`: their installation, or the reason why it is impossible;
//! - `language`: workers and clients in one language.

mod language;
mod packages;

pub use language::{Language, Worker, answer};
pub use packages::schemathesis;
