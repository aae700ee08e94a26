//! Kills of hosts while work is in progress.

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

use segno_core::time::Millis;
use segno_demo::server::DemoServer;
use segno_env::Env;

/// Number of kills so far. Work waits for kills, so that it is also disturbed on a fast machine.
/// The number of kills is bounded, so that the work also ends on a slow one.
pub struct Kills {
    least: usize,
    done: AtomicUsize,
}

impl Kills {
    /// Creates a counter for work that is disturbed `least` times before it ends.
    pub fn of(least: usize) -> Self {
        Self { least, done: AtomicUsize::new(0) }
    }

    /// Number of kills so far.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Waits until the kills due before step `step` of `steps` have happened.
    pub async fn before(&self, step: usize, steps: usize, env: &Env) {
        while self.done() * steps < self.least * step {
            env.runtime.sleep(Millis(20)).await;
        }
    }

    /// Runs `work` while killing and restarting one host after the other, until the work ends or
    /// has been disturbed four times as often as required.
    ///
    /// # Panics
    /// If a host does not restart, or the work did not wait for the kills.
    pub async fn beside<T>(
        &self,
        hosts: &mut [DemoServer],
        env: &Env,
        work: impl Future<Output = T>,
    ) -> T {
        let over = Cell::new(false);
        let work = async {
            let done = work.await;
            over.set(true);
            done
        };
        let kill = async {
            for victim in (0..hosts.len()).cycle().take(self.least * 4) {
                env.runtime.sleep(Millis(250)).await;
                if over.get() {
                    return;
                }
                hosts[victim].kill().unwrap_or_else(|error| panic!("{error}"));
                self.done.fetch_add(1, Ordering::Relaxed);
                env.runtime.sleep(Millis(100)).await;
                hosts[victim].restart().await.unwrap_or_else(|error| panic!("{error}"));
            }
        };
        let (done, ()) = tokio::join!(work, kill);
        assert!(self.done() >= self.least, "{} kills of {}", self.done(), self.least);
        done
    }
}
