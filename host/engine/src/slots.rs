//! Slots: every unit of work on this host holds one. There are three kinds, each with its own
//! limit, so that work that only waits for an external answer takes nothing from work that
//! computes.
//!
//! The modules and services share the slots of a kind fairly ([`FairShares`]): a module that takes
//! all it can get leaves some for newcomers.
//!
//! A caller that creates an invocation may take a slot first, and create the invocation together
//! with the claim on it. One commit then replaces three steps: to create the task, to receive the
//! hint that it is ready, and to acquire it. If no slot is free, tasks are created without a claim
//! and wait in the queue.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    address::SERVICE_SCHEME,
    command::ClaimRequest,
    fair_share::FairShares,
    id::{Digest, Holder, PromiseId},
    promise::{NewPromise, Promise, module_name},
    reply::{Reply, TaskReply},
    tags,
    time::Millis,
    value::Text,
};
use segno_env::{BoxFuture, Env};
use segno_store::StoreError;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    lease_ttl::AdaptiveLeaseTtl,
    target::{HTTP, STREAM},
};

/// Maximum number of targets remembered as activities.
const ACTIVITIES_KNOWN: usize = 4_096;

/// The kind of work that a slot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SlotKind {
    /// A workflow or a graph run: it computes, or waits briefly.
    Execution,
    /// An HTTP step or an attempt of a service: it waits for a response, and holds a connection.
    Request,
    /// An attempt of an activity: it may wait for a response, and holds an instance.
    Activity,
}

/// Number of slots of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotLimits {
    /// Number of slots of [`SlotKind::Execution`].
    pub executions: usize,
    /// Number of slots of [`SlotKind::Request`].
    pub requests: usize,
    /// Number of slots of [`SlotKind::Activity`], in places of the instance pool.
    pub activities: usize,
}

/// The end of the pool for callers that create invocations.
pub struct ExecutionSlots {
    claims: ClaimContext,
    shared: Arc<SlotState>,
}

/// The state that both ends and all slots share.
struct SlotState {
    rooms: Mutex<SlotShares>,
    changes: mpsc::UnboundedSender<Vec<ClaimedTask>>,
    freed: Notify,
}

struct SlotShares {
    executions: FairShares<Text>,
    requests: FairShares<Text>,
    activities: FairShares<Text>,
    /// The targets known to be activities, with the number of places that an instance takes.
    known: HashMap<Text, usize>,
}

/// The parameters of new claims.
pub struct ClaimContext {
    /// The holder of the claims.
    pub holder: Holder,
    /// The duration of the leases.
    pub lease_ttl: Arc<AdaptiveLeaseTtl>,
    /// Extends the leases.
    pub renewer: Arc<dyn LeaseRenewer>,
    /// Starts invocations that are not stored yet.
    pub optimistic_start: Arc<dyn OptimisticStart>,
    /// The source of nonces and time.
    pub env: Env,
    /// Cancelled when the host shuts down. No slot is handed out after that.
    pub draining: CancellationToken,
}

/// Extends claims immediately, instead of with the next heartbeat.
pub trait LeaseRenewer: Send + Sync + 'static {
    /// Completes when the claims on those tasks that this host still executes are extended, if
    /// possible.
    fn renew(&self, ids: Vec<PromiseId>) -> BoxFuture<()>;
}

/// Starts invocations that are not stored yet.
pub trait OptimisticStart: Send + Sync + 'static {
    /// Runs the invocation immediately, and stores it with its first commit. The execution
    /// continues if the client that started it disconnects.
    fn begin(&self, start: StartRequest);

    /// Runs tasks that were claimed with their creation.
    fn run(&self, claimed: Vec<ClaimedTask>);
}

/// A request to store an invocation and to start it.
pub struct StartRequest {
    pub slot: Slot,
    /// The promise to create.
    pub new: NewPromise,
    /// The claim to create.
    pub request: ClaimRequest,
    /// The module that the target resolves to on this host. The store makes the final decision.
    pub module: Digest,
    /// Receives the reply to [`Command::TaskBegin`](segno_core::command::Command::TaskBegin).
    pub answer: oneshot::Sender<Result<Reply, StoreError>>,
}

/// The dispatcher's end of the pool.
pub struct SlotPool {
    shared: Arc<SlotState>,
    changed: mpsc::UnboundedReceiver<Vec<ClaimedTask>>,
}

