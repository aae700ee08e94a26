//! The single entry point: it takes a view of the rows, a command and the time, and returns a
//! reply, the rows to write and hints.
//!
//! Every command on every view gets a reply. Before a command acts on a promise it names, a
//! deadline that has passed settles the promise ([`draft::DecisionDraft::touch`]): a timeout always wins. A
//! refusal changes nothing else.
//!
//! - `draft`: pending writes over the view;
//! - `chain`: the settlement chain with its stages settle, resume and execute;
//! - one file per family of commands.

mod append;
mod begin;
mod budgets;
mod cancel;
mod chain;
mod create;
mod decision;
mod deploy;
mod draft;
mod dues;
mod fence;
mod fork;
mod heartbeat;
mod hosts;
mod journals;
mod kept;
mod limits;
mod migrate;
mod objects;
mod outbox;
mod promises;
mod prune;
mod reconcile;
mod requeue;
mod resources;
mod sagas;
mod schedules;
mod signals;
mod streams;
mod succession;
mod tasks;
#[cfg(test)]
mod tests;
mod trees;
mod unreadable;
mod updates;
mod workers;

use crate::{
    command::Command,
    config::Config,
    id::Claim,
    reply::{Refusal, Reply},
    time::Timestamp,
    view::View,
};

pub use decision::Decision;
pub use prune::obstacle;

pub(crate) use signals::generation_key;
pub use succession::handed_to;
pub(crate) use succession::unread_signals;

pub(crate) use objects::ObjectRemainder;
pub use objects::turn_in;
pub(crate) use outbox::callee_page;

pub(crate) use trees::has_count;

pub(crate) use limits::{LEAVE_ROUND, ROUND, RoundTrigger, SWEEP, declared, limit_name, planned};

use draft::DecisionDraft;

/// Decides the result of a command on the rows of `view`, which must hold the rows that
/// [`crate::footprint()`] and [`crate::widen`] name.
pub fn transition(view: &View, command: &Command, now: Timestamp, config: &Config) -> Decision {
    let mut draft = DecisionDraft::new(view, now, config);
    let reply = decide(&mut draft, command).unwrap_or_else(Reply::Refused);
    draft.finish(reply)
}

