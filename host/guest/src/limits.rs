//! The limits of one instance, the same for every instance of a host.

use serde::{Deserialize, Serialize};

/// The limits of an instance, as the host's configuration names them (`limits.…`).
///
/// A guest can observe `memory_bytes` and `table_elements` (growth beyond them answers -1), so they
/// belong to the facts that a replay depends on. The other limits only ever stop a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Linear memory in bytes, for all memories of the instance together.
    pub memory_bytes: u64,
    /// Number of table elements, for all tables of the instance together.
    pub table_elements: u32,
    /// The guest's stack in bytes.
    pub stack_bytes: u32,
    /// CPU time of one call in milliseconds.
    pub cpu_ms: u64,
    /// Maximum size of a payload that a guest hands to the host, in bytes.
    pub output_bytes: usize,
    /// Maximum length of a log line, in bytes; longer ones are cut.
    pub log_line_bytes: usize,
    /// Maximum number of bytes that one call may log, standard output and error included; the rest
    /// is dropped. An attempt of an activity is one call.
    pub log_bytes: usize,
    /// Maximum size of a component that can be uploaded, in bytes.
    pub component_bytes: usize,
    /// Maximum number of functions of a component, for all its modules together.
    pub component_functions: u32,
    /// CPU time for compiling a component in milliseconds, for all processors together.
    pub compile_ms: u64,
    /// Maximum size of compiled code on disk, in bytes; the least recently used is removed.
    pub compiled_bytes: u64,
    /// Number of records after which a snapshot is made of a waiting workflow; 0: none is made. At
    /// the default, a replay takes about ten milliseconds, and restoring a snapshot one to two.
    pub snapshot_records: u32,
    /// Maximum size of all snapshots on disk, in bytes; the least recently used are removed.
    pub snapshot_bytes: u64,
    /// Maximum number of instances alive at once, including warm ones; further ones wait.
    pub instances: u32,
    /// Maximum number of concurrent calls that compute for longer than some milliseconds; further
    /// ones are put off, so that short calls find places.
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