/// One slot. Dropping it frees it.
pub struct Slot {
    kind: SlotKind,
    /// The module or service that holds it.
    who: Text,
    places: usize,
    shared: Arc<SlotState>,
}

/// A task that was claimed by a caller with a slot.
pub struct ClaimedTask {
    pub slot: Slot,
    /// The task and its claim.
    pub acquired: TaskReply,
    /// The promises that the task waited for and that are known to have settled.
    pub settled: Vec<Promise>,
}

/// The two ends of a pool with this number of slots.
pub fn pool(claims: ClaimContext, limits: SlotLimits) -> (ExecutionSlots, SlotPool) {
    let (changes, changed) = mpsc::unbounded_channel();
    let rooms = SlotShares {
        executions: FairShares::new(limits.executions),
        requests: FairShares::new(limits.requests),
        activities: FairShares::new(limits.activities),
        known: HashMap::new(),
    };
    let shared = Arc::new(SlotState { rooms: Mutex::new(rooms), changes, freed: Notify::new() });
    let slots = ExecutionSlots { claims, shared: shared.clone() };
    (slots, SlotPool { shared, changed })
}

impl ExecutionSlots {
    /// Takes a slot for this invocation. Returns it with the parameters of a claim. `None` if no
    /// slot is free or the host is shutting down.
    pub fn slot(&self, new: &NewPromise) -> Option<(Slot, ClaimRequest)> {
        self.slot_for(new, false)
    }

    /// The same for an invocation that another one creates.
    pub(crate) fn slot_of_call(&self, new: &NewPromise) -> Option<(Slot, ClaimRequest)> {
        self.slot_for(new, true)
    }

    /// The same for an execution that waits for its turn.
    pub(crate) fn slot_of_waiting(&self, promise: &Promise) -> Option<(Slot, ClaimRequest)> {
        if self.claims.draining.is_cancelled() {
            return None;
        }
        let who = Text::from(promise.module_name());
        Some((self.shared.take(promise.target()?, who)?, self.claim_request()))
    }

    fn slot_for(&self, new: &NewPromise, is_made: bool) -> Option<(Slot, ClaimRequest)> {
        if self.claims.draining.is_cancelled() {
            return None;
        }
        let target = tags::target(&new.tags).unwrap_or_default();
        let who = Text::from(module_name(&new.tags, &new.param.headers, is_made));
        Some((self.shared.take(target, who)?, self.claim_request()))
    }

    /// Takes up to `wanted` slots for executions of any module. If fewer than both `wanted` and
    /// `enough` are free, the call waits up to `patience` for more.
    pub async fn slots(
        &self,
        wanted: usize,
        enough: usize,
        patience: Millis,
    ) -> Vec<(Slot, ClaimRequest)> {
        let mut slots = Vec::new();
        let enough = enough.min(wanted).min(self.shared.rooms().executions.most_for_any());
        let filling = async {
            loop {
                let mut freed = pin!(self.shared.freed.notified());
                freed.as_mut().enable();
                let taken = std::iter::from_fn(|| self.for_any());
                slots.extend(taken.take(wanted - slots.len()));
                if slots.len() >= enough || self.claims.draining.is_cancelled() {
                    return;
                }
                freed.await;
            }
        };
        self.claims.env.within(patience, filling).await;
        slots
    }

    fn for_any(&self) -> Option<(Slot, ClaimRequest)> {
        if self.claims.draining.is_cancelled() {
            return None;
        }
        let who = Text::default();
        let taken = self.shared.rooms().executions.take_for_any(who.clone(), 1);
        let slot = || Slot::new(SlotKind::Execution, who, 1, &self.shared);
        taken.then(|| (slot(), self.claim_request()))
    }

    /// Runs tasks that were claimed together.
    pub fn run(&self, arrivals: Vec<ClaimedTask>) {
        if !arrivals.is_empty() {
            let _ = self.shared.changes.send(arrivals);
        }
    }

    /// Runs tasks that were claimed with their creation, without the dispatcher.
    pub(crate) fn run_now(&self, arrivals: Vec<ClaimedTask>) {
        self.claims.optimistic_start.run(arrivals);
    }

    /// Starts an invocation that runs `module`, in a slot from [`ExecutionSlots::slot`]. The
    /// receiver gets the reply when the invocation is stored.
    pub fn begin(
        &self,
        (slot, request): (Slot, ClaimRequest),
        new: NewPromise,
        module: Digest,
    ) -> oneshot::Receiver<Result<Reply, StoreError>> {
        let (answer, told) = oneshot::channel();
        self.claims.optimistic_start.begin(StartRequest { slot, new, request, module, answer });
        told
    }

