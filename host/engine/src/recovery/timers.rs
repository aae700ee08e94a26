//! Timers: deadlines, lease expiry and retries.

use segno_core::{command::Command, time::Timestamp};
use segno_store::StoreError;

use super::{next_turn::NextTurn, wakes};
use crate::host::Host;

/// Maximum number of due rows in one transaction.
pub(super) const PAGE: u32 = 1_000;

/// Fires due timers.
pub(super) async fn turn(host: Host) -> Result<NextTurn, StoreError> {
    host.notifier.plan_timers(None);
    // Quarantined rows and held timers stay due, and must not hide those after them.
    host.quarantine.resume(&host.store.missing());
    let page = PAGE + (host.quarantine.resting() + host.held_timers.len()) as u32;
    let look = || host.store.work_queue().due(host.env.clock.now(), page);
    let mut due = look().await?;
    if renews_own(&host, &due.commands).await {
        // The new leases produce no hint, and may already have ended by this host's clock. The next
        // read sees any change.
        host.notifier.plan_timers(None);
        due = look().await?;
    }
    let more = due.commands.len() >= page as usize;
    let now = host.env.clock.now();
    due.commands.retain(|command| !host.quarantine.rests(command, now));
    let mut next = due.next;
    due.commands.retain(|command| match host.held_timers.end_of(command, now) {
        Some(end) => {
            next = Some(next.map_or(end, |next| next.min(end)));
            false
        }
        None => true,
    });
    wakes::carry_out(&host, due).await?;
    if more {
        return Ok(NextTurn::Now);
    }
    let now = host.env.clock.now();
    // The driver runs this duty again after its period at the latest.
    let period = now + host.config.scan_period;
    host.notifier.plan_timers(Some(next.map_or(period, |next| next.min(period))));
    Ok(next.map_or(NextTurn::Idle, |next| NextTurn::After(next.since(now))))
}

