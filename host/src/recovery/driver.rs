//! Runs each duty whenever a hint says so, and at the latest after its period.

use std::sync::Arc;

use segno_core::time::Millis;
use tokio_util::sync::CancellationToken;

use super::{outbox, timers};
use crate::{host::Host, runtime::BoxFuture, store::StoreError};

/// How soon a duty should run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// There is more to do now.
    Now,
    /// Not before this long, unless a hint comes.
    After(Millis),
    /// When a hint comes, or the period is over.
    Idle,
}

/// One thing that the host does on its own.
pub struct Duty {
    /// Its name, for logs and people.
    pub name: &'static str,
    /// What it sees to.
    pub purpose: &'static str,
    /// One turn.
    pub turn: fn(Host) -> BoxFuture<Result<Next, StoreError>>,
    /// Ends when there may be something to do.
    pub hint: fn(Arc<crate::hub::Hub>) -> BoxFuture<()>,
}

/// All duties.
pub fn duties() -> Vec<Duty> {
    vec![
        Duty {
            name: "timers",
            purpose: "settles promises past their deadline, ends leases that ran out, offers tasks again",
            turn: |host| Box::pin(timers::turn(host)),
            hint: |hub| Box::pin(async move { hub.timer_changed().await }),
        },
        Duty {
            name: "outbox",
            purpose: "cancels the children of what ended, and delivers messages until they are acknowledged",
            turn: |host| Box::pin(outbox::turn(host)),
            hint: |hub| Box::pin(async move { hub.outbox_changed().await }),
        },
    ]
}

/// The running driver.
pub struct Recovery {
    stopped: CancellationToken,
}

impl Recovery {
    /// Starts every duty.
    pub fn start(host: &Host) -> Self {
        let stopped = CancellationToken::new();
        for duty in duties() {
            host.surroundings
                .runtime
                .spawn(duty.name, Box::pin(drive(host.clone(), duty, stopped.clone())));
        }
        Self { stopped }
    }

    /// Begins no further turn.
    pub fn stop(&self) {
        self.stopped.cancel();
    }
}

async fn drive(host: Host, duty: Duty, stopped: CancellationToken) {
    let period = host.config.scan_period;
    loop {
        // Hints that come during the turn are not lost: the hub keeps one.
        let next = match (duty.turn)(host.clone()).await {
            Ok(next) => next,
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::warn!(duty = duty.name, %error, "a turn failed; it comes again");
                Next::Idle
            }
        };
        let wait = match next {
            Next::Now if !stopped.is_cancelled() => continue,
            Next::Now => return,
            Next::After(wait) => wait.min(period).max(Millis(1)),
            Next::Idle => period,
        };
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = (duty.hint)(host.hub.clone()) => {}
            () = host.surroundings.runtime.sleep(wait) => {}
        }
    }
}
