//! Asking again for what is about to be there: a host that starts, a promise that is not made yet.

use std::time::Duration;

use segno_core::time::Millis;

use super::{
    CliError,
    time::{as_ms, now_ms},
};
use crate::{
    client::ClientError,
    runtime::{Runtime as _, SystemRuntime},
};

/// The pause between two requests.
const PAUSE: Millis = Millis(100);

/// How long a command asks again.
#[derive(Debug, Clone, Copy)]
pub struct Polling {
    until_at_ms: i64,
}

impl Polling {
    /// From now on; without a limit there is one request only.
    ///
    /// # Errors
    /// The limit is too long for the API.
    pub fn of(limit: Option<Duration>) -> Result<Self, CliError> {
        let limit = i64::try_from(as_ms(limit.unwrap_or_default())?).unwrap_or(i64::MAX);
        Ok(Self { until_at_ms: now_ms().saturating_add(limit) })
    }

    /// The time that is left.
    pub fn left(self) -> Duration {
        let left = self.until_at_ms.saturating_sub(now_ms());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }

    /// Asks until the answer is final, or the time is over.
    ///
    /// # Errors
    /// The last one; one that does not `pass` is returned at once.
    pub async fn ask<T>(
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
