//! All commands of the engine. One command is one transaction; several may share a transaction.

use std::collections::BTreeSet;

use crate::{
    budget::Costs,
    fork::Fork,
    graph::{NodeRow, ResetReason},
    id::{
        Claim, CommandIndex, Digest, Holder, HostName, ObjectId, PromiseId, ResourceName,
        ScheduleId, StreamId, Version,
    },
    invocation::{LogLine, Record},
    limit::{AdmissionRule, LimitName},
    object::StateWrite,
    promise::{Deferral, FenceToken, NewPromise, NewSchedule, OutboxKey, ReleaseReason, Verdict},
    stream::{NewStream, StreamAppend, StreamItem},
    time::{Millis, Timestamp},
    value::{Bytes, Text, Value},
};

/// A command. A caller that does not know the outcome of a command may send it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Reads a promise.
    PromiseGet { id: PromiseId },
    /// Creates a promise, and its task if it has a target. Replies with the existing promise if the
    /// id is taken.
    PromiseCreate(NewPromise),
    /// Settles a promise. Replies with the stored outcome if it is already settled.
    PromiseSettle {
        id: PromiseId,
        /// The outcome; never `TimedOut`.
        verdict: Verdict,
        value: Value,
    },
    /// Registers a callback: the task of `awaiter` resumes when `awaited` settles.
    RegisterCallback {
        awaited: PromiseId,
        /// Promise of the task that waits.
        awaiter: PromiseId,
    },
    /// Registers a listener: `address` is notified when `awaited` settles.
    RegisterListener {
        awaited: PromiseId,
        /// Address to notify.
        address: Text,
    },
    /// Reads a task and its promise.
    TaskGet { id: PromiseId },
    /// Creates a promise and acquires its task in the same transaction.
    TaskCreate {
        /// The promise; it must have a target.
        new: NewPromise,
        /// Holder and lease of the claim.
        request: ClaimRequest,
    },
    /// Creates an invocation that its holder has already run, up to its first durable write. The
    /// promise, the claim and the results of that first run are one transaction. If the promise
    /// already exists, is born settled, or runs another module, the actions under the claim are
    /// skipped. If any of them is refused, the whole command is refused.
    TaskBegin {
        /// The promise; it must have a target.
        new: NewPromise,
        /// Holder and lease of the claim.
        request: ClaimRequest,
        /// Digest of the module that ran.
        module: Digest,
        /// Instant at which the run began. It becomes the promise's creation time, unless it is in
        /// the future: then the current time does.
        at: Timestamp,
        /// Initial task version that the holder assumed: `first` acts under the claim derived from
        /// it ([`Claim::first`]). If new tasks have another version by now, the actions are
        /// skipped.
        born: Version,
        /// Commands under the claim, in order: fences, then a suspension or a fulfillment.
        first: Vec<Command>,
    },
    /// Creates an invocation that begins with a prefix of another one's journal, and offers its
    /// task. The recorded operations are not repeated; the holder redoes those that were open at
    /// the fork.
    InvocationFork(Box<Fork>),
    /// Acquires a pending task at the version it was offered at.
    TaskAcquire {
        claim: Claim,
        /// Holder and lease of the claim.
        request: ClaimRequest,
        /// Maximum time that the lease is extended without progress. `None`: the host's default.
        stall_limit: Option<Millis>,
    },
    /// Extends the leases of claims.
    TaskHeartbeat {
        holder: Holder,
        /// Claims to extend.
        items: Vec<HeartbeatItem>,
    },
    /// Extends every claim of an external holder.
    WorkerHeartbeat { holder: Holder },
    /// Offers the tasks of an external holder again, since it appears to be gone: its claims
    /// without a recent heartbeat.
    WorkerGone {
        holder: Holder,
        /// Claims with a heartbeat at this instant or later keep their leases.
        unheard_since: Timestamp,
    },
    /// Appends records and executes actions under a claim. The claim is checked once, and the whole
    /// is one transaction.
    TaskFence {
        claim: Claim,
        /// Records to append to the journal.
        records: Vec<Record>,
        /// Log lines of the guest since the last append.
        logs: Vec<LogLine>,
        /// Actions to execute, in order.
        actions: Vec<FenceAction>,
    },
    /// Gives up the claim until one of these promises settles.
    TaskSuspend {
        claim: Claim,
        /// Records to append to the journal.
        records: Vec<Record>,
        /// Log lines of the guest since the last append.
        logs: Vec<LogLine>,
        /// The awaited promises. The invocation's own next signal promise is created if it does not
        /// exist.
        awaits: BTreeSet<PromiseId>,
    },
    /// Settles the promise under a claim. If the appended records contain the event that led to the
    /// end, and the execution has a stop request that it was not yet notified of, then the command
    /// has no effect: an execution without that event can still be notified.
    TaskFulfill {
        claim: Claim,
        /// Records to append to the journal.
        records: Vec<Record>,
        /// Log lines of the guest since the last append.
        logs: Vec<LogLine>,
        /// The outcome; never `TimedOut`.
        verdict: Verdict,
        value: Value,
    },
    /// Ends a generation of a workflow under a claim and creates the next one (continue-as-new).
    /// The next generation inherits the labels, the deadline, and all signals that this one did not
    /// read.
    TaskHandOver {
        claim: Claim,
        /// Records to append to the journal.
        records: Vec<Record>,
        /// Log lines of the guest since the last append.
        logs: Vec<LogLine>,
        /// Parameter of the next generation.
        param: Value,
        /// True if the next generation runs the module of this one, instead of the module that its
        /// target currently refers to.
        same_module: bool,
        /// Numbers of the signals that were delivered to the workflow but never read, ascending.
        unread: Vec<u32>,
    },
    /// Gives up the claim without an outcome.
    TaskRelease { claim: Claim, reason: ReleaseReason },
    /// Halts a task until an operator continues it.
    TaskHalt { id: PromiseId },
    /// Offers a halted task again.
    TaskContinue { id: PromiseId },
    /// Moves a task that no worker holds to another module, which has been verified to replay its
    /// journal. A halted or suspended task is offered again.
    TaskMigrate {
        id: PromiseId,
        /// The module that continues the task.
        module: Digest,
        /// Number of records that the module replayed; must equal the length of the journal.
        records: u32,
    },
    /// Asks an invocation to stop. One that cannot be notified is settled.
    Cancel { invocation: PromiseId },
    /// Settles an invocation as cancelled, regardless of its state.
    Kill { invocation: PromiseId },
    /// Sends a signal to an invocation.
    Signal {
        invocation: PromiseId,
        name: Text,
        payload: Value,
        /// Idempotency key.
        key: Option<Text>,
    },
    /// Sends a signal to an invocation, and creates the invocation first if the id does not exist.
    SignalStart {
        /// The invocation; it must have a target.
        new: NewPromise,
        name: Text,
        payload: Value,
        /// Idempotency key.
        key: Option<Text>,
    },
    /// Delivers an accepted update to a workflow, which answers it by settling the promise
    /// [`PromiseId::answer`]. Refused if the journal or the signals have grown since the workflow
    /// validated the update.
    Update {
        invocation: PromiseId,
        name: Text,
        /// The update's input, as JSON.
        input: Text,
        /// Idempotency key.
        key: Option<Text>,
        /// Number of records that the validator had seen.
        records: u32,
        /// Number of signals that the validator had seen.
        signals: u32,
    },
    /// Points an alias at an uploaded module.
    Deploy { alias: Text, module: Digest },
    /// Removes the journal and the log lines of an execution that has ended. Its outcome stays.
    JournalRemove { id: PromiseId },
    /// Removes an alias. Executions that were started through it continue.
    Undeploy {
        alias: Text,
        /// The module that the alias refers to, as far as the caller knows.
        module: Digest,
    },
    /// Reads a resource and its lease.
    ResourceGet { name: ResourceName },
    /// Leases a resource, with a token larger than all earlier ones.
    ResourceLease {
        name: ResourceName,
        /// Name of the new holder.
        holder: Text,
        /// Duration of the lease; zero releases it.
        ttl: Millis,
    },
    /// Writes a resource, unless a later token has written it.
    FencedPut {
        name: ResourceName,
        /// The new value.
        value: Value,
        /// The writer's token.
        token: FenceToken,
    },
    /// Writes the state of an object on behalf of an operator, while no execution has its turn.
    ObjectWrite { object: ObjectId, write: StateWrite },
    /// Sets a limit on behalf of an operator. Applies to all executions that begin from now on.
    LimitSet {
        name: LimitName,
        /// The new rule. `None`: the rule that the module declares.
        rule: Option<AdmissionRule>,
    },
    /// Charges the budgets that a claim draws on.
    BudgetCharge {
        claim: Claim,
        /// True if an attempt begins: it is counted, once for each claim, and refused if a budget
        /// is spent.
        begins: bool,
        /// Costs of an attempt that ends without an outcome.
        costs: Costs,
    },
    /// Sets limits of an execution's budget on behalf of an operator.
    BudgetSet { account: PromiseId, limits: Costs },
    /// Executions that wait behind a limit may have capacity now.
    LimitDue { name: LimitName },
    /// Creates a schedule. Replies with the existing one, unchanged, if the id is taken.
    ScheduleCreate(NewSchedule),
    /// Removes a schedule. The promises it created stay.
    ScheduleDelete { id: ScheduleId },
    /// Pauses a schedule, or resumes it at its next occurrence. Occurrences missed while paused are
    /// not caught up.
    SchedulePause {
        id: ScheduleId,
        /// True to pause, false to resume.
        paused: bool,
    },
    /// Creates the promises of past occurrences, in order, one page per command. Repeating the
    /// command creates no duplicates.
    ScheduleBackfill {
        id: ScheduleId,
        /// Start of the range, inclusive.
        from: Timestamp,
        /// End of the range, exclusive.
        to: Timestamp,
    },
    /// Creates the promise of an extra occurrence, one that the expression of the schedule does not
    /// name. Works while the schedule is paused.
    ScheduleTrigger {
        id: ScheduleId,
        /// Instant that the promise is named after. Repeating the command with the same instant has
        /// no effect.
        at: Timestamp,
    },
    /// Creates a stream. Replies with the existing stream if it has the same settings.
    StreamCreate(Box<NewStream>),
    /// Appends to a stream, or closes it.
    StreamAppend(Box<StreamAppend>),
    /// A stream was read: extends its lifetime.
    StreamTouch { id: StreamId },
    /// Removes a stream. As long as forks of it exist, its id stays taken.
    StreamDelete { id: StreamId },
    /// A stream may have expired, or its last fork may have been removed.
    StreamDue { id: StreamId },
    /// The next occurrence of a schedule may be due.
    ScheduleDue { id: ScheduleId },
    /// The deadline of a promise may have passed.
    PromiseDue { id: PromiseId },
    /// The lease of a task may have expired.
    LeaseDue { id: PromiseId },
    /// A task may be due to be offered again.
    RetryDue { id: PromiseId },
    /// A message may be due for delivery.
    OutboxDue { key: OutboxKey },
    /// Acknowledges the delivery of a message.
    OutboxAck { key: OutboxKey },
    /// Postpones a message, whether or not it has been handed to a host.
    OutboxDefer { key: OutboxKey, until: Deferral },
    /// Registers the start of a host, with a new incarnation.
    HostStart { node: HostName },
    /// Releases a task that is held by an earlier incarnation of a host.
    HostRelease {
        id: PromiseId,
        node: HostName,
        /// The host's current incarnation.
        below: u64,
    },
    /// Removes a finished tree: a promise and everything created by its members.
    Prune {
        /// Root of the tree. If the tree is too large for one command: the top of a subtree.
        top: PromiseId,
        /// Removes the tree only if all its members settled at this instant or before.
        before: Timestamp,
        /// True if the whole tree around `top` was seen to be finished, so that a subtree may be
        /// removed.
        part: bool,
        /// True if an object's state is removed with the last of its executions. The state is
        /// always removed with the run of a key that runs once.
        state: bool,
    },
    /// Checks the rows of one composite for damage, and repairs what other rows determine.
    Reconcile { id: PromiseId },
}

