//! Everything that can be asked of the engine. One command is one transaction; several may share
//! one.

use std::collections::BTreeSet;

use crate::{
    fork::Fork,
    graph::{NodeRow, Reset},
    id::{
        Claim, CommandIndex, Digest, Holder, NodeName, ObjectId, PromiseId, ResourceName,
        ScheduleId, Version,
    },
    invocation::{LogLine, Record},
    limit::{LimitName, Rule},
    object::StateWrite,
    promise::{Deferral, FenceToken, NewPromise, NewSchedule, OutboxKey, ReleaseReason, Verdict},
    time::{Millis, Timestamp},
    value::{Bytes, Text, Value},
};

/// A command. A caller that does not know the outcome of a command may send it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Reads a promise.
    PromiseGet {
        /// Which.
        id: PromiseId,
    },
    /// Makes a promise, and its task if it has a target; answers the existing one if the id is
    /// taken.
    PromiseCreate(NewPromise),
    /// Gives a promise its outcome; answers the stored one if it has one.
    PromiseSettle {
        /// Which.
        id: PromiseId,
        /// The outcome; not `TimedOut`.
        verdict: Verdict,
        /// Its value.
        value: Value,
    },
    /// Resumes the task of `awaiter` when `awaited` settles.
    RegisterCallback {
        /// The promise waited for.
        awaited: PromiseId,
        /// The promise whose task waits.
        awaiter: PromiseId,
    },
    /// Tells `address` when `awaited` settles.
    RegisterListener {
        /// The promise waited for.
        awaited: PromiseId,
        /// Whom to tell.
        address: Text,
    },
    /// Reads a task and its promise.
    TaskGet {
        /// Which.
        id: PromiseId,
    },
    /// Makes a promise and acquires its task at once.
    TaskCreate {
        /// The promise; it has a target.
        new: NewPromise,
        /// For whom.
        request: ClaimRequest,
    },
    /// Makes an invocation that its holder has run already, up to where something of it has to be
    /// stored: the promise, the claim, and what that first run came to are one transaction. If the
    /// promise is there, or is born settled, or runs another module, then nothing is done under the
    /// claim. If any of it is refused, all of it is.
    TaskBegin {
        /// The promise; it has a target.
        new: NewPromise,
        /// For whom.
        request: ClaimRequest,
        /// The module that ran.
        module: Digest,
        /// When it began to run: the promise is as old as that, or made now if that is still to
        /// come.
        at: Timestamp,
        /// The version at which the holder took tasks to be born: `first` is done under the claim
        /// that follows from that ([`Claim::first`]). Where tasks are born at another one by now,
        /// nothing is done under the claim.
        born: Version,
        /// What is done under the claim, in order: fences, and a suspension or a fulfillment.
        first: Vec<Command>,
    },
    /// Makes an invocation that begins with records of another one, and is offered. What those
    /// records tell is not done again; what was open at that place, its holder does anew.
    InvocationFork(Box<Fork>),
    /// Takes a pending task, offered at this version.
    TaskAcquire {
        /// The task and the version it was offered at.
        claim: Claim,
        /// For whom.
        request: ClaimRequest,
        /// How long without progress; none: the host's default.
        stall_limit: Option<Millis>,
    },
    /// Extends claims.
    TaskHeartbeat {
        /// Whose.
        holder: Holder,
        /// Which.
        items: Vec<HeartbeatItem>,
    },
    /// Extends every claim of a holder outside.
    WorkerHeartbeat {
        /// Whose.
        holder: Holder,
    },
    /// Offers again what a holder outside holds and has not been heard about: it seems to be gone.
    WorkerGone {
        /// Whose.
        holder: Holder,
        /// Claims that were heard of at this instant or later are left to their leases.
        unheard_since: Timestamp,
    },
    /// Appends records and acts under a claim: one gate, one transaction.
    TaskFence {
        /// The claim.
        claim: Claim,
        /// What the journal gains.
        records: Vec<Record>,
        /// What the guest logged meanwhile.
        logs: Vec<LogLine>,
        /// What is done, in order.
        actions: Vec<FenceAction>,
    },
    /// Gives the claim back until one of these promises settles.
    TaskSuspend {
        /// The claim.
        claim: Claim,
        /// What the journal gains.
        records: Vec<Record>,
        /// What the guest logged meanwhile.
        logs: Vec<LogLine>,
        /// The promises waited for; the invocation's own next signal is made if it is absent.
        awaits: BTreeSet<PromiseId>,
    },
    /// Settles the promise under a claim. If the journal gains the event that led to the end, and
    /// the execution was asked to stop and has not been told, then nothing is done: it can still be
    /// told, by an execution that does without that event.
    TaskFulfill {
        /// The claim.
        claim: Claim,
        /// What the journal gains.
        records: Vec<Record>,
        /// What the guest logged meanwhile.
        logs: Vec<LogLine>,
        /// The outcome; not `TimedOut`.
        verdict: Verdict,
        /// Its value.
        value: Value,
    },
    /// Ends a generation of a workflow under a claim, and makes the next one: it has the labels, the
    /// deadline, and whatever nobody read of what this one was sent.
    TaskHandOver {
        /// The claim.
        claim: Claim,
        /// What the journal gains.
        records: Vec<Record>,
        /// What the guest logged meanwhile.
        logs: Vec<LogLine>,
        /// The parameter of the next generation.
        param: Value,
        /// Whether the next generation runs the module of this one, and not the one that its target names
        /// now.
        same_module: bool,
        /// Signals that the workflow was told and never read, by number, ascending.
        unread: Vec<u32>,
    },
    /// Gives the claim back without an outcome.
    TaskRelease {
        /// The claim.
        claim: Claim,
        /// Why.
        reason: ReleaseReason,
    },
    /// Stops a task until a person continues it.
    TaskHalt {
        /// Which.
        id: PromiseId,
    },
    /// Offers a halted task again.
    TaskContinue {
        /// Which.
        id: PromiseId,
    },
    /// Moves a task that no worker holds to another module, which was shown to repeat its journal. One
    /// that is halted or suspended is offered again.
    TaskMigrate {
        /// Which.
        id: PromiseId,
        /// The module that continues it.
        module: Digest,
        /// Number of records that the module repeated: all there are.
        records: u32,
    },
    /// Asks an invocation to stop; one that cannot be told is settled.
    Cancel {
        /// Which.
        invocation: PromiseId,
    },
    /// Settles an invocation as cancelled, whatever it is doing.
    Kill {
        /// Which.
        invocation: PromiseId,
    },
    /// Sends an invocation a signal.
    Signal {
        /// To which.
        invocation: PromiseId,
        /// The signal's name.
        name: Text,
        /// Its payload.
        payload: Value,
        /// Makes repeating the command harmless.
        key: Option<Text>,
    },
    /// Sends an invocation a signal, and makes it first if there is none of this id.
    SignalStart {
        /// The invocation; it has a target.
        new: NewPromise,
        /// The signal's name.
        name: Text,
        /// Its payload.
        payload: Value,
        /// Makes repeating the command harmless.
        key: Option<Text>,
    },
    /// Tells a workflow of an update that it takes, and which it is to answer by settling the promise
    /// [`PromiseId::answer`]. Refused where the workflow that was asked whether it takes it had not
    /// seen everything.
    Update {
        /// To which.
        invocation: PromiseId,
        /// The update's name.
        name: Text,
        /// Its input, as JSON.
        input: Text,
        /// Makes repeating the command harmless.
        key: Option<Text>,
        /// Number of records that the workflow had seen.
        records: u32,
        /// Number of signals that it had seen.
        signals: u32,
    },
    /// Makes an alias stand for an uploaded module.
    Deploy {
        /// The alias.
        alias: Text,
        /// The module.
        module: Digest,
    },
    /// Removes the journal of an execution that has ended, with what it logged. Its outcome stays.
    JournalRemove {
        /// The execution.
        id: PromiseId,
    },
    /// Takes an alias away from a module. What was started through it goes on.
    Undeploy {
        /// The alias.
        alias: Text,
        /// The module that it stands for, as the caller knows.
        module: Digest,
    },
    /// Reads a resource and the lease on it.
    ResourceGet {
        /// Which.
        name: ResourceName,
    },
    /// Takes a resource for a while, with a token larger than all before it.
    ResourceLease {
        /// Which.
        name: ResourceName,
        /// Who takes it.
        holder: Text,
        /// For how long; zero gives it back.
        ttl: Millis,
    },
    /// Writes a resource, if no later token has written it.
    FencedPut {
        /// Which.
        name: ResourceName,
        /// What it holds then.
        value: Value,
        /// The writer's token.
        token: FenceToken,
    },
    /// Writes the state of an object in an operator's name, while it is nobody's turn.
    ObjectWrite {
        /// Which.
        object: ObjectId,
        /// What is written.
        write: StateWrite,
    },
    /// Sets a limit in an operator's name, for all executions that begin from now on.
    LimitSet {
        /// Which.
        name: LimitName,
        /// What holds then; none: what the module says.
        rule: Option<Rule>,
    },
    /// Those who wait behind a limit may have room.
    LimitDue {
        /// Which.
        name: LimitName,
    },
    /// Makes a schedule; answers the existing one, unchanged, if the id is taken.
    ScheduleCreate(NewSchedule),
    /// Removes a schedule; what it made stays.
    ScheduleDelete {
        /// Which.
        id: ScheduleId,
    },
    /// Stops a schedule, or lets it go on with its next occurrence; those in between are not made
    /// up for.
    SchedulePause {
        /// Which.
        id: ScheduleId,
        /// Whether it is to stand still.
        paused: bool,
    },
    /// Makes the promises of occurrences in the past, in order, a page at a time; repeating it
    /// makes none twice.
    ScheduleBackfill {
        /// Which.
        id: ScheduleId,
        /// The first instant that counts.
        from: Timestamp,
        /// The first instant after it that does not.
        to: Timestamp,
    },
    /// Makes the promise of an occurrence of a schedule that its expression does not name, also while it
    /// is paused.
    ScheduleTrigger {
        /// Which.
        id: ScheduleId,
        /// The instant that the promise is named after; repeating the command with it makes nothing.
        at: Timestamp,
    },
    /// The next occurrence of a schedule may have come.
    ScheduleDue {
        /// Which.
        id: ScheduleId,
    },
    /// The deadline of a promise may have come.
    PromiseDue {
        /// Which.
        id: PromiseId,
    },
    /// The lease of a task may have run out.
    LeaseDue {
        /// Which.
        id: PromiseId,
    },
    /// It may be time to offer a task again.
    RetryDue {
        /// Which.
        id: PromiseId,
    },
    /// It may be time to hand a message over.
    OutboxDue {
        /// Which.
        key: OutboxKey,
    },
    /// A message was delivered.
    OutboxAck {
        /// Which.
        key: OutboxKey,
    },
    /// A message that was handed over, or that lies there, is put off.
    OutboxDefer {
        /// Which.
        key: OutboxKey,
        /// Until when.
        until: Deferral,
    },
    /// A host begins a new life.
    HostStart {
        /// Its name.
        node: NodeName,
    },
    /// A task is held by an earlier life of a host.
    HostRelease {
        /// Which.
        id: PromiseId,
        /// The host.
        node: NodeName,
        /// Its present incarnation.
        below: u64,
    },
    /// Removes a finished tree: a promise and everything made by its members.
    Prune {
        /// Its root; of a tree that is too large for one command, also the top of a part of it.
        top: PromiseId,
        /// When the last of it has to have settled.
        before: Timestamp,
        /// Whether all of the tree around `top` was seen to be finished, so that a part of it may
        /// go.
        part: bool,
        /// Whether the state of an object goes with the last of its executions. It always goes with
        /// the run of a key that runs once.
        state: bool,
    },
    /// Looks for damage to one composite, and mends what follows from other facts.
    Reconcile {
        /// Which.
        id: PromiseId,
    },
}

