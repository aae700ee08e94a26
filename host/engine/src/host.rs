//! The parts of a running host, as the API, the worker and the recovery driver share them.

use std::sync::Arc;

use segno_core::{command::Command, config::Config, reply::Reply, time::Millis};

use crate::notifier::CommitNotifier;
use segno_env::Env;
use segno_guest::{Guests, Outbound};
use segno_store::{Store, StoreError};

/// Cheap to clone: everything is shared.
#[derive(Clone)]
pub struct Host {
    /// Time and tasks.
    pub env: Env,
    /// The engine's settings.
    pub config: Arc<Config>,
    /// Everything that matters.
    pub store: Arc<dyn Store>,
    /// Everything that can be run.
    pub guests: Arc<dyn Guests>,
    /// The way out for HTTP.
    pub outbound: Arc<dyn Outbound>,
    /// Hints of commits.
    pub notifier: Arc<CommitNotifier>,
}

/// How often a command with an unknown outcome is sent again before its lease is left to run out.
const RESEND_ATTEMPTS: u32 = 20;

/// How often somebody who is waited for sends a command again.
const ATTEMPTS: u32 = 3;

impl Host {
    /// Commits one command for somebody who waits for the answer. Lost races and unknown outcomes are sent again at
    /// once, a few times.
    ///
    /// # Errors
    /// [`StoreError`]: nothing was written, or it is still unknown.
    pub async fn attempt(&self, command: Command) -> Result<Reply, StoreError> {
        let mut attempt = 1;
        loop {
            match self.store.execute(vec![command.clone()]).await {
                Ok(mut replies) => {
                    return replies.pop().ok_or_else(|| StoreError::Unavailable {
                        reason: "the store did not answer a command".to_owned(),
                    });
                }
                // All commands absorb their repetition; signals do by the key that they always get.
                Err(StoreError::Conflict | StoreError::UnknownOutcome(_)) if attempt < ATTEMPTS => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Commits `commands` together. Lost races and unknown outcomes are sent again: every command absorbs its own
    /// repetition.
    ///
    /// # Errors
    /// [`StoreError`]: nothing was written, or it is still unknown after many attempts.
    pub async fn insist(&self, commands: &Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        let mut wait = Millis(10);
        for _ in 1..RESEND_ATTEMPTS {
            match self.store.execute_kept(commands.clone()).await {
                Err(
                    StoreError::Conflict | StoreError::UnknownOutcome(_) | StoreError::Away { .. },
                ) => {
                    self.env.runtime.sleep(wait).await;
                    wait = Millis((wait.0 * 2).min(1_000));
                }
                answer => return answer,
            }
        }
        self.store.execute_kept(commands.clone()).await
    }
}
