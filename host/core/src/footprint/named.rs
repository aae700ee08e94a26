//! Rows that a command names.

use super::{ChildPage, Footprint, TREE_LIMIT};
use crate::{
    address::{Address, ModuleRef},
    command::{Command, FenceOperation},
    id::{PromiseId, StreamId},
    limit::LimitName,
    promise::{NewPromise, OutboxKey},
    tags,
    transition::{LEAVE_ROUND, ROUND, generation_key, limit_name},
    update,
    value::{Tags, Text},
};

/// The rows that a command names.
pub fn footprint(command: &Command) -> Footprint {
    let mut rows = Footprint::default();
    match command {
        Command::PromiseSettle { id, .. } => {
            rows.composite(id);
            rows.known_by_name(id);
        }
        Command::PromiseGet { id }
        | Command::TaskGet { id }
        | Command::TaskHalt { id }
        | Command::TaskContinue { id }
        | Command::Cancel { invocation: id }
        | Command::JournalRemove { id }
        | Command::PromiseDue { id }
        | Command::LeaseDue { id }
        | Command::RetryDue { id }
        | Command::HostRelease { id, .. } => rows.composite(id),
        Command::Kill { invocation: id } => {
            rows.composite(id);
            rows.tree_counts.insert(id.clone());
        }
        Command::TaskMigrate { id, module, .. } => {
            rows.composite(id);
            rows.modules.insert(*module);
        }
        Command::PromiseCreate(new) | Command::TaskCreate { new, .. } => rows.create(new),
        Command::TaskBegin { new, first, .. } => {
            rows.create(new);
            first.iter().for_each(|command| rows.merge(footprint(command)));
        }
        Command::InvocationFork(fork) => {
            rows.create(&fork.new);
            rows.modules.extend(fork.module);
            rows.composites.extend(fork.promises());
            for stream in &fork.streams {
                rows.streams.insert(stream.id.clone());
                rows.stream_data.insert(stream.id.clone());
            }
        }
        Command::RegisterCallback { awaited, awaiter } => {
            rows.composite(awaited);
            rows.composite(awaiter);
        }
        Command::RegisterListener { awaited, .. } => rows.composite(awaited),
        Command::TaskAcquire { claim, .. }
        | Command::TaskRelease { claim, .. }
        | Command::BudgetCharge { claim, .. } => rows.composite(&claim.id),
        Command::BudgetSet { account, .. } => {
            rows.rows.insert(account.clone());
            rows.budgets.insert(account.clone());
        }
        Command::TaskHeartbeat { holder, items } => {
            items.iter().for_each(|item| rows.composite(&item.claim.id));
            rows.hosts.insert(holder.node.clone());
        }
        Command::WorkerHeartbeat { holder } | Command::WorkerGone { holder, .. } => {
            rows.held_by.insert(holder.node.clone());
        }
        Command::TaskFence { claim, actions, .. } => {
            rows.composite(&claim.id);
            for action in actions {
                if let FenceOperation::Create { new, .. } | FenceOperation::CreateLoose { new } =
                    &action.act
                {
                    rows.create(new);
                } else if let Some(id) = action.act.promise() {
                    rows.composite(id);
                }
                match &action.act {
                    FenceOperation::Signal { invocation, .. } => {
                        rows.signal_key(invocation, &action.signal_key(&claim.id));
                    }
                    FenceOperation::Settle { id, .. } => rows.known_by_name(id),
                    FenceOperation::Stream(item) => {
                        item.streams_of(&claim.id).for_each(|id| rows.stream(&id));
                    }
                    _ => {}
                }
            }
        }
        Command::TaskSuspend { claim, awaits, .. } => {
            rows.composite(&claim.id);
            awaits.iter().for_each(|id| rows.composite(id));
        }
        Command::TaskFulfill { claim, .. } => rows.composite(&claim.id),
        Command::TaskHandOver { claim, .. } => {
            rows.composite(&claim.id);
            rows.composite(&claim.id.generation(2));
            if let Some((first, n)) = claim.id.generation_of() {
                rows.composite(&first);
                rows.composite(&first.generation(n.saturating_add(1)));
            }
        }
        Command::Signal { invocation, key, .. } => {
            rows.composite(invocation);
            key.iter().for_each(|key| rows.signal_key(invocation, key));
        }
        Command::SignalStart { new, key, .. } => {
            rows.create(new);
            rows.composite(&new.id.signal(0));
            key.iter().for_each(|key| rows.signal_key(&new.id, key));
        }
        Command::Update { invocation, name, key, .. } => {
            rows.composite(invocation);
            let key = key.as_ref().map(|key| update::signal_key(name, key));
            key.iter().for_each(|key| rows.signal_key(invocation, key));
        }
        Command::Deploy { alias, module } | Command::Undeploy { alias, module } => {
            rows.aliases.insert(alias.clone());
            rows.modules.insert(*module);
        }
        Command::ResourceGet { name }
        | Command::ResourceLease { name, .. }
        | Command::FencedPut { name, .. } => {
            rows.resources.insert(name.clone());
        }
        Command::ObjectWrite { object, write } => {
            rows.lines.insert(object.clone());
            rows.promises_of.extend(write.leaves_nothing().then(|| object.clone()));
        }
        Command::LimitSet { name, .. } => {
            rows.limit(name);
        }
        Command::LimitDue { name } => {
            rows.limit(name);
            rows.rounds.insert(name.clone(), ROUND);
        }
        Command::ScheduleCreate(new) => {
            rows.schedules.insert(new.id.clone());
            rows.named_by(&new.template.tags);
        }
        Command::ScheduleDelete { id }
        | Command::SchedulePause { id, .. }
        | Command::ScheduleBackfill { id, .. }
        | Command::ScheduleTrigger { id, .. }
        | Command::ScheduleDue { id } => {
            rows.schedules.insert(id.clone());
        }
        Command::OutboxDue { key } => {
            rows.composite(key.promise());
            rows.outbox.insert(key.clone());
            if let OutboxKey::LeaveLimit(_, name) = key {
                rows.limit(name);
                rows.rounds.insert(name.clone(), LEAVE_ROUND);
            }
        }
        Command::OutboxAck { key } | Command::OutboxDefer { key, .. } => {
            rows.outbox.insert(key.clone());
        }
        Command::StreamCreate(new) => {
            rows.stream(&new.id);
            if let Some(fork) = &new.fork {
                rows.stream(&fork.source);
                rows.stream_data.insert(fork.source.clone());
            }
        }
        Command::StreamAppend(append) => {
            rows.stream(&append.id);
            append.claim.iter().for_each(|claim| rows.composite(&claim.id));
        }
        Command::StreamTouch { id } | Command::StreamDelete { id } | Command::StreamDue { id } => {
            rows.stream(id);
        }
        Command::HostStart { node } => {
            rows.hosts.insert(node.clone());
            rows.held_by.insert(node.clone());
        }
        Command::Prune { top, .. } => {
            rows.trees.insert(top.clone(), TREE_LIMIT);
        }
        Command::Reconcile { id } => {
            rows.composite(id);
            rows.outbox.insert(OutboxKey::CancelChildren(id.clone()));
            rows.children.insert(id.clone(), ChildPage { after: None, limit: 1, unasked: true });
            rows.facts.insert(id.clone());
        }
    }
    rows
}

