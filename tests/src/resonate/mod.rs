//! Released Resonate clients in other languages, as processes of their own.
//!
//! - `packages`: how they come to this machine, or why they cannot;
//! - `language`: workers and clients of a language.

mod language;
mod packages;

pub use language::{Language, Worker, answer};
pub use packages::schemathesis;
