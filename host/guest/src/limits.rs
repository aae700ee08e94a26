//! The limits of one instance, the same for every instance of a host.

use serde::{Deserialize, Serialize};

/// The limits of an instance, as the host's configuration names them (`limits.…`).
///
/// A guest can observe `memory_bytes` and `table_elements` (growth beyond them returns -1), so they
/// belong to the facts that a replay depends on. The other limits only ever stop a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Linear memory of all memories of the instance together, in bytes.
    pub memory_bytes: u64,
    /// Number of table elements, for all tables of the instance together.
    pub table_elements: u32,
    /// The guest's stack in bytes.
    pub stack_bytes: u32,
    /// CPU time of one call in milliseconds.
    pub cpu_ms: u64,
    /// Maximum size of a payload that a guest hands to the host, in bytes.
    pub output_bytes: usize,
    /// Maximum length of a log line, in bytes; longer lines are cut.
    pub log_line_bytes: usize,
    /// Maximum size of the log of one call, in bytes, standard output and error included; the rest
    /// is dropped. An attempt of an activity is one call.
    pub log_bytes: usize,
    /// Maximum size of a component that can be uploaded, in bytes.
    pub component_bytes: usize,
    /// Maximum number of functions in all modules of a component together.
    pub component_functions: u32,
    /// CPU time for compiling a component, in milliseconds, summed over all processors.
    pub compile_ms: u64,
    /// Maximum size of compiled code on disk, in bytes; the least recently used files are removed.
    pub compiled_bytes: u64,
    /// Number of records after which a waiting workflow is snapshotted; 0 disables snapshots. At
    /// the default, a replay takes about ten milliseconds, and restoring a snapshot one to two.
    pub snapshot_records: u32,
    /// Maximum size of all snapshots on disk, in bytes; the least recently used are removed.
    pub snapshot_bytes: u64,
    /// Maximum number of live instances, including warm ones; further ones wait.
    pub instances: u32,
    /// Maximum number of concurrent calls that compute for longer than some milliseconds. Further
    /// ones are rejected and retried later, so that short calls find places.
    pub computing: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            table_elements: 100_000,
            stack_bytes: 1 << 20,
            cpu_ms: 10_000,
            output_bytes: 8 << 20,
            log_line_bytes: 16 << 10,
            log_bytes: 1 << 20,
            component_bytes: 64 << 20,
            component_functions: 200_000,
            compile_ms: 300_000,
            compiled_bytes: 1 << 30,
            snapshot_records: 10_000,
            snapshot_bytes: 256 << 20,
            instances: 1_000,
            computing: 250,
        }
    }
}
