//! The parts of a running host, as the API, the worker and the recovery driver share them.

use std::sync::Arc;

use segno_core::{command::Command, config::Config, reply::Reply, time::Millis};

use crate::{
    guest::{Guests, Outbound},
    hub::Hub,
    runtime::Surroundings,
    store::{Store, StoreError},
};

/// Cheap to clone: everything is shared.
#[derive(Clone)]
pub struct Host {
    /// Time and tasks.
    pub surroundings: Surroundings,
    /// The engine's settings.
    pub config: Arc<Config>,
    /// Everything that matters.
    pub store: Arc<dyn Store>,
    /// Everything that can be run.
    pub guests: Arc<dyn Guests>,
    /// The way out for HTTP.
    pub outbound: Arc<dyn Outbound>,
    /// Hints of commits.
    pub hub: Arc<Hub>,
}

/// How often a command with an unknown outcome is sent again before its lease is left to run out.
const RESEND_ATTEMPTS: u32 = 20;

impl Host {
    /// Commits `commands` together. Lost races and unknown outcomes are sent again: every command absorbs its own
    /// repetition.
    ///
    /// # Errors
    /// [`StoreError`]: nothing was written, or it is still unknown after many attempts.
    pub async fn insist(&self, commands: &[Command]) -> Result<Vec<Reply>, StoreError> {
        let mut wait = Millis(10);
        for _ in 1..RESEND_ATTEMPTS {
            match self.store.execute(commands.to_vec()).await {
                Err(
                    StoreError::Conflict | StoreError::UnknownOutcome(_) | StoreError::Away { .. },
                ) => {
                    self.surroundings.runtime.sleep(wait).await;
                    wait = Millis((wait.0 * 2).min(1_000));
                }
                answer => return answer,
            }
        }
        self.store.execute(commands.to_vec()).await
    }
}
