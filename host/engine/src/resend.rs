//! The rules for sending a command to the store again. Every command is idempotent, so the same
//! command can be sent once more if its outcome is unknown.

use std::sync::Arc;

use segno_core::{command::Command, reply::Reply, time::Millis};
use segno_env::Runtime;
use segno_store::{Store, StoreError};

/// The number of attempts, and the back-off between them.
#[derive(Debug, Clone, Copy)]
pub struct ResendPolicy {
    /// Maximum number of attempts.
    attempts: u32,
    /// The pause before the second attempt. It doubles, up to one second.
    pause: Millis,
    /// Decides if commands are sent again after this error.
    again: fn(&StoreError) -> bool,
}

/// For clients, who wait for the reply: a few attempts without a pause.
pub const FOR_CLIENTS: ResendPolicy =
    ResendPolicy { attempts: 3, pause: Millis::ZERO, again: is_unclear };

/// For executions, whose claims last longer than an outage of the store.
pub const UNDER_CLAIMS: ResendPolicy =
    ResendPolicy { attempts: 20, pause: Millis(10), again: is_unclear_or_away };

/// For commands of several executions. If a database is away, they are sent separately.
pub const OF_SEVERAL: ResendPolicy =
    ResendPolicy { attempts: 20, pause: Millis(10), again: is_unclear };

/// For the results of deliveries: a message whose result is not stored is delivered again.
pub const OF_DELIVERIES: ResendPolicy =
    ResendPolicy { attempts: 3, pause: Millis(100), again: is_open };

/// For heartbeats: one more attempt without a pause. After that, the next beat follows soon.
pub const OF_HEARTBEATS: ResendPolicy =
    ResendPolicy { attempts: 2, pause: Millis::ZERO, again: is_open };

/// Commands that were committed.
#[derive(Debug)]
pub struct SentCommands {
    /// The replies, one per command.
    pub replies: Vec<Reply>,
    /// True if the commands were sent only once. A command that reports no change then found the
    /// rows that way, and did not repeat itself.
    pub at_first: bool,
}

/// A lost race, or a commit whose outcome is unknown.
fn is_unclear(error: &StoreError) -> bool {
    matches!(error, StoreError::Conflict | StoreError::UnknownOutcome(_))
}

fn is_unclear_or_away(error: &StoreError) -> bool {
    is_unclear(error) || matches!(error, StoreError::Away { .. })
}

fn is_open(error: &StoreError) -> bool {
    !matches!(error, StoreError::Closed)
}

impl ResendPolicy {
    /// Commits `commands` together, and sends them again as this policy says.
    ///
    /// # Errors
    /// The [`StoreError`] of the last attempt.
    pub async fn send(
        self,
        store: &dyn Store,
        runtime: &dyn Runtime,
        commands: Arc<[Command]>,
    ) -> Result<SentCommands, StoreError> {
        let mut pause = self.pause;
        for attempt in 1.. {
            match store.execute_kept(commands.clone()).await {
                Ok(replies) => return Ok(SentCommands { replies, at_first: attempt == 1 }),
                Err(error) if attempt >= self.attempts || !(self.again)(&error) => {
                    return Err(error);
                }
                Err(error) => tracing::debug!(%error, attempt, "commands are sent again"),
            }
            if pause > Millis::ZERO {
                runtime.sleep(pause).await;
                pause = Millis((pause.0 * 2).min(1_000));
            }
        }
        unreachable!("the last attempt returns")
    }
}

/// The error of a store that returns fewer replies than commands.
pub fn no_reply() -> StoreError {
    StoreError::Unavailable { reason: "the store did not answer a command".to_owned() }
}

#[cfg(test)]
mod tests {
    use segno_core::id::PromiseId;

    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn what_is_clear_is_sent_once() {
        let host = testing::host();
        let get = Command::PromiseGet { id: PromiseId::from("p") };
        let sent = host.send(vec![get], FOR_CLIENTS).await.expect("memory answers");
        assert!(sent.at_first && sent.replies.len() == 1);
    }

    #[test]
    fn only_what_may_have_happened_or_lost_a_race_is_sent_again_for_a_client() {
        let away = StoreError::Away { reason: "gone".into() };
        assert!((FOR_CLIENTS.again)(&StoreError::Conflict));
        assert!(!(FOR_CLIENTS.again)(&away) && (UNDER_CLAIMS.again)(&away));
        assert!(!(OF_SEVERAL.again)(&away));
        for resend in [FOR_CLIENTS, UNDER_CLAIMS, OF_SEVERAL, OF_DELIVERIES, OF_HEARTBEATS] {
            assert!(!(resend.again)(&StoreError::Closed), "{resend:?}");
        }
    }
}
