//! How messages leave: channels, and the list of those this host has.
//!
//! What is owed, and when, is decided by the core and kept in the outbox; a duty of the recovery driver hands it over.
//! A channel only carries, and says what came of it. Channels are added to the notifier's list before the host starts, or
//! at any time later.

pub mod backoff;
mod channel;
mod channels;
mod reach;

pub use channel::{Channel, Delivered};
pub use channels::Channels;
pub use reach::{Private, Reach};
