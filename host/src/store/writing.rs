//! Whether writes are committed at present, as the last one tells, or a small one that is made to find out.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::StoreError;
use crate::runtime::Clock;

/// A commit tells for so long that the next one will be there too.
const TELLS: Duration = Duration::from_secs(5);
/// A refusal tells for so long, so that whoever asks in a loop writes no more than this.
const REFUSED: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Writing {
    clock: Arc<dyn Clock>,
    last: Mutex<Last>,
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
        Self { clock, last: Mutex::default(), asking: tokio::sync::Mutex::default() }
    }

    /// Something was committed.
    pub(super) fn committed(&self) {
        *self.last() = Last::Committed(self.clock.elapsed());
    }

    /// Something was not committed, by the fault of what it is kept in: whether the next one is has to be found out.
    pub(super) fn failed(&self) {
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
        let now = self.clock.elapsed();
        *self.last() = match &written {
            Ok(()) => Last::Committed(now),
            // The sentence is the same whoever asks.
            Err(StoreError::Unavailable { reason }) => Last::Refused(now, reason.clone()),
            Err(other) => Last::Refused(now, other.to_string()),
        };
        written
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
