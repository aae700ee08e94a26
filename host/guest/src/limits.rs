//! What one instance may use. The same for every instance of a host.

use serde::{Deserialize, Serialize};

/// The limits of an instance, as the host's configuration names them (`limits.…`).
///
/// `memory_bytes` and `table_elements` can be seen by a guest (growth beyond them answers -1), so they belong to the
/// facts that a replay depends on. The others only ever stop a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Linear memory in bytes, all memories of the instance together.
    pub memory_bytes: u64,
    /// Table elements, all tables of the instance together.
    pub table_elements: u32,
    /// The guest's stack in bytes.
    pub stack_bytes: u32,
    /// CPU time of one call in milliseconds.
    pub cpu_ms: u64,
    /// The largest payload that a guest may hand to the host, in bytes.
    pub output_bytes: usize,
    /// Longer log lines are cut.
    pub log_line_bytes: usize,
    /// What one call may log in bytes, standard output and error included; what is beyond is dropped. An attempt of an
    /// activity is one call.
    pub log_bytes: usize,
    /// The largest component that can be uploaded, in bytes.
    pub component_bytes: usize,
    /// Functions of a component, all its modules together.
    pub component_functions: u32,
    /// CPU time for compiling a component in milliseconds, all processors together.
    pub compile_ms: u64,
    /// Compiled code on disk in bytes; what was used longest ago goes.
    pub compiled_bytes: u64,
    /// Instances alive at once, waiting warm ones included; more wait for room.
    pub instances: u32,
    /// Calls at once that compute for longer than some milliseconds; more are put off. The others find room meanwhile.
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
            instances: 1_000,
            computing: 250,
        }
    }
}
