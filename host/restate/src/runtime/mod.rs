//! The runtime's side of an attempt: sends the journal, receives the deployment's commands, and
//! sends new events.
//!
//! There is one state machine for each family. Both share `attempt` and its interface:
//!
//! ```text
//! open(version, start, journal)   → bytes to send: Start and the whole journal
//! receive(bytes)                  → actions: append, suspend, failed, ended
//! notify / complete, acknowledge  → bytes to send, when something is stored
//! half_close()                    the request's body ends: a waiting deployment has to suspend
//! end_of_input()                  the response's body has ended
//! ```
//!
//! The machines know nothing about services, keys or time. They check that both sides keep the
//! protocol; after a [`ProtocolViolation`](crate::ProtocolViolation) the attempt is over. Actions from the same
//! piece of input before the violation are discarded, as if the input had never arrived.

mod attempt;
pub mod immutable;
pub mod mutable;
