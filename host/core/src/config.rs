//! Settings that decisions depend on, beside the rows and the time.

use crate::{stream::StreamRate, time::Millis, tree::TreeBounds};

/// Settings of the engine. All hosts of one store should use the same values; different values do
/// not endanger safety.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Interval after which an unclaimed task is offered again; greater than zero.
    pub retry_interval: Millis,
    /// Longest interval between offers of an unclaimed task that hosts execute. Such hosts poll for
    /// its row, so offers are only a fallback.
    pub offer_cap: Millis,
    /// Interval between scans for due rows when no hint arrives.
    pub scan_period: Millis,
    /// Lease length: initial, minimum and maximum.
    pub ttl: (Millis, Millis, Millis),
    /// Maximum time that a lease is extended without progress, unless the claim says otherwise.
    pub stall_limit: Option<Millis>,
    /// The same for external workers. Each promise that they create or settle under a claim counts
    /// as progress.
    pub worker_stall_limit: Option<Millis>,
    /// Back-off after a failed attempt: base, factor and cap.
    pub backoff: (Millis, u32, Millis),
    /// Time that a host has to deliver a message before the message is handed out again.
    pub handover: Millis,
    /// Failed attempts without a new record after which the task is given up. `None`: no limit.
    pub attempt_limit: Option<u32>,
    /// Action when a task is given up.
    pub on_exhausted: ExhaustionPolicy,
    /// Consecutive lost claims after which a task is halted.
    pub lost_limit: u32,
    /// Bounds on the size of a tree of executions.
    pub tree: TreeBounds,
    /// Equal traps at one place after which a task is halted.
    pub trap_limit: u32,
    /// Time that a waiting instance stays claimed before its task is suspended.
    pub hot_wait: Millis,
    /// Maximum time that results of `run` closures, and outcomes of calls on the same host, gather
    /// before they are committed, while nothing leaves the host. Zero: each is committed before the
    /// workflow receives it.
    pub run_gather: Millis,
    /// Number of missed occurrences of a schedule that are caught up; older ones are counted and
    /// skipped.
    pub catch_up: u32,
    pub version_rule: VersionRule,
    pub stream: StreamBounds,
    /// True if clients and external workers are held to the strict reading of their protocol: a
    /// timer has no target, and only a promise with a target, a timer or a promise marked as
    /// external may be awaited, within one tree.
    pub resonate_strict: bool,
}

/// Bounds on the size of streams, and on their rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamBounds {
    /// Maximum bytes of one append.
    pub append_bytes: u64,
    /// Maximum bytes of a stream.
    pub stream_bytes: u64,
    /// Maximum rate of each stream. `None`: no limit.
    pub rate: Option<StreamRate>,
}

impl Default for StreamBounds {
    /// 16 MiB and 256 MiB, at any rate.
    fn default() -> Self {
        Self { append_bytes: 16 << 20, stream_bytes: 256 << 20, rate: None }
    }
}

/// Action for a task that failed too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExhaustionPolicy {
    /// Halt it until an operator intervenes.
    Halt,
    /// Reject its promise with the last error.
    Reject,
}

/// Rule that determines when the version of a task rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionRule {
    /// On every acquire, loss and release: a lost claim is stale as soon as it is lost.
    EveryHandover,
    /// Only on acquire.
    AcquireOnly,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            retry_interval: Millis::seconds(5),
            offer_cap: Millis::seconds(3_600),
            scan_period: Millis(500),
            ttl: (Millis::seconds(15), Millis::seconds(3), Millis::seconds(120)),
            stall_limit: Some(Millis::seconds(300)),
            worker_stall_limit: None,
            backoff: (Millis(100), 2, Millis::seconds(60)),
            handover: Millis::seconds(10),
            attempt_limit: None,
            on_exhausted: ExhaustionPolicy::Halt,
            lost_limit: 16,
            tree: TreeBounds::default(),
            trap_limit: 3,
            hot_wait: Millis(200),
            run_gather: Millis(25),
            catch_up: 1_000,
            version_rule: VersionRule::EveryHandover,
            stream: StreamBounds::default(),
            resonate_strict: false,
        }
    }
}
