//! The limit of open files of the process: every connection takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of files reserved for the store, modules, logs, and outgoing requests.
const BESIDE: u64 = 1_024;

/// Raises the limit for this number of connections, as far as the machine allows.
pub(super) fn allow(connections: usize) {
    let wanted = connections as u64 + BESIDE;
    let limit = getrlimit(Resource::Nofile);
    let Some(now) = limit.current.filter(|now| *now < wanted) else { return };
    let most = limit.maximum.unwrap_or(wanted).min(wanted);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit });
    let reached = if raised.is_ok() { most } else { now };
    if reached < wanted {
        tracing::warn!(
            open_files = reached,
            wanted,
            "this process may not have as many open files as connections are allowed: raise `ulimit -n`, or lower --streams"
        );
    }
}
