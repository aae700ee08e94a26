//! A real host, killed repeatedly with SIGKILL while fifty orders run. All orders end, and the
//! ledger is exact.
//!
//! `SEGNO_KILLS` sets the number of kills (20), `SEGNO_SEED` repeats a run's draws.

use segno_core::time::Millis;
use segno_demo::{
    client::DemoClient,
    clients::{self, OrderTally},
    payments::PaymentsOptions,
    rng::DemoRng,
    verdict::DemoVerdict,
};
use tests::{guests, planned_orders::planned_orders, seed, test_host::TestHost};
use tokio::sync::watch;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

const ORDERS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn fifty_orders_end_exactly_once_however_often_the_host_is_killed() {
    let kills = usize::try_from(seed::number("SEGNO_KILLS").unwrap_or(20)).expect("it is small");
    let mut chance = seed::chance();
    let payments = PaymentsOptions { delay: Millis(30), ..PaymentsOptions::default() };
    let mut host = TestHost::with(SEGNO, payments, &[]).await;
    host.deploy("order", guests::component("order")).await;

    let planned_orders = planned_orders(ORDERS, kills, host.payments.address(), &mut chance);
    let (client, env) = (host.client().clone(), host.env.clone());
    let orders_client = DemoClient { client: &client, env: &env, module: "order" };
    let (tally, (reached, reach)) = (OrderTally::default(), watch::channel(0));
    let serving = clients::serve(&orders_client, &planned_orders, &reach, &tally);
    let killing = kill(&mut host, kills, &mut chance, &tally, &reached);
    let (ended, hits) = tokio::join!(serving, killing);
    let ended = ended.unwrap_or_else(|error| panic!("{error}"));

    let verdict = DemoVerdict::of(&ended, &host.payments.entries());
    assert!(verdict.is_right(), "{:#?}", verdict.complaints());
    assert_eq!(verdict.orders.len(), ORDERS);
    assert!(hits * 2 > kills, "only {hits} of {kills} kills hit orders in flight");
    for (order, _) in ended.iter().step_by(7) {
        let replay = client.replay(&order.id, None).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(replay.matched, replay.journal_len, "{replay:#?}");
    }
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

/// Kills the host `kills` times, now and then during its start. Returns the number of kills while
/// orders were in flight.
async fn kill(
    host: &mut TestHost,
    kills: usize,
    chance: &mut DemoRng,
    tally: &OrderTally,
    reached: &watch::Sender<usize>,
) -> usize {
    let env = host.env.clone();
    let mut hits = 0;
    for kill in 1..=kills {
        env.runtime.sleep(chance.length(10, 500)).await;
        hits += usize::from(tally.placed() > tally.ended());
        host.server.kill().unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        reached.send_replace(kill);
        if chance.between(1, 5) == 1 {
            // The restart is dropped midway. The next restart kills the host there.
            let _ = env.within(chance.length(1, 150), host.server.restart()).await;
        }
        host.server.restart().await.unwrap_or_else(|error| panic!("after kill {kill}: {error}"));
    }
    hits
}