/// Holder of a new claim, and the initial length of its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    pub holder: Holder,
    /// Random number drawn per attempt to claim, so that a repeated attempt is recognised.
    pub nonce: u64,
    /// Length of the lease, and of each extension by a heartbeat.
    pub ttl: Millis,
}

/// One claim in a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatItem {
    pub claim: Claim,
    /// Progress counter, which grows with every step, and a checkpoint for the next holder.
    pub progress: Option<(u64, Option<Bytes>)>,
}

/// An action under a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceAction {
    /// Index of the journal command that the action belongs to. Callers without a journal number
    /// their actions themselves.
    pub index: CommandIndex,
    pub act: FenceOperation,
}

/// Kinds of action under a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FenceOperation {
    /// Creates a promise that is owned by the claim's invocation.
    Create {
        /// A target without a module refers to the module of the claim's invocation.
        new: NewPromise,
        /// The claim with which its task is born, unless it has to wait. `None`: the task is
        /// offered.
        request: Option<ClaimRequest>,
    },
    /// Creates a promise without an owner, as a client does: no tag is added, and it outlives the
    /// claim's invocation.
    CreateLoose { new: NewPromise },
    /// Settles a promise. A settled promise keeps its outcome.
    Settle {
        id: PromiseId,
        /// The outcome; never `TimedOut`.
        verdict: Verdict,
        value: Value,
    },
    /// Cancels a promise that the claim's invocation created.
    Cancel { id: PromiseId },
    /// Asks any invocation to stop, regardless of its creator.
    CancelLoose { id: PromiseId },
    /// Sends a signal to an invocation, exactly once per command index.
    Signal { invocation: PromiseId, name: Text, payload: Value },
    /// Appends to a stream of the claim's invocation, exactly once per command index.
    Stream(StreamItem),
    /// Publishes an event, exactly once per command index.
    Publish { topic: Text, payload: Value },
    /// Updates a node of the graph run that the claim is for.
    Node {
        node: Text,
        /// The node's new row.
        row: NodeRow,
        /// The reason, if the node is reset.
        reset: Option<ResetReason>,
    },
    /// Writes the state of the object whose turn the claim's invocation has.
    State(StateWrite),
    /// Settles another task under its own claim, before the records are appended. If that is
    /// refused, so is the whole fence ([`crate::reply::Refusal::NotFulfilled`]), since its records
    /// depend on the outcome.
    Fulfill(Box<Fulfillment>),
    /// Requires that the deadline of a promise has settled it, before the records are appended.
    /// Otherwise the whole fence is refused ([`crate::reply::Refusal::NotElapsed`]), since its
    /// records depend on it.
    Elapsed { id: PromiseId },
    /// Refuses the whole fence ([`crate::reply::Reply::Ready`]) if the claim's invocation has a
    /// stop request that it was not yet notified of. Used in the last fence of an execution that
    /// can still be notified.
    UnlessAsked,
    /// Creates a promise of the object whose function the claim's invocation runs, unless it
    /// exists. Settles it if `settles` is set and it is pending.
    ObjectPromise {
        /// Id of the promise ([`ObjectId::promise`]).
        id: PromiseId,
        /// The outcome and its value. `None`: the promise is only created.
        settles: Option<(Verdict, Value)>,
    },
}

