//! Invariants of promises and their deadlines.

use super::{Predicate, Violations, each, unless};
use crate::{
    fork,
    invocation::{CommandKind, RecordBody},
    promise::{PromiseState, Verdict},
    snapshot::Snapshot,
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("orphan_invokes", orphan_invokes),
    ("born_in_time", born_in_time),
    ("timedout_settled_at_mismatch", timedout_settled_at_mismatch),
    ("settled_fields", settled_fields),
    ("deadline_verdict", deadline_verdict),
    ("minted_by_owner", minted_by_owner),
    ("makers_are_kept", makers_are_kept),
];

/// Every promise with a target has a task.
fn orphan_invokes(rows: &Snapshot) -> Violations {
    each(&rows.promises, |id, promise| {
        let needed = promise.target().is_some();
        unless(!needed || rows.tasks.contains_key(id), || "a target, and no task".to_owned())
    })
}

/// No promise is created after its deadline: one requested later is born settled, as of its
/// deadline.
fn born_in_time(rows: &Snapshot) -> Violations {
    each(&rows.promises, |_, promise| {
        let (created_at, deadline) = (promise.spec.created_at, promise.spec.timeout_at);
        unless(created_at <= deadline, || {
            format!("made at {created_at}, its deadline is {deadline}")
        })
    })
}

/// A promise that timed out settled exactly at its deadline.
fn timedout_settled_at_mismatch(rows: &Snapshot) -> Violations {
    each(&rows.promises, |_, promise| {
        let settlement =
            promise.settlement().filter(|settlement| settlement.verdict == Verdict::TimedOut)?;
        let (settled_at, deadline) = (settlement.settled_at, promise.spec.timeout_at);
        unless(settled_at == deadline, || {
            format!("timed out at {settled_at}, its deadline is {deadline}")
        })
    })
}

/// The settlement time is between creation and deadline. A timed-out promise has no value.
fn settled_fields(rows: &Snapshot) -> Violations {
    each(&rows.promises, |_, promise| match &promise.state {
        PromiseState::Pending => None,
        PromiseState::Settled(settlement) => {
            let spec = &promise.spec;
            let in_time = spec.created_at <= settlement.settled_at
                && settlement.settled_at <= spec.timeout_at;
            let valueless = settlement.verdict != Verdict::TimedOut || settlement.value.is_none();
            unless(in_time && valueless, || {
                format!("made at {}, due at {}, {settlement:?}", spec.created_at, spec.timeout_at)
            })
        }
    })
}

/// A promise that settled at its deadline was settled by the deadline: a timer is resolved, any
/// other promise times out. A timer never times out.
fn deadline_verdict(rows: &Snapshot) -> Violations {
    each(&rows.promises, |_, promise| {
        let settlement = promise.settlement()?;
        let by_deadline = settlement.settled_at == promise.spec.timeout_at;
        let expected = match promise.is_timer() {
            true => {
                settlement.verdict != Verdict::TimedOut
                    && (!by_deadline || settlement.verdict == Verdict::Resolved)
            }
            false => by_deadline == (settlement.verdict == Verdict::TimedOut),
        };
        unless(expected, || {
            format!(
                "a timer: {}, at its deadline: {by_deadline}, {settlement:?}",
                promise.is_timer()
            )
        })
    })
}

/// No promise outlives its creator in the store: trees are removed as a whole.
fn makers_are_kept(rows: &Snapshot) -> Violations {
    each(&rows.promises, |_, promise| {
        let maker = promise.spec.made_by.as_ref()?;
        unless(rows.promises.contains_key(maker), || {
            format!("made by `{maker}`, which does not exist")
        })
    })
}

/// A promise with the derived id of a command in a journal was created by that invocation, unless
/// another owner created it after the command was recorded: a refused command leaves its id free.
/// The copied records of a fork are exempt, since their commands were never executed.
fn minted_by_owner(rows: &Snapshot) -> Violations {
    let mut found = Violations::new();
    for (invocation, journal) in &rows.journals {
        let born_with = rows.promises.get(invocation).map_or(0, fork::born_with) as usize;
        for record in journal.records.iter().skip(born_with) {
            let RecordBody::Command { index, kind, .. } = &record.body else { continue };
            let id = invocation.command(*index);
            if makes_a_promise(*kind)
                && let Some(promise) = rows.promises.get(&id)
                && promise.spec.made_by.as_ref() != Some(invocation)
                && promise.spec.created_at < record.at
            {
                let detail = format!("made by {:?}, not by `{invocation}`", promise.spec.made_by);
                found.push((vec![id], detail));
            }
        }
    }
    found
}

fn makes_a_promise(kind: CommandKind) -> bool {
    match kind {
        CommandKind::Call
        | CommandKind::Send
        | CommandKind::Sleep
        | CommandKind::Promise
        | CommandKind::Http => true,
        CommandKind::Settle
        | CommandKind::Run
        | CommandKind::Cancel
        | CommandKind::Publish
        | CommandKind::GetState
        | CommandKind::SetState
        | CommandKind::ClearState
        | CommandKind::ClearAllState
        | CommandKind::StateKeys
        | CommandKind::WaitObjectPromise
        | CommandKind::PeekObjectPromise
        | CommandKind::SettleObjectPromise
        | CommandKind::Peek
        | CommandKind::Attach
        | CommandKind::Signal
        | CommandKind::SendSignal
        | CommandKind::Unread
        | CommandKind::ContinueAsNew
        | CommandKind::AppendStream
        | CommandKind::CloseStream => false,
    }
}
