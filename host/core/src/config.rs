//! The numbers a decision depends on, beside the rows and the time.

use crate::{time::Millis, tree::TreeBounds};

/// The engine's settings. All hosts of one store should agree on them; nothing unsafe follows when
/// they do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// When an unclaimed task is offered again; more than zero.
    pub retry_interval: Millis,
    /// The longest wait until an unclaimed task of this kind of host is offered again; its row is
    /// what hosts look for.
    pub offer_cap: Millis,
    /// How often due rows are looked for when no hint arrives.
    pub scan_period: Millis,
    /// A lease's length: at first, least and most.
    pub ttl: (Millis, Millis, Millis),
    /// How long a lease may be extended without progress, when the claim does not say.
    pub stall_limit: Option<Millis>,
    /// The same for external workers, which make progress with each promise that they create or
    /// settle under a claim.
    pub worker_stall_limit: Option<Millis>,
    /// Base, factor and cap of the wait after a failed attempt.
    pub backoff: (Millis, u32, Millis),
    /// How long a message that was handed over is left to the host that has it, before it is handed
    /// over again.
    pub handover: Millis,
    /// Failed attempts without a new record before giving up; none: no limit.
    pub attempt_limit: Option<u32>,
    /// What giving up means.
    pub on_exhausted: Exhausted,
    /// Claims lost in a row after which a task is halted.
    pub lost_limit: u32,
    /// What a tree of executions may come to.
    pub tree: TreeBounds,
    /// Equal traps at one place after which a task is halted.
    pub trap_limit: u32,
    /// How long a waiting instance stays claimed before its task is suspended.
    pub hot_wait: Millis,
    /// How many missed occurrences of a schedule are made up for; older ones are counted and
    /// skipped.
    pub catch_up: u32,
    /// When versions rise.
    pub version_rule: VersionRule,
    /// Whether clients and external workers are held to the narrow reading of their protocol: a
    /// timer has no target, and only what a party is to settle is waited for, in one tree.
    pub resonate_strict: bool,
}

/// What happens to a task that failed too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// It is halted for a person.
    Halt,
    /// Its promise is rejected with the last error.
    Reject,
}

/// When a task's version rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionRule {
    /// When a claim is taken, lost or given back: a lost claim is stale from the moment it is lost.
    EveryHandover,
    /// Only when a claim is taken.
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
            on_exhausted: Exhausted::Halt,
            lost_limit: 16,
            tree: TreeBounds::default(),
            trap_limit: 3,
            hot_wait: Millis(200),
            catch_up: 1_000,
            version_rule: VersionRule::EveryHandover,
            resonate_strict: false,
        }
    }
}
