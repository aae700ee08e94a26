//! The anonymous memory of hosts in a run without faults. It may grow while caches fill, must then
//! stay level, and must be released when clients are gone.

use segno_core::time::Millis;

/// Tenth of a run, from 1, after which memory is checked against a bound, because a host is warm by
/// then.
const WARM: usize = 3;
/// Maximum growth of memory after the warm-up, in MiB. In a run of a few minutes some caches fill
/// further.
const GROWTH_MIB: u64 = 64;
/// Time without clients before an idle host is measured. A store releases memory after 10 s at most,
/// and the threads return it up to 20 s later.
pub const IDLE: Millis = Millis::seconds(45);
/// Maximum memory of an idle host, in MiB.
const IDLE_MIB: u64 = 60;

/// Memory of the largest host, in MiB.
#[derive(Debug, Default)]
pub struct Memory {
    /// Samples after each tenth of the run.
    pub tenths: Vec<u64>,
    /// Memory of the idle host. `None` if it was not measured.
    pub idle: Option<u64>,
}

impl Memory {
    /// Violations of the bounds.
    pub fn findings(&self) -> Vec<String> {
        let grown = self.tenths.get(WARM - 1).zip(self.tenths.last());
        let grown = grown.filter(|(warm, last)| **last > *warm + GROWTH_MIB).map(|(warm, last)| {
            format!("memory grew from {warm} to {last} MiB, by more than {GROWTH_MIB} MiB")
        });
        let idle = self
            .idle
            .filter(|idle| *idle > IDLE_MIB)
            .map(|idle| format!("an idle host takes {idle} MiB, and may take {IDLE_MIB} MiB"));
        grown.into_iter().chain(idle).collect()
    }
}

/// Resident anonymous memory of a process, in MiB. 0 if the process is gone. Mapped files are left
/// out, because the system decides how much of a program of hundreds of megabytes is resident.
pub fn anonymous_mib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()).and_then(|kib| kib.parse().ok());
    kib.map_or(0, |kib: u64| kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_on_and_memory_that_stays_are_findings() {
        for (tenths, idle, findings) in [
            (vec![], None, 0),
            (vec![40, 100, 150, 200, 210, 210, 210, 210, 210, 214], Some(30), 0),
            (vec![40, 100, 150, 200, 210, 210, 210, 210, 210, 215], Some(30), 1),
            (vec![40, 100, 150, 200, 210, 210, 210, 210, 210, 210], Some(61), 1),
        ] {
            let memory = Memory { tenths, idle };
            assert_eq!(memory.findings().len(), findings, "{memory:?}");
        }
    }
}
