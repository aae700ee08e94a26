//! The demo: twenty orders, a host that is killed three times, and the result.

use std::{collections::BTreeMap, path::PathBuf};

use segno_api::model::{JournalRecord, Replay, ReplayVerdict};
use segno_build::BuildProgress;
use segno_client::ClientError;
use segno_core::time::Millis;
use segno_env::Env;
use serde::Serialize;
use tokio::sync::watch;

use super::{
    client::DemoClient,
    clients::{self, OrderTally, PlannedOrder},
    example::MODULE,
    order::{DemoOrder, ExpectedOutcome},
    payments::{ChildError, PaymentsChild},
    rng::DemoRng,
    server::{DemoServer, ServerError, ServerOptions},
    verdict::DemoVerdict,
};

/// Number of orders.
pub const ORDERS: usize = 20;

/// Time limit of the whole run, excluding the build.
const LIMIT: Millis = Millis(180_000);

/// Time after which the approval of an undecided order times out.
const APPROVAL_TIMEOUT: Millis = Millis(6_000);

/// Delay of the payment service between its decision and its answer: the worst time for a kill.
const PAYMENT_DELAY: Millis = Millis(120);

/// Interval between checks if the next kill is due.
const LOOK_EVERY: Millis = Millis(5);

/// The inputs of the demo.
#[derive(Debug, Clone)]
pub struct ScenarioOptions {
    /// Path of the command `segno`.
    pub binary: PathBuf,
    /// Directory for data, ledger and logs.
    pub folder: PathBuf,
    /// The component of the example `order`.
    pub component: Vec<u8>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// A kill of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostKill {
    /// Id of the killed process.
    pub pid: u32,
    /// Time since the first order, in milliseconds.
    pub after_ms: i64,
    /// Number of orders that were placed and had not ended.
    pub in_flight: usize,
    /// Time from the restart until the host accepted work, in milliseconds.
    pub back_after_ms: i64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenarioRun {
    pub seed: u64,
    /// Time from the first order to the last end, in milliseconds.
    pub took_ms: i64,
    pub kills: Vec<HostKill>,
    pub verdict: DemoVerdict,
    /// Number of replays per execution, by id.
    pub replays: BTreeMap<String, u32>,
    pub records: Vec<JournalRecord>,
    /// The result of replaying this journal.
    pub replay: Replay,
}

impl ScenarioRun {
    /// True if everything is exactly as expected.
    pub fn is_right(&self) -> bool {
        self.complaints().is_empty()
    }

    /// All deviations, one per line.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = self.verdict.complaints();
        let in_the_middle = self.kills.iter().filter(|kill| kill.in_flight > 0).count();
        if in_the_middle < 2 {
            complaints.push(format!("only {in_the_middle} kills hit orders in flight"));
        }
        let (replay, records) = (&self.replay, self.records.len());
        if replay.verdict != ReplayVerdict::Identical || replay.matched as usize != records {
            let (id, matched) = (&replay.id, replay.matched);
            complaints.push(format!("the replay of {id} matches {matched} of {records} records"));
        }
        complaints
    }
}

/// Reason why the demo did not finish.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The host failed.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The payment service failed.
    #[error(transparent)]
    Payments(#[from] ChildError),
    /// The host refused a request.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The time limit was exceeded.
    #[error("after {} s only {ended} of {ORDERS} orders have ended", LIMIT.0 / 1_000)]
    TooLong {
        /// Number of orders that ended in time.
        ended: usize,
    },
}

