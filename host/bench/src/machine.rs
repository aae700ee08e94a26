//! Determines the conditions of a measurement.

use std::fs;

use rustix::fs::statfs;

use super::{context::BenchContext, report::Conditions};

/// The current conditions.
pub(crate) fn conditions(context: &BenchContext) -> Conditions {
    let cpu = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("model name"))?;
        Some(line.trim_start_matches([' ', '\t', ':']).to_owned())
    });
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    Conditions {
        version: env!("CARGO_PKG_VERSION"),
        optimised: !cfg!(debug_assertions),
        quick: context.quick,
        repetitions: context.repetitions,
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        cpu,
        kernel: kernel.map(|text| text.trim().to_owned()),
        filesystem: filesystem(context),
        load_before: load(),
        load_after: None,
    }
}

/// Number of runnable processes, averaged over a minute.
pub(crate) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

fn filesystem(context: &BenchContext) -> String {
    let name = match statfs(context.folder.path()).map(|about| about.f_type) {
        Ok(0xEF53) => "ext".to_owned(),
        Ok(0x5846_5342) => "xfs".to_owned(),
        Ok(0x9123_683E) => "btrfs".to_owned(),
        Ok(0x794C_7630) => "overlay".to_owned(),
        Ok(0x0102_1994) => {
            "tmpfs, which is memory: commits cost nothing, choose another with --dir".to_owned()
        }
        Ok(other) => format!("number {other:#x}"),
        Err(_) => "unknown".to_owned(),
    };
    format!("{name} ({})", context.folder.path().display())
}
