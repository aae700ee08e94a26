//! The outbox duty: passes due messages to the channels of this host, and stores the result of each
//! delivery.

use std::collections::BTreeMap;

use segno_core::{
    command::Command,
    id::PromiseId,
    promise::{Deferral, Delivery, OutboxKey, OutboxMessageKind},
    reply::Reply,
    time::Millis,
};
use segno_store::StoreError;

use super::{isolate, next_turn::NextTurn};
use crate::{
    delivery::{Channels, DeliveryResult},
    host::Host,
    resend::OF_DELIVERIES,
};

/// Maximum number of due rows in one transaction, and of concurrent deliveries of one kind.
pub(super) const PAGE: usize = 256;

/// Delivers due messages. Messages to the engine itself are handled by the command. Messages of
/// kinds that no channel takes are not read.
pub(super) async fn turn(host: Host) -> Result<NextTurn, StoreError> {
    let now = host.env.clock.now();
    host.quarantine.resume(&host.store.missing());
    let channels = &host.channels;
    let mut commands = Vec::new();
    let mut next = None;
    // True if there may be more messages to the engine itself. No hint reports those.
    let mut is_cut = false;
    for kind in channels.kinds() {
        // Messages being delivered may still count as due, and must not hide later ones.
        let under_way = channels.under_way(kind);
        let Some(room) = PAGE.checked_sub(under_way).filter(|room| *room > 0) else { continue };
        // Quarantined messages stay due, and must not hide later ones either.
        let quarantine = &host.quarantine;
        let page = (PAGE + quarantine.resting()) as u32;
        let due = host.store.work_queue().outbox_due(kind, now, page).await?;
        let fresh = due
            .commands
            .into_iter()
            .filter(|command| !is_carried(channels, command) && !quarantine.rests(command, now));
        let before = commands.len();
        commands.extend(fresh.take(room));
        is_cut |= kind.is_own() && commands.len() - before == room;
        // A due time in the past belongs to a message being delivered. The end of its delivery
        // wakes this duty.
        let later = due.next.filter(|next| *next > now);
        next = [next, later].into_iter().flatten().min();
    }
    if commands.is_empty() {
        return Ok(next.map_or(NextTurn::Idle, |next| NextTurn::After(next.since(now))));
    }
    let each = commands.iter().map(|command| vec![command.clone()]).collect();
    let replies = isolate::each(&host, each).await?.into_iter();
    let replies = replies.map(|replies| replies.and_then(|mut replies| replies.pop()));
    let mut groups = BTreeMap::<(PromiseId, Option<OutboxKey>), DeliveryGroup>::new();
    for (command, reply) in commands.into_iter().zip(replies) {
        if let (Command::OutboxDue { key }, Some(Reply::Message(Some(delivery)))) = (command, reply)
            && channels.begin(key.clone())
        {
            // Events of one invocation are delivered one after the other, all other messages
            // concurrently.
            let own = (key.kind() != OutboxMessageKind::Event).then(|| key.clone());
            groups.entry((key.promise().clone(), own)).or_default().push((key, *delivery));
        }
    }
    // If no message was delivered, the store's clock may be behind this host's. An immediate next
    // turn would then repeat without end.
    let next = match (groups.is_empty(), is_cut) {
        (false, _) => NextTurn::Now,
        (true, true) => NextTurn::After(Millis(1)),
        (true, false) => NextTurn::Idle,
    };
    for group in groups.into_values() {
        host.env.runtime.spawn("delivery", Box::pin(carry(host.clone(), group)));
    }
    Ok(next)
}

type DeliveryGroup = Vec<(OutboxKey, Delivery)>;

fn is_carried(channels: &Channels, command: &Command) -> bool {
    matches!(command, Command::OutboxDue { key } if channels.carries(key))
}

/// Delivers messages one after the other. After a failure, the rest of the group is deferred as
/// well.
async fn carry(host: Host, mut group: DeliveryGroup) {
    group.sort_by(|(left, _), (right, _)| left.cmp(right));
    let mut held_up = None;
    for (key, delivery) in group {
        let delivered = match held_up {
            Some(delivered) => delivered,
            None => host.channels.deliver(key.kind(), &delivery).await,
        };
        if matches!(delivered, DeliveryResult::Again { .. }) {
            held_up = Some(delivered);
        }
        host.metrics.delivery.count(key.kind(), delivered);
        note(&host, &key, delivered).await;
        host.channels.end(&key);
        host.notifier.wake_outbox();
    }
}

