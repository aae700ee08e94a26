//! Runs each duty when a hint arrives, and at the latest after its period.

use std::sync::Arc;

use segno_core::{
    config::Config,
    time::{Millis, Timestamp},
};
use segno_env::BoxFuture;
use segno_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::{
    blobs,
    next_turn::NextTurn,
    outbox,
    reconcile::{self, chain},
    retention::{self, Retention},
    timers,
};
use crate::{host::Host, stuck};

/// The interval between two log lines for the same failure.
const TOLD_AGAIN: Millis = Millis(60_000);

/// One turn of a duty.
pub(super) type DutyTurn = Box<dyn FnMut(Host) -> BoxFuture<Result<NextTurn, StoreError>> + Send>;

/// One duty of the host.
pub struct Duty {
    /// The duty's name, for logs and listings.
    pub name: &'static str,
    /// A description of the duty, for listings.
    pub purpose: &'static str,
    /// The interval between two turns without a hint.
    pub period: fn(&Config) -> Millis,
    /// The delay after a complete round, for duties that scan the store in rounds. `None` for
    /// others.
    pub round_pause: Option<Millis>,
    /// The maximum number of rows read in one turn.
    pub page: u32,
    /// Creates the turn function. Its state between turns may be lost at any time.
    pub begin: fn(&Arc<Retention>) -> DutyTurn,
    /// Completes when there may be work for the duty.
    pub hint: fn(Arc<crate::notifier::CommitNotifier>) -> BoxFuture<()>,
}

pub fn duties() -> Vec<Duty> {
    vec![
        Duty {
            name: "timers",
            purpose: "settles promises past their deadline, ends leases that ran out, offers tasks again",
            period: |config| config.scan_period,
            round_pause: None,
            page: timers::PAGE,
            begin: |_| Box::new(|host| Box::pin(timers::turn(host))),
            hint: |notifier| Box::pin(async move { notifier.timer_changed().await }),
        },
        Duty {
            name: "outbox",
            purpose: "cancels the children of ended executions, and delivers messages until they are acknowledged",
            period: |config| config.scan_period,
            round_pause: None,
            page: outbox::PAGE as u32,
            begin: |_| Box::new(|host| Box::pin(outbox::turn(host))),
            hint: |notifier| Box::pin(async move { notifier.outbox_changed().await }),
        },
        Duty {
            name: "reconcile",
            purpose: "looks for rows that contradict each other; repairs or quarantines them",
            period: |_| reconcile::PERIOD,
            round_pause: Some(reconcile::ROUND_PAUSE),
            page: reconcile::PAGE,
            begin: |_| {
                let round = Arc::default();
                Box::new(move |host| Box::pin(reconcile::turn(host, Arc::clone(&round))))
            },
            hint: |_| Box::pin(std::future::pending()),
        },
        Duty {
            name: "stuck",
            purpose: "counts the executions that cannot continue by themselves, by reason",
            period: |_| stuck::PERIOD,
            round_pause: Some(stuck::ROUND_PAUSE),
            page: stuck::PAGE,
            begin: |_| {
                let round = Arc::default();
                Box::new(move |host| Box::pin(stuck::turn(host, Arc::clone(&round))))
            },
            hint: |_| Box::pin(std::future::pending()),
        },
        Duty {
            name: "retention",
            purpose: "removes finished trees that are older than the retention rules allow, and unused modules",
            period: |_| retention::PERIOD,
            round_pause: Some(retention::ROUND_PAUSE),
            page: retention::PAGE,
            begin: |rules| {
                let (rules, round) = (rules.clone(), Arc::default());
                Box::new(move |host| {
                    Box::pin(retention::turn(host, rules.clone(), Arc::clone(&round)))
                })
            },
            hint: |_| Box::pin(std::future::pending()),
        },
        Duty {
            name: "blobs",
            purpose: "removes blobs that no execution owns, and uploads that did not end",
            period: |_| blobs::PERIOD,
            round_pause: None,
            page: blobs::CONCURRENT as u32,
            begin: |_| Box::new(|host| Box::pin(blobs::turn(host))),
            hint: |_| Box::pin(std::future::pending()),
        },
    ]
}

/// The running driver.
pub struct Recovery {
    stopped: CancellationToken,
}

impl Recovery {
    /// Starts every duty, with retention rules that remove nothing.
    pub fn start(host: &Host) -> Self {
        Self::start_keeping(host, Retention::default())
    }

    /// Starts every duty, with these retention rules.
    pub fn start_keeping(host: &Host, retention: Retention) -> Self {
        let stopped = CancellationToken::new();
        let retention = Arc::new(retention);
        for duty in duties() {
            let turn = (duty.begin)(&retention);
            host.env
                .runtime
                .spawn(duty.name, Box::pin(drive(host.clone(), duty, turn, stopped.clone())));
        }
        Self { stopped }
    }

    /// Stops the driver: no further turn starts.
    pub fn stop(&self) {
        self.stopped.cancel();
    }
}

/// The last logged failure. The same failure is logged at most once a minute.
#[derive(Default)]
struct LoggedFailure {
    told: Option<(String, Timestamp)>,
}

impl LoggedFailure {
    fn tell(&mut self, duty: &str, error: &StoreError, now: Timestamp) {
        let error = chain(error);
        let again = self
            .told
            .as_ref()
            .is_some_and(|(told, at)| *told == error && now.since(*at) < TOLD_AGAIN);
        if !again {
            tracing::warn!(duty, %error, "a turn failed; the host repeats it");
            self.told = Some((error, now));
        }
    }
}

async fn drive(host: Host, duty: Duty, mut turn: DutyTurn, stopped: CancellationToken) {
    let period = (duty.period)(&host.config);
    let longest = duty.round_pause.map_or(period, |pause| pause.max(period));
    let mut failures = LoggedFailure::default();
    loop {
        // A hint that arrives during the turn is not lost: the notifier keeps one permit.
        let next = match turn(host.clone()).await {
            Ok(next) => {
                failures = LoggedFailure::default();
                next
            }
            Err(StoreError::Closed) => return,
            Err(error) => {
                failures.tell(duty.name, &error, host.env.clock.now());
                NextTurn::Idle
            }
        };
        let wait = match next {
            NextTurn::Now if !stopped.is_cancelled() => continue,
            NextTurn::Now => return,
            NextTurn::After(wait) => wait.min(longest).max(Millis(1)),
            NextTurn::Idle => period,
        };
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = (duty.hint)(host.notifier.clone()) => {}
            () = host.env.runtime.sleep(wait) => {}
        }
    }
}