    fn claim_request(&self) -> ClaimRequest {
        let ClaimContext { holder, lease_ttl, env, .. } = &self.claims;
        ClaimRequest { holder: holder.clone(), nonce: env.runtime.nonce(), ttl: lease_ttl.ttl() }
    }

    /// Extends those of these claims that belong to this host and are still in use, so that a host
    /// that was held up does not let its own running work expire.
    pub async fn renew(&self, ids: Vec<PromiseId>) {
        self.claims.renewer.renew(ids).await;
    }
}

impl SlotShares {
    fn of(&mut self, kind: SlotKind) -> &mut FairShares<Text> {
        match kind {
            SlotKind::Execution => &mut self.executions,
            SlotKind::Request => &mut self.requests,
            SlotKind::Activity => &mut self.activities,
        }
    }

    /// The kind and number of places that a run of `target` needs, as far as known in advance.
    fn needs(&self, target: &str) -> (SlotKind, usize) {
        if [HTTP, STREAM].contains(&target) || target.starts_with(SERVICE_SCHEME) {
            return (SlotKind::Request, 1);
        }
        match self.known.get(target) {
            Some(places) => (SlotKind::Activity, *places),
            None => (SlotKind::Execution, 1),
        }
    }
}

impl SlotState {
    fn rooms(&self) -> MutexGuard<'_, SlotShares> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, target: &str, who: Text) -> Option<Slot> {
        let mut rooms = self.rooms();
        let (kind, places) = rooms.needs(target);
        let taken = rooms.of(kind).take(who.clone(), places);
        drop(rooms);
        taken.then(|| Slot::new(kind, who, places, self))
    }

    fn give_back(&self, kind: SlotKind, who: &Text, places: usize) {
        self.rooms().of(kind).give_back(who, places);
        self.freed.notify_waiters();
        let _ = self.changes.send(Vec::new());
    }
}

impl Slot {
    fn new(kind: SlotKind, who: Text, places: usize, shared: &Arc<SlotState>) -> Self {
        Self { kind, who, places, shared: shared.clone() }
    }

    /// Changes the slot to this kind, number of places and holder `who`. Returns false and changes
    /// nothing if there is no room.
    pub fn turn_into(&mut self, kind: SlotKind, who: &str, places: usize) -> bool {
        let who = Text::from(who);
        if (kind, places) == (self.kind, self.places) {
            if who != self.who {
                self.shared.rooms().of(kind).hand_over(&self.who, who.clone(), places);
                self.who = who;
            }
            return true;
        }
        let taken = self.shared.rooms().of(kind).take(who.clone(), places);
        if taken {
            *self = Self::new(kind, who, places, &self.shared.clone());
        }
        taken
    }

    /// Remembers that `target` is an activity whose instances take this number of places. `None`:
    /// it is not an activity.
    pub fn learn(&self, target: &str, places: Option<usize>) {
        let known = &mut self.shared.rooms().known;
        match places {
            Some(_) if known.get(target).copied() == places => {}
            Some(places) => {
                if known.len() >= ACTIVITIES_KNOWN {
                    known.clear();
                }
                known.insert(Text::from(target), places);
            }
            None => drop(known.remove(target)),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // The slot is free before the dispatcher is notified.
        self.shared.give_back(self.kind, &self.who, self.places);
    }
}

impl SlotPool {
    /// The kind of slot that `target` needs, as far as known.
    pub fn kind(&self, target: &str) -> SlotKind {
        self.shared.rooms().needs(target).0
    }

    /// A slot for `target`, held by `who`. `None` if there is no room.
    pub fn slot(&self, target: &str, who: &Text) -> Option<Slot> {
        self.shared.take(target, who.clone())
    }

    /// True if every slot is free.
    pub fn is_empty(&self) -> bool {
        self.taken().into_iter().all(|(_, taken)| taken == 0)
    }

    /// The number of slots in use, by kind.
    pub fn taken(&self) -> [(SlotKind, usize); 3] {
        let mut rooms = self.shared.rooms();
        [SlotKind::Execution, SlotKind::Request, SlotKind::Activity]
            .map(|kind| (kind, rooms.of(kind).taken()))
    }

    /// The next claimed tasks. An empty list means that a slot became free.
    pub async fn next(&mut self) -> Vec<ClaimedTask> {
        self.changed.recv().await.expect("the sender lives as long as the receiver")
    }
}