/// For whom a task is claimed, and for how long at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The host.
    pub holder: Holder,
    /// Drawn for this attempt to claim, so that repeating it is recognised.
    pub nonce: u64,
    /// How long the lease is, and how far a heartbeat extends it.
    pub ttl: Millis,
}

/// One claim in a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatItem {
    /// The claim.
    pub claim: Claim,
    /// A number that grows with every step, and what a successor should know.
    pub progress: Option<(u64, Option<Bytes>)>,
}

/// Something done under a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceAction {
    /// The command of the journal it belongs to; callers without a journal number their actions.
    pub index: CommandIndex,
    /// What is done.
    pub act: FenceAct,
}

/// What can be done under a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FenceAct {
    /// Makes a promise, owned by the claim.
    Create {
        /// The promise. A target without a module means the claim's own.
        new: NewPromise,
    },
    /// Makes a promise without an owner, as a client does: no tag is added, and it outlives the
    /// claim's invocation.
    CreateLoose {
        /// The promise.
        new: NewPromise,
    },
    /// Settles a promise; one that has its outcome keeps it.
    Settle {
        /// Which.
        id: PromiseId,
        /// The outcome; not `TimedOut`.
        verdict: Verdict,
        /// Its value.
        value: Value,
    },
    /// Cancels a promise the claim's invocation made.
    Cancel {
        /// Which.
        id: PromiseId,
    },
    /// Asks an invocation to stop, whoever made it.
    CancelLoose {
        /// Which.
        id: PromiseId,
    },
    /// Sends an invocation a signal, once for each command index.
    Signal {
        /// To which.
        invocation: PromiseId,
        /// The signal's name.
        name: Text,
        /// Its payload.
        payload: Value,
    },
    /// Publishes an event, once for each command index.
    Publish {
        /// Where.
        topic: Text,
        /// What.
        payload: Value,
    },
    /// Writes what happened to a node of the graph run that the claim is for.
    Node {
        /// The node's name.
        node: Text,
        /// What is known of it from now on.
        row: NodeRow,
        /// Of a node that is begun again, why.
        reset: Option<Reset>,
    },
    /// Writes the state of the object whose turn the claim's invocation has.
    State(StateWrite),
    /// Has the whole fence refused ([`crate::reply::Reply::Ready`]) if the claim's invocation was
    /// asked to stop and has not been told. For the last fence of an execution that could still be
    /// told.
    UnlessAsked,
    /// Makes a promise of the object whose function the claim's invocation is, if there is none, and
    /// settles it, if it is to and has no outcome.
    ObjectPromise {
        /// Which ([`ObjectId::promise`]).
        id: PromiseId,
        /// The outcome, and its value.
        settles: Option<(Verdict, Value)>,
    },
}

