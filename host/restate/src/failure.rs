//! Codes of failures: those of HTTP, and a few of the protocol's own.

/// The attempt failed for a reason without a code of its own.
pub const INTERNAL: u16 = 500;
/// The invocation was cancelled or killed, or what it did was done by another before.
pub const CONFLICT: u16 = 409;
/// The handler did something else than the journal says.
pub const JOURNAL_MISMATCH: u16 = 570;
/// A frame that must not come there, or with that content.
pub const PROTOCOL_VIOLATION: u16 = 571;
/// A handler that waits for two results at once where only one may be waited for.
pub const AWAITING_TWO_RESULTS: u16 = 572;
/// A feature that the version in use does not have.
pub const UNSUPPORTED_FEATURE: u16 = 573;
/// A call of an invocation that has ended already. Stays in the deployment.
pub const CLOSED: u16 = 598;
/// A call of an invocation that is suspended. Stays in the deployment.
pub const SUSPENDED: u16 = 599;
