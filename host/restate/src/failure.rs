//! Codes of failures: HTTP status codes, and a few codes of the protocol.

/// The attempt failed for a reason without a specific code.
pub const INTERNAL: u16 = 500;
/// The invocation was cancelled or killed, or another invocation did the same work before.
pub const CONFLICT: u16 = 409;
/// The handler diverged from the journal.
pub const JOURNAL_MISMATCH: u16 = 570;
/// A frame is not allowed at its position, or has invalid content.
pub const PROTOCOL_VIOLATION: u16 = 571;
/// The handler waits for two results concurrently where only one is allowed.
pub const AWAITING_TWO_RESULTS: u16 = 572;
/// The version in use lacks a feature.
pub const UNSUPPORTED_FEATURE: u16 = 573;
/// An operation on an attempt that has ended. Used within the deployment only, never sent.
pub const CLOSED: u16 = 598;
/// An operation on a suspended attempt. Used within the deployment only, never sent.
pub const SUSPENDED: u16 = 599;