/// Runs the demo. All processes it starts are gone when it ends or is dropped.
///
/// # Errors
/// See [`ScenarioError`]. A wrong outcome of an order is not an error, but part of the result.
pub async fn play(
    options: ScenarioOptions,
    env: Env,
    progress: &dyn BuildProgress,
) -> Result<ScenarioRun, ScenarioError> {
    let mut rng = DemoRng::new(options.seed);
    let payments =
        PaymentsChild::start(&options.binary, &options.folder, PAYMENT_DELAY, &env).await?;
    progress.step(&format!("payment service at {} (pid {})", payments.address(), payments.pid()));

    let settings = ServerOptions::within(&options.folder, &options.binary)?;
    settings.allow_http(MODULE, payments.address())?;
    let mut server = DemoServer::start(settings, env.clone()).await?;
    progress.step(&format!("host at {} (pid {})", server.client().server(), server.pid()));
    let deployed = server.client().deploy(options.component, Some(MODULE)).await?;
    progress.step(&format!("deployed {MODULE}, {} bytes", deployed.module.size));

    let orders = planned_orders(payments.address(), &mut rng);
    let client = server.client().clone();
    let orders_client = DemoClient { client: &client, env: &env, module: MODULE };
    let (tally, began) = (OrderTally::default(), env.clock.now());
    let (_phase, phase) = watch::channel(0);
    progress.step(&format!("{ORDERS} orders are placed; the host will be killed in the middle"));
    let mut killer = HostKiller {
        server: &mut server,
        payments: &payments,
        tally: &tally,
        progress,
        kills: Vec::new(),
    };
    let killing = killer.run(&mut rng, &env);
    let serving = async { Ok(clients::serve(&orders_client, &orders, &phase, &tally).await?) };
    let both = env.within(LIMIT, async { futures::try_join!(serving, killing) }).await;
    let Some(both) = both else {
        return Err(ScenarioError::TooLong { ended: tally.ended() });
    };
    let (ended, ()) = both?;
    let kills = killer.kills;
    let took_ms = env.clock.now().since(began).0;

    progress.step("all orders have ended; reading the ledger");
    let verdict = DemoVerdict::of(&ended, &payments.entries().await?);
    let replays = server.replays()?;
    let shown = &orders[rng.between(0, 4) as usize].order.id;
    progress.step(&format!("replaying {shown}"));
    let records = client.whole_journal(shown).await?;
    let replay = client.replay(shown, None).await?;
    server.stop().await?;
    Ok(ScenarioRun { seed: options.seed, took_ms, kills, verdict, replays, records, replay })
}

/// Seventeen approved orders, two rejected ones, and one without a decision.
fn planned_orders(payments: &str, rng: &mut DemoRng) -> Vec<PlannedOrder> {
    let fate = |number| match number {
        7 | 13 => ExpectedOutcome::Rejected,
        17 => ExpectedOutcome::Forgotten,
        _ => ExpectedOutcome::Approved,
    };
    let planned = |number| PlannedOrder {
        order: DemoOrder::new(number, fate(number), payments, APPROVAL_TIMEOUT),
        phase: 0,
        place_after: rng.length(0, 600),
        decide_after: rng.length(300, 2_500),
    };
    (1..=ORDERS).map(planned).collect()
}

/// Kills the host three times: among the charges, among the approvals, and near the end.
struct HostKiller<'a> {
    server: &'a mut DemoServer,
    payments: &'a PaymentsChild,
    tally: &'a OrderTally,
    progress: &'a dyn BuildProgress,
    kills: Vec<HostKill>,
}

impl HostKiller<'_> {
    async fn run(&mut self, rng: &mut DemoRng, env: &Env) -> Result<(), ScenarioError> {
        let began = env.clock.now();
        let (charges, decisions, ends) =
            (rng.between(2, 14), rng.between(2, 8), rng.between(8, 14));

        while (self.payments.entries().await?.len() as u64) < charges {
            env.runtime.sleep(LOOK_EVERY).await;
        }
        self.kill_and_restart(rng, env, began).await?;
        while (self.tally.decided() as u64) < decisions {
            env.runtime.sleep(LOOK_EVERY).await;
        }
        self.kill_and_restart(rng, env, began).await?;
        while (self.tally.ended() as u64) < ends {
            env.runtime.sleep(LOOK_EVERY).await;
        }
        self.kill_and_restart(rng, env, began).await
    }

    async fn kill_and_restart(
        &mut self,
        rng: &mut DemoRng,
        env: &Env,
        began: segno_core::time::Timestamp,
    ) -> Result<(), ScenarioError> {
        env.runtime.sleep(rng.length(0, 80)).await;
        let (pid, now) = (self.server.pid(), env.clock.now());
        let in_flight = self.tally.placed() - self.tally.ended();
        self.server.kill()?;
        self.progress
            .step(&format!("SIGKILL to the host (pid {pid}) with {in_flight} orders in flight"));
        env.runtime.sleep(rng.length(50, 400)).await;

        let restarted = env.clock.now();
        self.server.restart().await?;
        let back_after_ms = env.clock.now().since(restarted).0;
        self.progress.step(&format!(
            "the host is back after {back_after_ms} ms (pid {})",
            self.server.pid()
        ));
        self.kills.push(HostKill { pid, after_ms: now.since(began).0, in_flight, back_after_ms });
        Ok(())
    }
}
