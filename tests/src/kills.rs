//! Kills of hosts beside work that goes on.

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

use segno::{demo::server::Server, runtime::Env};
use segno_core::time::Millis;

/// How often hosts were killed. Work waits for kills, so that it is disturbed on a fast machine too, and
/// there is an end to them, so that it is done on a slow one.
pub struct Kills {
    least: usize,
    done: AtomicUsize,
}

impl Kills {
    /// Work that is disturbed `least` times before it ends.
    pub fn of(least: usize) -> Self {
        Self { least, done: AtomicUsize::new(0) }
    }

    /// How often hosts were killed until now.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Waits until there were as many kills as belong to step `step` of `steps`.
    pub async fn before(&self, step: usize, steps: usize, env: &Env) {
        while self.done() * steps < self.least * step {
            env.runtime.sleep(Millis(20)).await;
        }
    }

    /// Does `work`, while one host after the other is killed, and started again, until the work has ended or
    /// was disturbed four times as often as it has to be.
    ///
    /// # Panics
    /// A host does not come up again, or the work did not wait for the kills.
    pub async fn beside<T>(
        &self,
        hosts: &mut [Server],
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
