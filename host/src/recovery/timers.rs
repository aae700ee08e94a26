//! Deadlines, leases and retries.

use segno_core::{command::Command, time::Timestamp};

use super::driver::Next;
use crate::{host::Host, store::StoreError};

/// Due rows handled in one transaction.
pub const PAGE: u32 = 1_000;

/// Fires what is due.
pub async fn turn(host: Host) -> Result<Next, StoreError> {
    host.hub.plan_timers(None);
    let look = || host.store.due(host.surroundings.clock.now(), PAGE);
    let mut due = look().await?;
    if renews_own(&host, &due.commands).await {
        // Nobody is told of the new leases, which may be over by this clock: what changed meanwhile is seen now.
        host.hub.plan_timers(None);
        due = look().await?;
    }
    let more = due.commands.len() >= PAGE as usize;
    if !due.commands.is_empty() {
        host.store.execute(due.commands).await?;
    }
    if more {
        return Ok(Next::Now);
    }
    let now = host.surroundings.clock.now();
    // The driver looks again after its period at the latest.
    let period = now + host.config.scan_period;
    host.hub.plan_timers(Some(due.next.map_or(period, |next| next.min(period))));
    Ok(due.next.map_or(Next::Idle, |next| Next::After(next.since(now))))
}

/// After this host was held up, its own leases may have run out while its work goes on: heartbeats go first. Says whether
/// there were any; then nothing was told of timers meanwhile. A host whose clock is ahead would wake itself without end.
async fn renews_own(host: &Host, due: &[Command]) -> bool {
    let expiring: Vec<_> = due
        .iter()
        .filter_map(|command| match command {
            Command::LeaseDue { id } => Some(id.clone()),
            _ => None,
        })
        .collect();
    let Some(desk) = host.hub.desk().filter(|_| !expiring.is_empty()) else { return false };
    host.hub.plan_timers(Some(Timestamp(i64::MIN)));
    desk.renew(expiring).await;
    true
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    use segno_core::{
        command::HeartbeatItem,
        id::{Claim, Holder, PromiseId, Version},
        promise::{LeasePolicy, NewPromise, TaskStatus},
        tags,
        time::Millis,
        value::{Tags, Value},
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        api::tests::World,
        desk::{self, Renewal},
        lengths::LeaseLengths,
        runtime::{BoxFuture, Clock, Surroundings},
        store::{MemoryStore, Store},
    };

    struct HandClock(AtomicI64);

    impl Clock for HandClock {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::Relaxed))
        }
    }

    /// A worker that is still at `alive`, and at nothing else.
    struct StillAt(Arc<dyn Store>, Holder);

    impl Renewal for StillAt {
        fn renew(&self, ids: Vec<PromiseId>) -> BoxFuture<()> {
            let (store, holder) = (self.0.clone(), self.1.clone());
            Box::pin(async move {
                assert_eq!(ids, ["alive".into(), "dead".into()]);
                let claim = Claim { id: "alive".into(), version: Version(1) };
                let items = vec![HeartbeatItem { claim, progress: None }];
                let beat = Command::TaskHeartbeat { holder, items };
                store.execute(vec![beat]).await.expect("it is stored");
            })
        }
    }

    #[tokio::test]
    async fn a_host_that_was_held_up_extends_what_it_still_executes_before_it_ends_leases() {
        let world = World::new();
        let clock = Arc::new(HandClock(AtomicI64::new(1_000)));
        let surroundings =
            Surroundings { clock: clock.clone(), ..world.api.host.surroundings.clone() };
        let (config, hub) = (world.api.host.config.clone(), world.api.host.hub.clone());
        let store = MemoryStore::new((*config).clone(), surroundings.clone(), hub.clone());
        let host = Host { surroundings, store: store.clone(), ..world.api.host.clone() };
        let holder = Holder { node: "n".into(), incarnation: 1 };
        let claims = desk::Claims {
            holder: holder.clone(),
            lengths: Arc::new(LeaseLengths::new(LeasePolicy::of(config.ttl))),
            renewal: Arc::new(StillAt(store.clone(), holder)),
            runtime: host.surroundings.runtime.clone(),
            draining: CancellationToken::new(),
        };
        let (desk, _counter) = desk::room(claims, 8);
        let desk = Arc::new(desk);
        hub.open(&desk);
        for id in ["alive", "dead"] {
            let (seat, hold) = desk.seat().expect("there is room");
            let target = (tags::TARGET.to_owned(), "poll://w".to_owned());
            let new = NewPromise {
                id: id.into(),
                param: Value::default(),
                tags: Tags::from([target]),
                timeout_at: Timestamp::NEVER,
            };
            store.execute(vec![Command::TaskCreate { new, hold }]).await.expect("a claim");
            drop(seat);
        }
        clock.0.fetch_add((config.ttl.0 + Millis(5_000)).0, Ordering::Relaxed);
        turn(host).await.expect("a turn");
        for (id, status) in [("alive", TaskStatus::Acquired), ("dead", TaskStatus::Pending)] {
            let row = store.promise(&id.into()).await.expect("a read").expect("a promise");
            assert_eq!(row.task.expect("a task").status(), status, "{id}");
        }
    }
}