impl Footprint {
    /// A limit, with the module whose declaration applies if the limit has no row.
    pub(super) fn limit(&mut self, name: &LimitName) {
        self.aliases.extend(name.parts().map(|(module, _)| Text::from(module)));
        self.limits.insert(name.clone());
    }

    /// A stream, with the execution that it belongs to.
    fn stream(&mut self, id: &StreamId) {
        self.composites.extend(id.owner());
        if let Some(owner) = id.owner().filter(|_| id.is_of_object()) {
            self.known_by_name(&owner);
        }
        self.streams.insert(id.clone());
    }

    pub(super) fn composite(&mut self, id: &PromiseId) {
        self.composites.insert(id.clone());
    }

    /// Signal keys of an invocation, for any generation of it.
    fn signal_key(&mut self, invocation: &PromiseId, key: &Text) {
        let first = invocation.generation_of().map(|(first, _)| first);
        self.composites.extend(first.clone());
        for id in [Some(invocation.clone()), first].into_iter().flatten() {
            self.signal_keys.insert((id.clone(), generation_key(key)));
            self.signal_keys.insert((id, key.clone()));
        }
    }

    /// Invocations that may know the promise by a name.
    fn known_by_name(&mut self, id: &PromiseId) {
        for (owner, _) in id.named_by() {
            self.composites.extend(owner.generation_of().map(|(first, _)| first));
            self.composites.insert(owner);
        }
    }

    pub(super) fn create(&mut self, new: &NewPromise) {
        self.composite(&new.id);
        self.known_by_name(&new.id);
        self.named_by(&new.tags);
    }

    /// The module and the object that a target names.
    pub(super) fn named_by(&mut self, tags: &Tags) {
        let Some(Ok(address)) = tags::target(tags).map(Address::parse) else { return };
        self.lines.extend(address.object());
        self.limits.extend(limit_name(&address, None));
        let target = match address {
            Address::Wasm { .. } | Address::Service { .. } => {
                address.named().map(|(module, _)| module)
            }
            address if address.is_graph_run() => {
                tags.get(tags::MODULE).and_then(|module| ModuleRef::parse(module))
            }
            _ => None,
        };
        if let Some(module) = target {
            match module {
                ModuleRef::Own => {}
                ModuleRef::Alias(alias) => {
                    self.aliases.insert(alias);
                }
                ModuleRef::Exact(digest) => {
                    self.modules.insert(digest);
                }
            }
        }
    }
}
