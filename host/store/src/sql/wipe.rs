//! Forgetting everything but modules, aliases and hosts: for debugging, where it lies behind a
//! flag.

/// In this order: rows before those they refer to, and tasks before the facts of sagas, which stay
/// as long as these.
pub(crate) const WIPE: [&str; 12] = [
    "DELETE FROM callbacks",
    "DELETE FROM listeners",
    "DELETE FROM outbox",
    "DELETE FROM journal",
    "DELETE FROM logs",
    "DELETE FROM signal_keys",
    "DELETE FROM tasks",
    "DELETE FROM compensations",
    "DELETE FROM promises",
    "DELETE FROM schedules",
    "DELETE FROM resources",
    "DELETE FROM resource_leases",
];
