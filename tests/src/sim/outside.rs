//! External workers and clients: their reactions to messages, and their retries.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use segno_core::{
    address,
    command::{ClaimRequest, Command, HeartbeatItem},
    id::{Claim, Digest, Holder, HostName, PromiseId, Version},
    promise::{Delivery, NewPromise, OutboxKey, Promise, Verdict},
    reply::{Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};
use segno_engine::values;
use segno_env::Runtime;
use segno_guest::Payload;
use segno_sim::StoreGate;
use tokio::sync::mpsc;

use super::{
    crowd,
    dice::Dice,
    effects::{self, Effects},
    link::Link,
    network::Network,
    resonate::{Client, Worker},
    scenario::Op,
    trip_rules,
};

/// The one module, as uploaded.
pub(super) const MODULE: &[u8] = b"a script";
/// Address at which clients receive messages.
pub(super) const ADDRESS: &str = "poll://client";

/// All external workers and clients.
pub(super) struct Outside {
    pub(super) network: Arc<Network>,
    pub(super) effects: Arc<Effects>,
    pub(super) clients: Link,
    /// Client of the Resonate protocol.
    pub resonate: Arc<Client>,
    pub(super) claims: AtomicU64,
    open: AtomicU64,
    heard: Mutex<Heard>,
}

/// Messages that clients have received.
#[derive(Default, Clone)]
pub(super) struct Heard {
    /// Promises for which clients registered a listener.
    pub listening: BTreeSet<PromiseId>,
    /// Settled promises that clients received.
    pub told: BTreeMap<PromiseId, Promise>,
    /// Published events, by invocation and command.
    pub events: BTreeSet<(PromiseId, u32)>,
}

impl Outside {
    /// Starts all workers and clients. They receive `messages`.
    pub(super) fn start(
        network: Arc<Network>,
        effects: Arc<Effects>,
        workers: Vec<Arc<Worker>>,
        mut messages: mpsc::UnboundedReceiver<Delivery>,
    ) -> Arc<Self> {
        let outside = Arc::new(Self {
            clients: Link::of_client("client".into(), network.clone()),
            network: network.clone(),
            resonate: Client::start(network.clone(), workers),
            effects,
            claims: AtomicU64::new(0),
            open: AtomicU64::new(0),
            heard: Mutex::default(),
        });
        let everybody = outside.clone();
        network.runtime.spawn(
            "outside",
            Box::pin(async move {
                while let Some(delivery) = messages.recv().await {
                    let one = everybody.clone();
                    everybody.network.runtime.spawn(
                        "message",
                        Box::pin(async move {
                            one.receive(delivery).await;
                        }),
                    );
                }
            }),
        );
        outside
    }

    /// True if every operation is complete.
    pub(super) fn is_idle(&self) -> bool {
        self.open.load(Ordering::Relaxed) == 0
    }

    /// Messages that clients have received so far.
    pub(super) fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Continues a halted invocation, as an operator does.
    pub(super) async fn resume(&self, id: PromiseId) {
        self.clients.insist(Command::TaskContinue { id }).await;
    }

    /// Schedules an operation at an instant.
    pub(super) fn plan(self: &Arc<Self>, at: i64, op: Op) {
        self.open.fetch_add(1, Ordering::Relaxed);
        let one = self.clone();
        self.network.runtime.spawn(
            "client",
            Box::pin(async move {
                one.wait(at).await;
                one.network.log.note(format_args!("client   {op:?}"));
                one.act(&op).await;
                one.open.fetch_sub(1, Ordering::Relaxed);
            }),
        );
    }

    async fn receive(&self, delivery: Delivery) {
        match delivery {
            Delivery::Execute { task, version, target }
                if target.as_str() == trip_rules::TARGET =>
            {
                self.travel(task, version).await;
            }
            Delivery::Execute { task, version, .. } => self.perform(task, version).await,
            Delivery::Unblock { promise, address, .. } => {
                let id = promise.id().clone();
                let known = self.heard().told.insert(id.clone(), promise.clone());
                if known.is_some_and(|known| known != promise) {
                    self.network.log.finding(format_args!("`{id}` was told of with two outcomes"));
                }
                // If the command is lost, the message is delivered again.
                let ack = Command::OutboxAck { key: OutboxKey::Unblock(id, address) };
                let _ = StoreGate::commit(&self.clients, vec![ack]).await;
            }
            Delivery::Event { source, index, .. } => {
                self.heard().events.insert((source.clone(), index.0));
                let ack = Command::OutboxAck { key: OutboxKey::Event(source, index) };
                let _ = StoreGate::commit(&self.clients, vec![ack]).await;
            }
        }
    }

    /// One attempt of a step by an external worker. The attempt may be too slow, and continues all
    /// the same.
    async fn perform(&self, task: PromiseId, version: Version) {
        let number = self.claims.fetch_add(1, Ordering::Relaxed) + 1;
        let link = Link::of_client(format!("w{number}"), self.network.clone());
        let holder = Holder { node: HostName::from(format!("w{number}").as_str()), incarnation: 1 };
        let request = ClaimRequest { holder: holder.clone(), nonce: number, ttl: Millis(3_000) };
        let offer = Claim { id: task.clone(), version };
        let acquire = Command::TaskAcquire { claim: offer, request, stall_limit: None };
        let Reply::Task(acquired) = link.insist(acquire).await else { return };
        let claim = Claim { id: task.clone(), version: acquired.task.version };
        let run = self.effects.ran(task.as_str());
        let mut left = self.effects.length(task.as_str(), run);
        let mut steps = 0;
        while left > 0 {
            self.sleep(left.min(1_000)).await;
            left -= 1_000;
            steps += 1;
            let items = vec![HeartbeatItem { claim: claim.clone(), progress: Some((steps, None)) }];
            let beat = Command::TaskHeartbeat { holder: holder.clone(), items };
            // A careless worker ignores the answer.
            let _ = StoreGate::commit(&link, vec![beat]).await;
        }
        let value = Value::of(effects::receipt(task.as_str(), run).into_bytes());
        let (records, logs) = (Vec::new(), Vec::new());
        let verdict = Verdict::Resolved;
        link.insist(Command::TaskFulfill { claim, records, logs, verdict, value }).await;
    }