/// Stores the result of a delivery.
async fn note(host: &Host, key: &OutboxKey, delivered: DeliveryResult) {
    if key.kind() == OutboxMessageKind::Execute && delivered != DeliveryResult::Elsewhere {
        // An `Execute` is delivered once; the task's retry covers a loss.
        return;
    }
    let key = key.clone();
    let command = match delivered {
        DeliveryResult::Done => Command::OutboxAck { key },
        DeliveryResult::Again { after } => {
            Command::OutboxDefer { key, until: Deferral::Failed { at_least: after } }
        }
        DeliveryResult::Elsewhere => Command::OutboxDefer { key, until: Deferral::Elsewhere },
        DeliveryResult::NotMine => Command::OutboxDefer { key, until: Deferral::Unclaimed },
    };
    match host.send(vec![command.clone()], OF_DELIVERIES).await {
        Ok(_) | Err(StoreError::Closed) => {}
        Err(error) => {
            tracing::warn!(%error, ?command, "the result of a delivery was not stored");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        sync::{Arc, Mutex, PoisonError},
    };

    use async_trait::async_trait;
    use segno_core::{
        promise::{NewPromise, Verdict},
        time::{Millis, Timestamp},
        value::{Tags, Text, Value},
    };

    use super::*;
    use crate::{delivery::Channel, testing};

    /// Takes the messages for `mine`, and fails the first `failures` deliveries.
    struct FailingChannel {
        mine: &'static str,
        failures: usize,
        seen: Mutex<Vec<String>>,
    }

    impl FailingChannel {
        fn new(mine: &'static str, failures: usize) -> Arc<Self> {
            Arc::new(Self { mine, failures, seen: Mutex::default() })
        }

        fn seen(&self) -> Vec<String> {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }
    }

    #[async_trait]
    impl Channel for FailingChannel {
        fn name(&self) -> &'static str {
            self.mine
        }

        fn takes(&self, kind: OutboxMessageKind) -> bool {
            kind == OutboxMessageKind::Unblock
        }

        async fn deliver(&self, delivery: &Delivery) -> DeliveryResult {
            let Delivery::Unblock { promise, address, .. } = delivery else {
                return DeliveryResult::NotMine;
            };
            if **address != *self.mine {
                return DeliveryResult::NotMine;
            }
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(promise.id().to_string());
            let failed = seen.len() <= self.failures;
            if failed {
                DeliveryResult::Again { after: Millis::ZERO }
            } else {
                DeliveryResult::Done
            }
        }
    }

    /// A host with a settled promise `p`, and messages owed to these addresses.
    async fn host(addresses: &[&str]) -> Host {
        let host = testing::host();
        let run = async |command| host.store.execute(vec![command]).await.expect("memory takes it");
        let (id, none) = (PromiseId::from("p"), Value::default());
        let new = NewPromise {
            id: id.clone(),
            param: none.clone(),
            tags: Tags::new(),
            timeout_at: Timestamp::NEVER,
        };
        run(Command::PromiseCreate(new)).await;
        for address in addresses {
            let address = Text::from(*address);
            run(Command::RegisterListener { awaited: id.clone(), address }).await;
        }
        run(Command::PromiseSettle { id, verdict: Verdict::Resolved, value: none }).await;
        host
    }

    async fn owed(host: &Host) -> BTreeSet<String> {
        let rows = host.store.read().dump().await.expect("memory answers").outbox;
        let text = |(key, row): (&OutboxKey, &segno_core::promise::OutboxRow)| match key {
            OutboxKey::Unblock(_, address) if row.next_at == Timestamp::NEVER => {
                format!("{address}, unclaimed")
            }
            OutboxKey::Unblock(_, address) => address.to_string(),
            other => panic!("{other:?}"),
        };
        rows.iter().map(text).collect()
    }

    /// Runs turns until no delivery is running and no message is due now.
    async fn settle(host: &Host) {
        while turn(host.clone()).await.expect("memory answers") == NextTurn::Now
            || host.channels.under_way(OutboxMessageKind::Unblock) > 0
        {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn kinds_that_no_channel_takes_are_left_alone() {
        let host = host(&["poll://a"]).await;
        let before = host.store.read().dump().await.expect("memory answers");
        for _ in 0..3 {
            assert_eq!(turn(host.clone()).await.expect("memory answers"), NextTurn::Idle);
        }
        assert_eq!(host.store.read().dump().await.expect("memory answers"), before);
    }

    #[tokio::test]
    async fn each_message_finds_its_channel_and_what_nobody_wants_lies_still() {
        let host = host(&["poll://a", "poll://b", "poll://c"]).await;
        let (a, b) = (FailingChannel::new("poll://a", 0), FailingChannel::new("poll://b", 0));
        host.channels.add(a.clone());
        host.channels.add(b.clone());
        settle(&host).await;
        assert_eq!((a.seen(), b.seen()), (vec!["p".to_owned()], vec!["p".to_owned()]));
        assert_eq!(owed(&host).await, BTreeSet::from(["poll://c, unclaimed".to_owned()]));
        let c = FailingChannel::new("poll://c", 0);
        host.channels.add(c.clone());
        settle(&host).await;
        assert_eq!(c.seen(), Vec::<String>::new(), "no command made it due");
        let key = OutboxKey::Unblock(PromiseId::from("p"), Text::from("poll://c"));
        let offer = Command::OutboxDefer { key, until: Deferral::Offered };
        host.store.execute(vec![offer]).await.expect("memory answers");
        settle(&host).await;
        assert_eq!(c.seen().len(), 1);
        assert_eq!(owed(&host).await, BTreeSet::new());
    }

    #[tokio::test]
    async fn what_did_not_arrive_is_handed_over_again_after_its_back_off() {
        let host = host(&["poll://a"]).await;
        let a = FailingChannel::new("poll://a", 2);
        host.channels.add(a.clone());
        let began = host.env.clock.now();
        while a.seen().len() < 3 || !owed(&host).await.is_empty() {
            let next = turn(host.clone()).await.expect("memory answers");
            let wait = if let NextTurn::After(wait) = next { wait } else { Millis(1) };
            host.env.runtime.sleep(wait.min(Millis(50))).await;
        }
        let took = host.env.clock.now().since(began);
        assert!(
            took >= Millis(300),
            "100 ms after the first failure, 200 after the second: {took:?}"
        );
        settle(&host).await;
        assert_eq!(a.seen().len(), 3);
    }
}
