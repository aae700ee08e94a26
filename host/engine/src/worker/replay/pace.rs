//! Pacing of background replays, which leaves the processors to live executions.

use std::time::Duration;

use segno_core::time::Millis;

use crate::host::Host;

/// Paces background replays: while executions of this host make progress, it sleeps for as long as
/// it computed.
pub struct ReplayPacer<'a> {
    host: &'a Host,
    /// The instant of the last rest.
    since: Duration,
    /// Number of records that executions of this host had written at that instant.
    written: u64,
}

/// The minimum computing time between two rests.
const PIECE: Duration = Duration::from_millis(1);

impl<'a> ReplayPacer<'a> {
    /// Starts the pace now.
    pub fn new(host: &'a Host) -> Self {
        let written = host.metrics.worker.written();
        Self { host, since: host.env.clock.elapsed(), written }
    }

    /// Rests between two replays, if needed.
    pub async fn rest(&mut self) {
        let computed = self.host.env.clock.elapsed().saturating_sub(self.since);
        if computed < PIECE {
            return tokio::task::yield_now().await;
        }
        let written = self.host.metrics.worker.written();
        if written != self.written {
            let length = i64::try_from(computed.as_millis()).unwrap_or(i64::MAX);
            self.host.env.runtime.sleep(Millis(length)).await;
        }
        (self.since, self.written) = (self.host.env.clock.elapsed(), written);
    }
}