fn decide(draft: &mut DecisionDraft<'_>, command: &Command) -> Result<Reply, Refusal> {
    unreadable::check(draft.view, command)?;
    match command {
        Command::PromiseGet { id } => promises::get(draft, id),
        Command::PromiseCreate(new) => promises::create(draft, new),
        Command::PromiseSettle { id, verdict, value } => {
            promises::settle(draft, id, *verdict, value)
        }
        Command::RegisterCallback { awaited, awaiter } => {
            promises::register_callback(draft, awaited, awaiter)
        }
        Command::RegisterListener { awaited, address } => {
            promises::register_listener(draft, awaited, address)
        }
        Command::TaskGet { id } => tasks::get(draft, id),
        Command::TaskCreate { new, request } => tasks::create(draft, new, request),
        Command::TaskBegin { new, request, module, at, born, first } => {
            let claim = Claim::first(new.id.clone(), *born);
            begin::begin(draft, new, request, *module, *at, &claim, first)
        }
        Command::InvocationFork(new) => fork::fork(draft, new),
        Command::TaskAcquire { claim, request, stall_limit } => {
            tasks::acquire(draft, claim, request, *stall_limit)
        }
        Command::TaskHeartbeat { holder, items } => heartbeat::extend(draft, holder, items),
        Command::WorkerHeartbeat { holder } => workers::heartbeat(draft, holder),
        Command::WorkerGone { holder, unheard_since } => {
            workers::gone(draft, holder, *unheard_since)
        }
        Command::TaskFence { claim, records, logs, actions } => {
            fence::act(draft, claim, records, logs, actions)
        }
        Command::TaskSuspend { claim, records, logs, awaits } => {
            tasks::suspend(draft, claim, records, logs, awaits)
        }
        Command::TaskFulfill { claim, records, logs, verdict, value } => {
            tasks::fulfill(draft, claim, records, logs, *verdict, value)
        }
        Command::TaskHandOver { claim, records, logs, param, same_module, unread } => {
            let next = succession::NextGeneration { param, same_module: *same_module, unread };
            succession::hand_over(draft, claim, records, logs, &next)
        }
        Command::TaskRelease { claim, reason } => tasks::release(draft, claim, reason),
        Command::TaskHalt { id } => tasks::halt(draft, id),
        Command::TaskContinue { id } => tasks::resume(draft, id),
        Command::TaskMigrate { id, module, records } => {
            migrate::migrate(draft, id, module, *records)
        }
        Command::Cancel { invocation } => cancel::cancel(draft, invocation),
        Command::Kill { invocation } => cancel::kill(draft, invocation),
        Command::Signal { invocation, name, payload, key } => {
            signals::signal(draft, invocation, name, payload, key.as_ref())
        }
        Command::SignalStart { new, name, payload, key } => {
            signals::signal_start(draft, new, name, payload, key.as_ref())
        }
        Command::Update { invocation, name, input, key, records, signals } => {
            let seen = updates::SeenPosition { records: *records, signals: *signals };
            updates::update(draft, invocation, name, input, key.as_ref(), seen)
        }
        Command::Deploy { alias, module } => deploy::deploy(draft, alias, module),
        Command::JournalRemove { id } => journals::remove(draft, id),
        Command::Undeploy { alias, module } => deploy::undeploy(draft, alias, module),
        Command::ResourceGet { name } => resources::get(draft, name),
        Command::ResourceLease { name, holder, ttl } => resources::lease(draft, name, holder, *ttl),
        Command::FencedPut { name, value, token } => resources::put(draft, name, value, *token),
        Command::ObjectWrite { object, write } => objects::write(draft, object, write),
        Command::LimitSet { name, rule } => limits::set(draft, name, rule.as_ref()),
        Command::LimitDue { name } => limits::due(draft, name),
        Command::BudgetCharge { claim, begins, costs } => {
            budgets::charge(draft, claim, *begins, costs)
        }
        Command::BudgetSet { account, limits } => budgets::set(draft, account, limits),
        Command::StreamCreate(new) => streams::create(draft, new),
        Command::StreamAppend(append) => streams::append(draft, append),
        Command::StreamTouch { id } => streams::touch(draft, id),
        Command::StreamDelete { id } => streams::delete(draft, id),
        Command::StreamDue { id } => streams::due(draft, id),
        Command::ScheduleCreate(new) => schedules::create(draft, new),
        Command::ScheduleDelete { id } => schedules::delete(draft, id),
        Command::SchedulePause { id, paused } => schedules::pause(draft, id, *paused),
        Command::ScheduleBackfill { id, from, to } => schedules::backfill(draft, id, *from, *to),
        Command::ScheduleTrigger { id, at } => schedules::trigger(draft, id, *at),
        Command::ScheduleDue { id } => schedules::due(draft, id),
        Command::PromiseDue { id } => dues::promise(draft, id),
        Command::LeaseDue { id } => dues::lease(draft, id),
        Command::RetryDue { id } => dues::retry(draft, id),
        Command::OutboxDue { key } => outbox::due(draft, key),
        Command::OutboxAck { key } => outbox::acknowledge(draft, key),
        Command::OutboxDefer { key, until } => outbox::defer(draft, key, *until),
        Command::HostStart { node } => hosts::start(draft, node),
        Command::HostRelease { id, node, below } => hosts::release(draft, id, node, *below),
        Command::Prune { top, before, part, state } => {
            prune::prune(draft, top, *before, *part, *state)
        }
        Command::Reconcile { id } => reconcile::reconcile(draft, id),
    }
}
