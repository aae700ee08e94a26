//! Leaves the processors to what is live.

use std::time::Duration;

use segno_core::time::Millis;

use crate::host::Host;

/// Paces replays in the background: while executions of this host make progress, it sleeps for as long
/// as it computed.
pub struct Pace<'a> {
    host: &'a Host,
    /// When it last rested.
    since: Duration,
    /// Records that executions of this host had written by then.
    written: u64,
}

/// How long it computes in one piece.
const PIECE: Duration = Duration::from_millis(1);

impl<'a> Pace<'a> {
    /// Begins now.
    pub fn new(host: &'a Host) -> Self {
        let written = host.metrics.worker.written();
        Self { host, since: host.env.clock.elapsed(), written }
    }

    /// Between two replays.
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