    /// Starts the invocation speculatively at a host, or not at all. The host may refuse, die, or
    /// answer late, so the client checks afterwards.
    async fn begin(&self, new: &NewPromise) {
        let mut dice = Dice::new(self.network.seed, &format!("start {}", new.id));
        if dice.chance(500)
            && let Some((slots, slot)) = self.network.running_hosts.any(&mut dice, new)
        {
            let told = slots.begin(slot, new.clone(), Digest::of(MODULE));
            tokio::select! {
                biased;
                _ = told => {}
                () = self.sleep(3_000) => {}
            }
        }
    }

    async fn act(&self, op: &Op) {
        let id = PromiseId::from(op.id());
        match op {
            Op::Resonate { id, errand } => self.resonate.act(id, errand).await,
            Op::Services { errand, .. } => {
                self.network.log.count("invocations of services");
                let (target, input) = (errand.target(), Payload::Json(errand.input().to_string()));
                let new = NewPromise {
                    id,
                    param: values::param(&address::function_of(&target), &input, Tags::new()),
                    tags: Tags::from([(tags::TARGET.to_owned(), target)]),
                    timeout_at: Timestamp::NEVER,
                };
                self.clients.insist(Command::PromiseCreate(new)).await;
            }
            Op::Timetable { id, overlap, lasts } => {
                self.keep_timetable(id, *overlap, *lasts).await;
            }
            Op::Hold { resource, client } => self.hold(resource, *client).await,
            Op::Trip { id } => self.begin_trip(id).await,
            Op::Limit { name, rule } => {
                let (name, rule) = (name.clone(), rule.clone());
                self.clients.insist(Command::LimitSet { name, rule }).await;
            }
            Op::Start { function, input, .. } => {
                if function.contains('@') {
                    self.network.log.count("executions of objects");
                }
                if crowd::FUNCTIONS.contains(function) {
                    self.network.log.count("executions behind limits");
                }
                let input = Payload::Json(crowd::input(function, *input));
                let target = format!("wasm://m/{function}");
                let new = NewPromise {
                    id,
                    param: values::param(function, &input, Tags::new()),
                    tags: Tags::from([(tags::TARGET.to_owned(), target)]),
                    timeout_at: Timestamp::NEVER,
                };
                self.begin(&new).await;
                self.clients.insist(Command::PromiseCreate(new)).await;
            }
            Op::Listen { .. } => {
                let address = Text::from(ADDRESS);
                let listen = Command::RegisterListener { awaited: id.clone(), address };
                self.heard().listening.insert(id.clone());
                if let Some(Reply::Promise { promise, .. }) = self.once_there(&id, listen).await
                    && !promise.is_pending()
                {
                    self.heard().told.insert(id, promise);
                }
            }
            Op::Resolve { name, .. } => {
                let settle = Command::PromiseSettle {
                    id: PromiseId::from(format!("{id}/p/{name}").as_str()),
                    verdict: Verdict::Resolved,
                    value: Value::of(&b"true"[..]),
                };
                self.once_there(&id, settle).await;
            }
            Op::Signal { number, .. } => {
                let signal = Command::Signal {
                    invocation: id.clone(),
                    name: Text::from("s"),
                    payload: Value::of(number.to_string().into_bytes()),
                    key: Some(Text::from(format!("k{number}"))),
                };
                self.once_there(&id, signal).await;
            }
            Op::Cancel { .. } => {
                self.once_there(&id, Command::Cancel { invocation: id.clone() }).await;
            }
            Op::Kill { .. } => {
                self.once_there(&id, Command::Kill { invocation: id.clone() }).await;
            }
            Op::Pause { lasts, .. } => {
                self.once_there(&id, Command::TaskHalt { id: id.clone() }).await;
                self.sleep(*lasts).await;
                self.once_there(&id, Command::TaskContinue { id: id.clone() }).await;
            }
        }
    }

    /// Repeats a command until its object exists, or can no longer exist.
    async fn once_there(&self, id: &PromiseId, command: Command) -> Option<Reply> {
        let root = PromiseId::from(id.as_str().split('/').next().unwrap_or_default());
        // The invocation may have begun and ended since the last check. Its outcome can still be
        // listened for.
        let about_root =
            matches!(&command, Command::RegisterListener { awaited, .. } if *awaited == root);
        for _ in 0..600 {
            let reply = self.clients.insist(command.clone()).await;
            if !matches!(reply, Reply::Refused(Refusal::NotFound(_))) {
                return Some(reply);
            }
            let get = Command::PromiseGet { id: root.clone() };
            if let Reply::Promise { promise, .. } = self.clients.insist(get).await
                && !promise.is_pending()
                && !about_root
            {
                return None;
            }
            self.sleep(110).await;
        }
        self.network.log.finding(format_args!("{command:?} never found what it is about"));
        None
    }

    async fn wait(&self, at: i64) {
        self.sleep(at - self.network.log.at()).await;
    }

    pub(super) async fn sleep(&self, length: i64) {
        if length > 0 {
            self.network.runtime.sleep(Millis(length)).await;
        }
    }
}
