//! When a command is sent to the store again. Every command absorbs its own repetition, so that
//! after an unknown outcome the same command is sent once more.

use std::sync::Arc;

use segno_core::{command::Command, reply::Reply, time::Millis};
use segno_store::StoreError;

use crate::host::Host;

/// How often commands are sent, and when.
#[derive(Debug, Clone, Copy)]
pub struct Resend {
    /// The maximum number of times that they are sent.
    attempts: u32,
    /// The pause before the second attempt. It doubles, up to one second.
    pause: Millis,
    /// Whether they are sent again after this error.
    again: fn(&StoreError) -> bool,
}

/// For clients, who wait for the reply: a few times, at once.
pub const FOR_CLIENTS: Resend = Resend { attempts: 3, pause: Millis::ZERO, again: is_unclear };

/// For executions, whose claims last longer than a store is away.
pub const UNDER_CLAIMS: Resend =
    Resend { attempts: 20, pause: Millis(10), again: is_unclear_or_away };

/// For the results of deliveries: what is not stored is delivered again.
pub const OF_DELIVERIES: Resend = Resend { attempts: 3, pause: Millis(100), again: is_open };

/// For heartbeats: once more at once; after that, the next beat comes soon.
pub const OF_HEARTBEATS: Resend = Resend { attempts: 2, pause: Millis::ZERO, again: is_open };

/// Commands that were committed.
#[derive(Debug)]
pub struct Sent {
    /// Their replies.
    pub replies: Vec<Reply>,
    /// Whether they were sent once only: what they did not change then, they found as it is.
    pub at_first: bool,
}

/// A lost race, or a commit of which it is unknown whether it happened.
fn is_unclear(error: &StoreError) -> bool {
    matches!(error, StoreError::Conflict | StoreError::UnknownOutcome(_))
}

fn is_unclear_or_away(error: &StoreError) -> bool {
    is_unclear(error) || matches!(error, StoreError::Away { .. })
}

fn is_open(error: &StoreError) -> bool {
    !matches!(error, StoreError::Closed)
}

impl Host {
    /// Commits `commands` together, and sends them again as `resend` says.
    ///
    /// # Errors
    /// [`StoreError`] of the last attempt: nothing was written, or it is still unknown.
    pub async fn send(
        &self,
        commands: impl Into<Arc<[Command]>>,
        resend: Resend,
    ) -> Result<Sent, StoreError> {
        let commands = commands.into();
        let mut pause = resend.pause;
        for attempt in 1.. {
            match self.store.execute_kept(commands.clone()).await {
                Ok(replies) => return Ok(Sent { replies, at_first: attempt == 1 }),
                Err(error) if attempt >= resend.attempts || !(resend.again)(&error) => {
                    return Err(error);
                }
                Err(error) => tracing::debug!(%error, attempt, "commands are sent again"),
            }
            if pause > Millis::ZERO {
                self.env.runtime.sleep(pause).await;
                pause = Millis((pause.0 * 2).min(1_000));
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Commits one command for a client that waits for the reply.
    ///
    /// # Errors
    /// See [`Host::send`].
    pub async fn attempt(&self, command: Command) -> Result<Reply, StoreError> {
        let mut sent = self.send(vec![command], FOR_CLIENTS).await?;
        sent.replies.pop().ok_or_else(no_reply)
    }
}

/// The error of a store that answers fewer replies than commands.
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
        for resend in [FOR_CLIENTS, UNDER_CLAIMS, OF_DELIVERIES, OF_HEARTBEATS] {
            assert!(!(resend.again)(&StoreError::Closed), "{resend:?}");
        }
    }
}
