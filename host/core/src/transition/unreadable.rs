//! Refusal of commands that name a subject with unreadable rows.

use crate::{
    command::Command, footprint::footprint, reply::Refusal, unreadable::Subject, view::View,
};

/// Refuses a command that names a subject with unreadable rows.
pub(super) fn check(view: &View, command: &Command) -> Result<(), Refusal> {
    if !view.has_unreadable() {
        return Ok(());
    }
    let refuse = |subject: Subject| match view.unreadable(&subject) {
        None => Ok(()),
        Some(why) => Err(Refusal::Unreadable { subject: Box::new(subject), why: why.clone() }),
    };
    match command {
        // Each item has its own result: a claim with an unreadable row is not extended.
        Command::TaskHeartbeat { .. } => return Ok(()),
        // These commands delete a row regardless of its content.
        Command::ScheduleDelete { .. } | Command::OutboxAck { .. } => return Ok(()),
        _ => {}
    }
    let named = footprint(command);
    named.composites.into_iter().map(Subject::Promise).try_for_each(refuse)?;
    named.trees.into_keys().map(Subject::Promise).try_for_each(refuse)?;
    named.schedules.into_iter().map(Subject::Schedule).try_for_each(refuse)?;
    named.resources.into_iter().map(Subject::Resource).try_for_each(refuse)?;
    named.lines.into_iter().map(Subject::Object).try_for_each(refuse)?;
    named.limits.into_iter().map(Subject::Limit).try_for_each(refuse)?;
    // Where the engine only checks that a message exists, an unreadable message counts as present.
    match command {
        Command::OutboxDue { key } | Command::OutboxDefer { key, .. } => {
            refuse(Subject::Message(key.clone()))
        }
        _ => Ok(()),
    }
}
