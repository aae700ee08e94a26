//! Faults at chosen commits.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use futures::FutureExt as _;
use segno_core::time::Millis;
use segno_store::StoreError;
use tokio::sync::Notify;

use super::{gated_store::unknown_outcome, runtime::sleep};

/// Fault of a host at a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// The host dies before the commit: nothing was written.
    CrashBefore,
    /// The host dies after the commit: everything was written, but the host does not learn the
    /// outcome.
    CrashAfter,
    /// The commit succeeded, and its outcome is reported as unknown.
    UnknownButDone,
    /// The commit failed, and its outcome is reported as unknown.
    UnknownAndLost,
}

impl CommitFault {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::CrashBefore, Self::CrashAfter, Self::UnknownButDone, Self::UnknownAndLost];

    /// Performs a commit with this fault: `write` writes it, and `die` ends the host, which then
    /// never gets an answer. Returns the error that the host gets.
    pub async fn perform<T>(
        self,
        write: impl Future<Output = Result<T, StoreError>>,
        die: impl FnOnce(),
    ) -> StoreError {
        if matches!(self, Self::CrashAfter | Self::UnknownButDone)
            && let Err(error) = write.await
        {
            return error;
        }
        if matches!(self, Self::CrashBefore | Self::CrashAfter) {
            die();
            std::future::pending::<()>().await;
        }
        unknown_outcome()
    }
}

/// Counts the commits of all incarnations, and fails at the planned ones.
#[derive(Default)]
pub struct PlannedFaults {
    /// Faults that have not occurred yet, by the number of their commit.
    planned: Mutex<Vec<(u64, CommitFault)>>,
    commits: AtomicU64,
    /// Notified when the host must die.
    pub crash: Notify,
    occurred: AtomicBool,
}

impl PlannedFaults {
    /// Fails at commit `number`, counted from 0.
    pub fn at(number: u64, fault: CommitFault) -> Self {
        [(number, fault)].into_iter().collect()
    }

    /// Plans a fault at the commit after `skipped` others.
    pub fn after(&self, skipped: u64, fault: CommitFault) {
        let number = self.commits() + skipped;
        self.planned().push((number, fault));
    }

    /// Removes all faults that have not occurred yet.
    pub fn clear(&self) {
        self.planned().clear();
    }

    /// Counts a commit, and returns its fault.
    pub fn next_commit(&self) -> Option<CommitFault> {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let mut planned = self.planned();
        let index = planned.iter().position(|(at, _)| *at == number)?;
        self.occurred.store(true, Ordering::Relaxed);
        Some(planned.remove(index).1)
    }

    /// Number of commits so far.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// True if a planned fault has not occurred yet.
    pub fn is_pending(&self) -> bool {
        !self.planned().is_empty()
    }

    /// True if a fault has occurred.
    pub fn injected(&self) -> bool {
        self.occurred.load(Ordering::Relaxed)
    }

    /// True if a host must have died since the last call.
    pub fn has_crashed(&self) -> bool {
        self.crash.notified().now_or_never().is_some()
    }

    /// Waits for `length`, or until a host must die. Returns true in that case.
    pub async fn crash_within(&self, length: Millis) -> bool {
        tokio::select! {
            biased;
            () = self.crash.notified() => true,
            () = sleep(length) => false,
        }
    }

    fn planned(&self) -> MutexGuard<'_, Vec<(u64, CommitFault)>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FromIterator<(u64, CommitFault)> for PlannedFaults {
    fn from_iter<I: IntoIterator<Item = (u64, CommitFault)>>(planned: I) -> Self {
        Self { planned: Mutex::new(planned.into_iter().collect()), ..Self::default() }
    }
}
