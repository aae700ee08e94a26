//! Outgoing messages: channels, and the list of this host's channels.
//!
//! The core decides which messages are owed and when, and the outbox stores them. A duty of the
//! recovery driver delivers them. A channel only carries a message and reports the result. Channels
//! are added to the list before the host starts, or at any time later.

pub mod backoff;
mod channel;
mod channels;

pub use channel::{Channel, DeliveryResult};
pub use channels::Channels;
pub use segno_env::{Private, Reach};
