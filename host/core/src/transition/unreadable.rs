//! Commands that name something whose rows cannot be read.

use crate::{
    command::Command, footprint::footprint, reply::Refusal, unreadable::Subject, view::View,
};

/// Refuses a command that names something whose rows cannot be read.
pub(super) fn check(view: &View, command: &Command) -> Result<(), Refusal> {
    if !view.has_unreadable() {
        return Ok(());
    }
    let refuse = |subject: Subject| match view.unreadable(&subject) {
        None => Ok(()),
        Some(why) => Err(Refusal::Unreadable { subject: Box::new(subject), why: why.clone() }),
    };
    match command {
        // Each item has an answer of its own: a claim whose row cannot be read is not extended.
        Command::TaskHeartbeat { .. } => return Ok(()),
        // They only delete a row, whatever it says.
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
    // Where the engine looks for a message of its own, one that cannot be read is there, and that
    // is all there is to it.
    match command {
        Command::OutboxDue { key } | Command::OutboxDefer { key, .. } => {
            refuse(Subject::Message(key.clone()))
        }
        _ => Ok(()),
    }
}