/// Extends this host's own leases first: if the host was held up, they may have expired although
/// their executions are still running. Returns true if there were any. Timer hints are then off
/// during the renewal, since a host whose clock is ahead would otherwise wake itself without end.
async fn renews_own(host: &Host, due: &[Command]) -> bool {
    let expiring: Vec<_> = due
        .iter()
        .filter_map(|command| match command {
            Command::LeaseDue { id } => Some(id.clone()),
            _ => None,
        })
        .collect();
    let Some(slots) = host.slots().filter(|_| !expiring.is_empty()) else { return false };
    host.notifier.plan_timers(Some(Timestamp(i64::MIN)));
    slots.renew(expiring).await;
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use segno_core::{
        command::{ClaimRequest, FenceAction, FenceOperation, HeartbeatItem},
        effect::Effect,
        id::{Claim, CommandIndex, Holder, PromiseId, Version},
        promise::{LeasePolicy, NewPromise, TaskStatus},
        reply::Reply,
        tags,
        time::Millis,
        value::{Tags, Value},
    };
    use segno_env::{BoxFuture, Env, HandClock};
    use segno_store::{MemoryStore, Store};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        lease_ttl::AdaptiveLeaseTtl,
        slots::{self, ClaimedTask, LeaseRenewer, OptimisticStart, SlotLimits, StartRequest},
        testing,
    };

    /// A renewer that keeps a claim on `alive` only.
    struct SelectiveRenewer(Arc<dyn Store>, Holder);

    impl LeaseRenewer for SelectiveRenewer {
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

    /// An optimistic start that starts nothing.
    struct PanickingStart;

    impl OptimisticStart for PanickingStart {
        fn begin(&self, start: StartRequest) {
            panic!("nothing is started here, and not `{}`", start.new.id)
        }

        fn run(&self, claimed: Vec<ClaimedTask>) {
            panic!("nothing is called here, and not {} tasks", claimed.len())
        }
    }

    /// A host with slots, and a clock that the test sets.
    struct Fixture {
        host: Host,
        clock: Arc<HandClock>,
        holder: Holder,
        slots: Arc<slots::ExecutionSlots>,
        counter: slots::SlotPool,
    }

    fn fixture(slots: usize) -> Fixture {
        let host = testing::host();
        let clock = HandClock::new();
        let env = Env { clock: clock.clone(), ..host.env.clone() };
        let config = host.config.clone();
        let store = MemoryStore::new((*config).clone(), env.clone(), host.notifier.clone());
        let host = Host { env, store: store.clone(), ..host };
        let holder = Holder { node: "n".into(), incarnation: 1 };
        let claims = slots::ClaimContext {
            holder: holder.clone(),
            lease_ttl: Arc::new(AdaptiveLeaseTtl::new(LeasePolicy::of(config.ttl))),
            renewer: Arc::new(SelectiveRenewer(store.clone(), holder.clone())),
            optimistic_start: Arc::new(PanickingStart),
            env: host.env.clone(),
            draining: CancellationToken::new(),
        };
        let (slots, counter) = slots::pool(
            claims,
            SlotLimits { executions: slots, requests: slots, activities: slots },
        );
        let slots = Arc::new(slots);
        host.open_slots(&slots);
        Fixture { host, clock, holder, slots, counter }
    }

    fn new(id: &str, tags: &[(&str, &str)], timeout_at: Timestamp) -> NewPromise {
        let tags = tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        NewPromise {
            id: id.into(),
            param: Value::default(),
            tags: Tags::from_iter(tags),
            timeout_at,
        }
    }

    #[tokio::test]
    async fn a_host_that_was_held_up_extends_what_it_still_executes_before_it_ends_leases() {
        let Fixture { host, clock, slots, counter: _counter, .. } = fixture(8);
        for id in ["alive", "dead"] {
            let new = new(id, &[(tags::TARGET, "poll://w")], Timestamp::NEVER);
            let (slot, request) = slots.slot(&new).expect("there is room");
            host.store.execute(vec![Command::TaskCreate { new, request }]).await.expect("a claim");
            drop(slot);
        }
        clock.advance(host.config.ttl.0 + Millis(5_000));
        turn(host.clone()).await.expect("a turn");
        for (id, status) in [("alive", TaskStatus::Acquired), ("dead", TaskStatus::Pending)] {
            let row =
                host.store.read().promise(&id.into()).await.expect("a read").expect("a promise");
            assert_eq!(row.task.expect("a task").status(), status, "{id}");
        }
    }

    #[tokio::test]
    async fn who_wakes_is_claimed_with_the_deadline_as_far_as_there_is_room() {
        let Fixture { host, clock, holder, slots, mut counter } = fixture(2);
        for sleeper in ["a", "b", "c"] {
            let (id, nap) = (PromiseId::from(sleeper), PromiseId::from(sleeper).named("nap"));
            let request = ClaimRequest { holder: holder.clone(), nonce: 1, ttl: Millis(60_000) };
            let claim = Claim { id, version: Version(1) };
            let timer = new(nap.as_str(), &[(tags::TIMER, "true")], Timestamp(5_000));
            let act = FenceOperation::Create { new: timer, request: None };
            let commands = vec![
                Command::TaskCreate {
                    new: new(sleeper, &[(tags::TARGET, crate::target::HTTP)], Timestamp::NEVER),
                    request,
                },
                Command::TaskFence {
                    claim: claim.clone(),
                    records: vec![],
                    logs: vec![],
                    actions: vec![FenceAction { index: CommandIndex(0), act }],
                },
                Command::TaskSuspend { claim, records: vec![], logs: vec![], awaits: [nap].into() },
            ];
            let replies = host.store.execute(commands).await.expect("replies");
            assert_eq!(replies.last(), Some(&Reply::Suspended));
        }
        turn(host.clone()).await.expect("nothing is due");
        clock.set(Timestamp(6_000));
        turn(host.clone()).await.expect("a turn");

        let arrivals = counter.next().await;
        let arrived: Vec<_> = arrivals.iter().map(|it| it.acquired.task.id.as_str()).collect();
        assert_eq!(arrived, ["a", "b"], "there are two slots");
        for ClaimedTask { acquired, settled, .. } in &arrivals {
            assert_eq!(acquired.task.status(), TaskStatus::Acquired);
            assert_eq!(acquired.task.version, Version(2));
            let nap = acquired.task.id.named("nap");
            assert_eq!(settled.iter().map(|nap| nap.id().clone()).collect::<Vec<_>>(), [nap]);
            assert!(!settled[0].is_pending(), "what it waited for comes with the claim");
        }
        let third =
            host.store.read().promise(&"c".into()).await.expect("a read").expect("a promise");
        assert_eq!(third.task.expect("a task").status(), TaskStatus::Pending, "it is offered");
        let another = new("d", &[(tags::TARGET, "wasm://m/f")], Timestamp::NEVER);
        assert!(slots.slot(&another).is_none());
        let hinted = host.notifier.take_dispatched().expect("it was not taken").recv().await;
        let ready = matches!(hinted, Some(Effect::Ready { id, .. }) if id.as_str() == "c");
        assert!(ready, "only who waits for room is hinted at");
    }
}
