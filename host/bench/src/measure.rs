//! Measures wall time, CPU time and memory.

use std::{fs, time::Instant};

use anyhow::Context as _;
use rustix::time::{ClockId, clock_gettime};

/// A stopwatch for wall and CPU time, running from its creation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu_us: f64,
}

/// A measured duration, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredTime {
    pub wall_us: f64,
    /// CPU time of this process, summed over all processors.
    pub cpu_us: f64,
}

impl Stopwatch {
    /// Starts a measurement.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures the machine itself")]
    pub(crate) fn start() -> Self {
        Self { cpu_us: cpu_us(), wall: Instant::now() }
    }

    /// The time since the start.
    pub(crate) fn passed(&self) -> MeasuredTime {
        MeasuredTime { wall_us: self.wall_us(), cpu_us: cpu_us() - self.cpu_us }
    }

    /// Wall time in microseconds; cheaper to read than CPU time.
    pub(crate) fn wall_us(&self) -> f64 {
        self.wall.elapsed().as_secs_f64() * 1e6
    }
}

impl MeasuredTime {
    /// Events per second, for `count` events.
    pub fn rate(&self, count: u32) -> f64 {
        f64::from(count) * 1e6 / self.wall_us
    }

    /// Wall time per event, for `count` events, in microseconds.
    pub fn each_us(&self, count: u32) -> f64 {
        self.wall_us / f64::from(count)
    }

    /// CPU time per event, for `count` events, in microseconds.
    pub fn cpu_each_us(&self, count: u32) -> f64 {
        self.cpu_us / f64::from(count)
    }
}

fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Resident memory of a process, in MB.
///
/// # Errors
/// Fails if the system has no `/proc`, or if the process has ended.
pub(crate) fn resident_mb(pid: u32) -> anyhow::Result<f64> {
    Ok(number(&format!("/proc/{pid}/status"), "VmRSS:")? * 1024.0 / 1e6)
}

/// Resident memory of a process that is its own, in MB: without pages of files, which others share.
///
/// # Errors
/// Fails if the system has no `/proc`, or if the process has ended.
pub(crate) fn own_mb(pid: u32) -> anyhow::Result<f64> {
    Ok(number(&format!("/proc/{pid}/status"), "RssAnon:")? * 1024.0 / 1e6)
}

/// Peak resident memory of a process since its start or [`forget_peak`], in MB.
///
/// # Errors
/// Fails if the system has no `/proc`, or if the process has ended.
pub(crate) fn peak_mb(pid: u32) -> anyhow::Result<f64> {
    Ok(number(&format!("/proc/{pid}/status"), "VmHWM:")? * 1024.0 / 1e6)
}

/// Resets the peak memory of this process.
///
/// # Errors
/// Fails if the system has no `/proc`, or does not permit it.
pub(crate) fn forget_peak() -> anyhow::Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("cannot write `/proc/self/clear_refs`")
}

/// Bytes that this process has written to disks; whole pages and repeated writes count.
///
/// # Errors
/// Fails if the system has no `/proc`.
pub(crate) fn written_bytes() -> anyhow::Result<f64> {
    number("/proc/self/io", "write_bytes:")
}

/// The number in the line of a file that begins with `name`.
fn number(path: &str, name: &str) -> anyhow::Result<f64> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{path}`"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .with_context(|| format!("`{path}` says nothing of `{name}`"))
}

/// CPU time of a process so far, in microseconds, with a resolution of 10 ms.
///
/// # Errors
/// Fails if the system has no `/proc`, or if the process has ended.
pub(crate) fn cpu_of_us(pid: u32) -> anyhow::Result<f64> {
    cpu_in_us(&format!("/proc/{pid}/stat"))
}

/// Like [`cpu_of_us`], for the threads of a process with this name.
///
/// # Errors
/// Fails if the system has no `/proc`, or if the process has ended.
pub(crate) fn cpu_of_threads_us(pid: u32, name: &str) -> anyhow::Result<f64> {
    let path = format!("/proc/{pid}/task");
    let threads = fs::read_dir(&path).with_context(|| format!("cannot read `{path}`"))?;
    let mut all = 0.0;
    for thread in threads {
        let thread = thread?.path();
        // A thread may have ended in the meantime.
        if fs::read_to_string(thread.join("comm")).is_ok_and(|called| called.trim_end() == name) {
            all += cpu_in_us(&thread.join("stat").to_string_lossy()).unwrap_or(0.0);
        }
    }
    Ok(all)
}

fn cpu_in_us(path: &str) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(path).with_context(|| format!("cannot read `{path}`"))?;
    // The process name in parentheses may contain spaces; user and system time are the 12th and
    // 13th field after it.
    let ticks = stat.rsplit_once(')').map(|(_, rest)| {
        rest.split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|ticks| ticks.parse::<f64>().ok())
            .sum::<f64>()
    });
    Ok(ticks.with_context(|| format!("`{path}` cannot be understood"))? * 10_000.0)
}