/// The end of a task under its claim, as [`Command::TaskFulfill`] has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fulfillment {
    pub claim: Claim,
    /// Records to append to the journal of the task.
    pub records: Vec<Record>,
    /// Log lines of the guest since the last append.
    pub logs: Vec<LogLine>,
    /// The outcome; never `TimedOut`.
    pub verdict: Verdict,
    pub value: Value,
}

impl FenceOperation {
    /// The promise that the action refers to, if any.
    pub fn promise(&self) -> Option<&PromiseId> {
        match self {
            Self::Create { new, .. } | Self::CreateLoose { new } => Some(&new.id),
            Self::Settle { id, .. }
            | Self::Cancel { id }
            | Self::CancelLoose { id }
            | Self::ObjectPromise { id, .. }
            | Self::Elapsed { id } => Some(id),
            Self::Signal { invocation, .. } => Some(invocation),
            Self::Fulfill(fulfillment) => Some(&fulfillment.claim.id),
            Self::Publish { .. }
            | Self::Node { .. }
            | Self::State(_)
            | Self::Stream(_)
            | Self::UnlessAsked => None,
        }
    }

    /// The data that the action appends to a stream, if any.
    pub fn stream_item(&self) -> Option<&StreamItem> {
        match self {
            Self::Stream(item) => Some(item),
            _ => None,
        }
    }

    /// True if the records of the fence depend on the action: if it is refused, so is the fence.
    pub fn stores_outcome(&self) -> bool {
        matches!(self, Self::Fulfill(_) | Self::Elapsed { .. })
    }
}

impl FenceAction {
    /// Idempotency key of the signal sent by this action.
    pub fn signal_key(&self, claimed: &PromiseId) -> Text {
        Text::from(claimed.command(self.index).as_str())
    }
}

impl Command {
    /// The actions of a fence; empty for other commands.
    pub fn actions(&self) -> &[FenceAction] {
        match self {
            Self::TaskFence { actions, .. } => actions,
            _ => &[],
        }
    }

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
            Self::StreamCreate(_) => "stream-create",
            Self::StreamAppend(_) => "stream-append",
            Self::StreamTouch { .. } => "stream-touch",
            Self::StreamDelete { .. } => "stream-delete",
            Self::StreamDue { .. } => "stream-due",
            Self::LimitSet { .. } => "limit-set",
            Self::LimitDue { .. } => "limit-due",
            Self::BudgetCharge { .. } => "budget-charge",
            Self::BudgetSet { .. } => "budget-set",
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
