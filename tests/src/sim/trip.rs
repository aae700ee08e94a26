//! Sagas: an external worker takes the steps of a trip, the last of which fails, and undoes the
//! others in reverse order. The stored facts alone determine the next compensation, so a worker
//! that takes over does the same.

use std::sync::atomic::Ordering;

use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    id::{Claim, CommandIndex, Holder, HostName, PromiseId, Version},
    promise::{NewPromise, Promise, Verdict},
    reply::{FenceResult, Reply},
    saga::{SagaNext, StepOutcome, saga_next, step_end},
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};

use super::{
    dice::Dice,
    effects,
    link::Link,
    outside::Outside,
    trip_rules::{SAGA, STEPS, TARGET, facts},
};

/// One claim on a trip.
struct Trip<'a> {
    outside: &'a Outside,
    link: Link,
    claim: Claim,
    dice: Dice,
}

impl Outside {
    /// Begins a trip.
    pub(super) async fn begin_trip(&self, id: &str) {
        let new = NewPromise {
            id: PromiseId::from(id),
            param: Value::default(),
            tags: Tags::from([(tags::TARGET.to_owned(), TARGET.to_owned())]),
            timeout_at: Timestamp::NEVER,
        };
        self.clients.insist(Command::PromiseCreate(new)).await;
    }

    /// Claims a trip and continues it for as long as the claim lasts.
    pub(super) async fn travel(&self, id: PromiseId, version: Version) {
        let number = self.claims.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("t{number}");
        let link = Link::of_client(name.clone(), self.network.clone());
        let holder = Holder { node: HostName::from(name.as_str()), incarnation: 1 };
        let request = ClaimRequest { holder, nonce: number, ttl: Millis(3_000) };
        let offer = Claim { id, version };
        let acquire = Command::TaskAcquire { claim: offer, request, stall_limit: None };
        let Reply::Task(acquired) = link.insist(acquire).await else { return };
        let claim = Claim { id: acquired.task.id.clone(), version: acquired.task.version };
        let dice = Dice::new(self.network.seed, &name);
        // `None`: the claim has ended, and another worker continues.
        let _ = Trip { outside: self, link, claim, dice }.go().await;
    }
}

impl Trip<'_> {
    async fn go(mut self) -> Option<()> {
        for seq in 0..STEPS {
            let id = self.claim.id.command(CommandIndex(seq));
            let tags = [
                (tags::SAGA, SAGA.to_owned()),
                (tags::SEQ, seq.to_string()),
                (tags::COMPENSATE, "poll://workers/undo".to_owned()),
            ];
            let tags = tags.map(|(name, value)| (name.to_owned(), value));
            let last = seq + 1 == STEPS;
            self.step(
                id,
                Tags::from(tags),
                if last { Verdict::Rejected } else { Verdict::Resolved },
            )
            .await?;
        }
        loop {
            let rows = self.outside.network.database.dump().await;
            let steps: Vec<StepOutcome> = (0..STEPS).map(|seq| self.seen(&rows, seq)).collect();
            let facts = facts(&rows, &self.claim.id);
            match saga_next(facts.map(|key| (key.seq, key.kind)), &steps, true) {
                SagaNext::Compensate { seq } => {
                    let undo = self.claim.id.compensation(SAGA, seq);
                    self.step(undo, Tags::new(), Verdict::Resolved).await?;
                    self.outside.network.log.count("steps of sagas undone");
                }
                SagaNext::Compensated => break,
                next => {
                    self.outside
                        .network
                        .log
                        .finding(format_args!("saga: {next:?} in {}", self.claim.id));
                    return None;
                }
            }
        }
        let (records, logs, claim) = (Vec::new(), Vec::new(), self.claim);
        let value = Value::of(&b"\"undone\""[..]);
        let verdict = Verdict::Rejected;
        self.link.insist(Command::TaskFulfill { claim, records, logs, verdict, value }).await;
        Some(())
    }

    /// Creates a promise, performs its step, and settles it. A settled step is not performed again.
    async fn step(&mut self, id: PromiseId, tags: Tags, verdict: Verdict) -> Option<()> {
        let new = NewPromise {
            id: id.clone(),
            param: Value::default(),
            tags,
            timeout_at: Timestamp::NEVER,
        };
        let made = self.act(FenceOperation::Create { new, request: None }).await?;
        if !made.is_pending() {
            return Some(());
        }
        let run = self.outside.effects.ran(id.as_str());
        let longest = if self.dice.chance(100) { 4_000 } else { 400 };
        self.outside.sleep(self.dice.between(1, longest)).await;
        let value = Value::of(effects::receipt(id.as_str(), run).into_bytes());
        self.act(FenceOperation::Settle { id, verdict, value }).await.map(drop)
    }

    async fn act(&self, act: FenceOperation) -> Option<Promise> {
        let actions = vec![FenceAction { index: CommandIndex(0), act }];
        let (records, logs, claim) = (Vec::new(), Vec::new(), self.claim.clone());
        let reply = self.link.insist(Command::TaskFence { claim, records, logs, actions }).await;
        let Reply::Fenced { mut outcomes, .. } = reply else { return None };
        match outcomes.pop() {
            Some((_, Ok(FenceResult::Promise { promise, .. }))) => Some(promise),
            other => {
                self.outside.network.log.finding(format_args!("a fence was answered {other:?}"));
                None
            }
        }
    }

    fn seen(&self, rows: &Snapshot, seq: u32) -> StepOutcome {
        let promise = rows.promises.get(&self.claim.id.command(CommandIndex(seq)));
        StepOutcome { seq, end: step_end(promise) }
    }
}
