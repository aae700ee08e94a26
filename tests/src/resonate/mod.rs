//! Released Resonate clients in other languages, as separate processes.
//!
//! - `packages`: their installation, or why it is not possible;
//! - `language`: workers and clients of a language.

mod language;
mod packages;

pub use language::{Language, Worker, answer};
pub use packages::schemathesis;