impl FenceAct {
    /// The promise it is about, if it is about one.
    pub fn promise(&self) -> Option<&PromiseId> {
        match self {
            Self::Create { new } | Self::CreateLoose { new } => Some(&new.id),
            Self::Settle { id, .. }
            | Self::Cancel { id }
            | Self::CancelLoose { id }
            | Self::ObjectPromise { id, .. } => Some(id),
            Self::Signal { invocation, .. } => Some(invocation),
            Self::Publish { .. } | Self::Node { .. } | Self::State(_) | Self::UnlessAsked => None,
        }
    }
}

impl FenceAction {
    /// The key under which a signal of this action is sent once, whatever is repeated.
    pub fn signal_key(&self, claimed: &PromiseId) -> Text {
        Text::from(claimed.command(self.index).as_str())
    }
}

impl Command {
    /// What is done under a claim, if it is a fence.
    pub fn actions(&self) -> &[FenceAction] {
        match self {
            Self::TaskFence { actions, .. } => actions,
            _ => &[],
        }
    }

    /// The command's name, for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PromiseGet { .. } => "promise-get",
            Self::PromiseCreate(_) => "promise-create",
            Self::PromiseSettle { .. } => "promise-settle",
            Self::RegisterCallback { .. } => "register-callback",
            Self::RegisterListener { .. } => "register-listener",
            Self::TaskGet { .. } => "task-get",
            Self::TaskCreate { .. } => "task-create",
            Self::TaskBegin { .. } => "task-begin",
            Self::InvocationFork(_) => "invocation-fork",
            Self::TaskAcquire { .. } => "task-acquire",
            Self::TaskHeartbeat { .. } => "task-heartbeat",
            Self::WorkerHeartbeat { .. } => "worker-heartbeat",
            Self::WorkerGone { .. } => "worker-gone",
            Self::TaskFence { .. } => "task-fence",
            Self::TaskSuspend { .. } => "task-suspend",
            Self::TaskFulfill { .. } => "task-fulfill",
            Self::TaskHandOver { .. } => "task-hand-over",
            Self::TaskRelease { .. } => "task-release",
            Self::TaskHalt { .. } => "task-halt",
            Self::TaskContinue { .. } => "task-continue",
            Self::TaskMigrate { .. } => "task-migrate",
            Self::Cancel { .. } => "cancel",
            Self::Kill { .. } => "kill",
            Self::Signal { .. } => "signal",
            Self::SignalStart { .. } => "signal-start",
            Self::Update { .. } => "update",
            Self::Deploy { .. } => "deploy",
            Self::Undeploy { .. } => "undeploy",
            Self::JournalRemove { .. } => "journal-remove",
            Self::ResourceGet { .. } => "resource-get",
            Self::ResourceLease { .. } => "resource-lease",
            Self::FencedPut { .. } => "fenced-put",
            Self::ObjectWrite { .. } => "object-write",
            Self::LimitSet { .. } => "limit-set",
            Self::LimitDue { .. } => "limit-due",
            Self::ScheduleCreate(_) => "schedule-create",
            Self::ScheduleDelete { .. } => "schedule-delete",
            Self::SchedulePause { .. } => "schedule-pause",
            Self::ScheduleBackfill { .. } => "schedule-backfill",
            Self::ScheduleTrigger { .. } => "schedule-trigger",
            Self::ScheduleDue { .. } => "schedule-due",
            Self::PromiseDue { .. } => "promise-due",
            Self::LeaseDue { .. } => "lease-due",
            Self::RetryDue { .. } => "retry-due",
            Self::OutboxDue { .. } => "outbox-due",
            Self::OutboxAck { .. } => "outbox-ack",
            Self::OutboxDefer { .. } => "outbox-defer",
            Self::HostStart { .. } => "host-start",
            Self::HostRelease { .. } => "host-release",
            Self::Prune { .. } => "prune",
            Self::Reconcile { .. } => "reconcile",
        }
    }
}
