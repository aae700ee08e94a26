//! Tracks if writes currently succeed, judged by the last write, or by a small probe write.

use std::{
    fmt::Display,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use segno_env::Clock;

use super::StoreError;

/// Time for which a commit proves that writes succeed.
const TELLS: Duration = Duration::from_secs(5);
/// Time for which a refusal is reused, so that a caller in a loop probes at most once per period.
const REFUSED: Duration = Duration::from_secs(1);

/// Tracks if writes succeed; see the module documentation.
pub(super) struct WriteHealth {
    clock: Arc<dyn Clock>,
    last: Mutex<LastWrite>,
    /// True once the log reports that writes are refused; reset by the next commit. Keeps the
    /// message from repeating.
    said: AtomicBool,
    /// Serialises probes: waiting callers reuse the result of the running one.
    asking: tokio::sync::Mutex<()>,
}

/// Result and time of the last write.
#[derive(Debug, Clone, Default)]
enum LastWrite {
    #[default]
    Unknown,
    Committed(Duration),
    Refused(Duration, String),
}

impl WriteHealth {
    /// Starts with an unknown state.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            last: Mutex::default(),
            said: AtomicBool::new(false),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// Records a successful commit.
    pub(super) fn committed(&self) {
        *self.last() = LastWrite::Committed(self.clock.elapsed());
        if self.said.swap(false, Ordering::Relaxed) {
            tracing::info!("writes are committed again");
        }
    }

    /// Records a commit that failed through the fault of the storage. The next check has to probe.
    pub(super) fn failed(&self, reason: &dyn Display) {
        self.say(reason);
        let mut last = self.last();
        if matches!(*last, LastWrite::Committed(_)) {
            *last = LastWrite::Unknown;
        }
    }

    /// Checks that writes succeed. `write` is a small probe, used only if the last write is no
    /// longer conclusive.
    pub(super) async fn check(
        &self,
        write: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        if let LastWrite::Committed(_) = self.told() {
            return Ok(());
        }
        let _alone = self.asking.lock().await;
        match self.told() {
            LastWrite::Committed(_) => return Ok(()),
            LastWrite::Refused(_, reason) => return Err(StoreError::Unavailable { reason }),
            LastWrite::Unknown => {}
        }
        let written = write.await;
        let reason = match &written {
            Ok(()) => {
                self.committed();
                return written;
            }
            // All callers get the same message.
            Err(StoreError::Unavailable { reason }) => reason.clone(),
            Err(other) => other.to_string(),
        };
        self.say(&reason);
        *self.last() = LastWrite::Refused(self.clock.elapsed(), reason);
        written
    }

    fn say(&self, reason: &dyn Display) {
        if !self.said.swap(true, Ordering::Relaxed) {
            tracing::error!(%reason, "writes are refused; it is tried again and again");
        }
    }

    /// The result of the last write while it is still conclusive, else `Unknown`.
    fn told(&self) -> LastWrite {
        let now = self.clock.elapsed();
        match &*self.last() {
            LastWrite::Committed(at) if now.saturating_sub(*at) >= TELLS => LastWrite::Unknown,
            LastWrite::Refused(at, _) if now.saturating_sub(*at) >= REFUSED => LastWrite::Unknown,
            last => last.clone(),
        }
    }

    fn last(&self) -> MutexGuard<'_, LastWrite> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
