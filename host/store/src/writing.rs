//! Whether writes are committed at present, as the last one tells, or a small one that is made to
//! find out.

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

/// The time for which a commit is taken as proof that writes are committed.
const TELLS: Duration = Duration::from_secs(5);
/// The time for which a refusal is believed, so that a caller in a loop writes no more often than
/// this.
const REFUSED: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Writing {
    clock: Arc<dyn Clock>,
    last: Mutex<Last>,
    /// The log says that writes are refused: once, until one is committed.
    said: AtomicBool,
    /// One asks at a time: the others hear what it found.
    asking: tokio::sync::Mutex<()>,
}

/// How the last write went, and when.
#[derive(Debug, Clone, Default)]
enum Last {
    #[default]
    Unknown,
    Committed(Duration),
    Refused(Duration, String),
}

impl Writing {
    /// Nothing is known.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            last: Mutex::default(),
            said: AtomicBool::new(false),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// Something was committed.
    pub(super) fn committed(&self) {
        *self.last() = Last::Committed(self.clock.elapsed());
        if self.said.swap(false, Ordering::Relaxed) {
            tracing::info!("writes are committed again");
        }
    }

    /// Something was not committed, by the fault of what it is kept in: whether the next one is has
    /// to be found out.
    pub(super) fn failed(&self, reason: &dyn Display) {
        self.say(reason);
        let mut last = self.last();
        if matches!(*last, Last::Committed(_)) {
            *last = Last::Unknown;
        }
    }

    /// Whether writes are committed. `write` is a small one, made where the last does not tell.
    pub(super) async fn check(
        &self,
        write: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        if let Last::Committed(_) = self.told() {
            return Ok(());
        }
        let _alone = self.asking.lock().await;
        match self.told() {
            Last::Committed(_) => return Ok(()),
            Last::Refused(_, reason) => return Err(StoreError::Unavailable { reason }),
            Last::Unknown => {}
        }
        let written = write.await;
        let reason = match &written {
            Ok(()) => {
                self.committed();
                return written;
            }
            // The sentence is the same for every caller.
            Err(StoreError::Unavailable { reason }) => reason.clone(),
            Err(other) => other.to_string(),
        };
        self.say(&reason);
        *self.last() = Last::Refused(self.clock.elapsed(), reason);
        written
    }

    fn say(&self, reason: &dyn Display) {
        if !self.said.swap(true, Ordering::Relaxed) {
            tracing::error!(%reason, "writes are refused; it is tried again and again");
        }
    }

    /// What the last one still tells.
    fn told(&self) -> Last {
        let now = self.clock.elapsed();
        match &*self.last() {
            Last::Committed(at) if now.saturating_sub(*at) >= TELLS => Last::Unknown,
            Last::Refused(at, _) if now.saturating_sub(*at) >= REFUSED => Last::Unknown,
            last => last.clone(),
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
