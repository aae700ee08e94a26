//! Polls for something that is about to exist: a host that starts, or a promise that is not created
//! yet.

use std::time::Duration;

use segno_client::ClientError;
use segno_core::time::Millis;
use segno_env::{Runtime as _, SystemRuntime};

use super::{
    CliError,
    time::{as_ms, now_ms},
};

/// The pause between two requests.
const PAUSE: Millis = Millis(100);

/// The time limit of a poll.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollDeadline {
    until_at_ms: i64,
}

impl PollDeadline {
    /// Starts the limit now. Without a limit, only one request is sent.
    ///
    /// # Errors
    /// The limit is too long for the API.
    pub(super) fn of(limit: Option<Duration>) -> Result<Self, CliError> {
        let limit = i64::try_from(as_ms(limit.unwrap_or_default())?).unwrap_or(i64::MAX);
        Ok(Self { until_at_ms: now_ms().saturating_add(limit) })
    }

    /// The remaining time.
    pub(super) fn left(self) -> Duration {
        let left = self.until_at_ms.saturating_sub(now_ms());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }

    /// Repeats the request until its answer is final, or the time is over.
    ///
    /// # Errors
    /// The last error; an error for which `passes` is false is returned immediately.
    pub(super) async fn ask<T>(
        self,
        ask: impl AsyncFn() -> Result<T, ClientError>,
        passes: impl Fn(&ClientError) -> bool,
    ) -> Result<T, ClientError> {
        loop {
            match ask().await {
                Err(error) if passes(&error) && !self.left().is_zero() => {
                    SystemRuntime.sleep(PAUSE).await;
                }
                answer => return answer,
            }
        }
    }
}
