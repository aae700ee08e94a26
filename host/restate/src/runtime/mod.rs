//! The runtime's side of an attempt: it sends what the journal has, takes what the deployment asks,
//! and sends what happens.
//!
//! One machine a family. Both are driven in the same way:
//!
//! ```text
//! open(version, start, journal)   → bytes to send: Start and the whole journal
//! receive(bytes)                  → actions: store this, suspend, it failed, it ended
//! notify / complete, acknowledge  → bytes to send, when something is stored
//! half_close()                    the request's body ends: whoever waits has to suspend
//! end_of_input()                  the response's body ended
//! ```
//!
//! The machines decide nothing about services, keys or time. They see to it that both sides keep
//! the protocol; a breach is a [`Violation`](crate::Violation), and the attempt is over. What the
//! same piece of input asked before the breach is then not acted on, as if it had never arrived.

pub mod immutable;
pub mod mutable;
