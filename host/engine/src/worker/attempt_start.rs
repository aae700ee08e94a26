//! The start of an attempt of an activity.

use std::sync::{Arc, OnceLock};

use segno_core::{budget::SpentBudget, promise::Promise, time::Millis};
use segno_guest::Failure;
use tokio_util::sync::CancellationToken;

use crate::{claim::ClaimSession, values};

/// The start of an attempt, which may have to wait for a free instance.
#[derive(Clone)]
pub(super) struct AttemptStart {
    pub(super) session: Arc<ClaimSession>,
    /// True if the number of attempts is limited, so that each must be counted exactly.
    is_bounded: bool,
    /// True if the attempt draws on a budget.
    is_charged: bool,
    begun: CancellationToken,
    /// The budget that has nothing left, and a token that is cancelled when it is known.
    spent: Arc<OnceLock<SpentBudget>>,
    stopped: CancellationToken,
}

impl AttemptStart {
    pub(super) fn new(session: Arc<ClaimSession>, promise: &Promise, is_bounded: bool) -> Self {
        let is_charged = promise.is_charged();
        if is_charged {
            session.active.expect_charge();
        }
        Self {
            session,
            is_bounded,
            is_charged,
            begun: CancellationToken::new(),
            spent: Arc::default(),
            stopped: CancellationToken::new(),
        }
    }

    /// Records that the attempt begins. If it must not begin, this never completes, and the attempt
    /// is dropped.
    pub(super) async fn happen(&self) {
        let begun = match self.is_charged {
            true => self.session.charge_attempt().await.map(|spent| {
                if let Some(spent) = spent {
                    let _ = self.spent.set(spent);
                }
            }),
            false => self.session.begin_attempt(self.is_bounded).await,
        };
        match begun {
            Ok(()) if self.spent.get().is_none() => self.begun.cancel(),
            Ok(()) => {
                self.stopped.cancel();
                std::future::pending().await
            }
            Err(error) => {
                tracing::warn!(?error, "an attempt does not begin: its claim is lost");
                self.session.active.abort.cancel();
                std::future::pending().await
            }
        }
    }

    /// Completes if a budget has nothing left, with the failure of the call.
    pub(super) async fn refused(&self) -> Failure {
        self.stopped.cancelled().await;
        match self.spent.get() {
            Some(spent) => values::budget_spent(spent),
            None => std::future::pending().await,
        }
    }

    /// Completes when the attempt has begun and its time limit has passed.
    pub(super) async fn passed(&self, limit: Option<Millis>) -> Millis {
        let Some(limit) = limit else { return std::future::pending().await };
        self.begun.cancelled().await;
        self.session.host().env.runtime.sleep(limit).await;
        limit
    }
}
