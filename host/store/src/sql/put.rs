//! Rows on their way into what decisions read, the same from every database.
//!
//! A row that cannot be read is damage from outside, and spoils only what it is about: that is
//! marked ([`segno_core::unreadable`]), and the rows beside it are loaded. Only a row that does not
//! even say whose it is ends the load.

use segno_core::{
    id::{PromiseId, ResourceName, ScheduleId},
    invocation::Record,
    state::State,
    unreadable::Subject,
    value::Text,
};

use super::{
    Cache, Failure, Fields, Level, fact, head, id, lease, outbox, outbox_key, promise, resource,
    rows::needed, schedule, small, task, text,
};

/// What a row that cannot be read says of itself.
///
/// # Errors
/// Any other error: the database did not give the row.
pub(crate) fn unreadable(error: Failure) -> Result<String, Failure> {
    match error {
        Failure::Unreadable(reason) => Ok(reason),
        other => Err(other),
    }
}

/// The rows that can be read, of a list that has to go on behind those that cannot. The round over
/// everything names them.
///
/// # Errors
/// The database did not give a row.
pub(crate) fn readable<T>(
    rows: impl Iterator<Item = Result<T, Failure>>,
) -> Result<Vec<T>, Failure> {
    let mut read = Vec::new();
    for row in rows {
        match row {
            Ok(row) => read.push(row),
            Err(error) => drop(unreadable(error)?),
        }
    }
    Ok(read)
}

/// Takes what was read; marks `subject` where it could not be.
fn keep<T>(
    state: &mut State,
    subject: impl FnOnce() -> Subject,
    read: Result<T, Failure>,
    put: impl FnOnce(&mut State, T),
) -> Result<(), Failure> {
    match read {
        Ok(read) => put(state, read),
        Err(error) => state.put_unreadable(subject(), Text::from(&*unreadable(error)?)),
    }
    Ok(())
}

/// Puts a promise with its task. Answers its number and its id.
pub(crate) fn put_promise(
    cache: &mut Cache,
    row: &impl Fields,
    level: Level,
) -> Result<(i64, PromiseId), Failure> {
    let id = id(row, 1)?;
    let number = needed(row.int(0)?, &id, "n")?;
    cache.know(&id, Some(number), level);
    match promise(row).and_then(|(_, promise)| Ok((promise, task(row, &id)?))) {
        Ok((promise, task)) => {
            task.into_iter().for_each(|task| cache.state.put_task(task));
            cache.weigh(&promise);
            cache.state.put_promise(promise);
        }
        Err(error) => {
            let why = Text::from(&*unreadable(error)?);
            cache.state.put_unreadable(Subject::Promise(id.clone()), why);
        }
    }
    Ok((number, id))
}

/// Puts a callback: the awaited one's number and id, the awaiter's, and whether it is consumed.
pub(crate) fn put_callback(
    cache: &mut Cache,
    awaited: (Option<i64>, PromiseId),
    awaiter: (Option<i64>, PromiseId),
    consumed: Result<Option<i64>, Failure>,
) -> Result<(), Failure> {
    cache.know(&awaited.1, awaited.0, Level::Number);
    cache.know(&awaiter.1, awaiter.0, Level::Number);
    let subject = || Subject::Promise(awaiter.1.clone());
    keep(&mut cache.state, subject, consumed, |state, consumed| {
        state.put_callback(awaited.1, awaiter.1.clone(), consumed.unwrap_or_default() != 0);
    })
}

/// Puts a listener on `awaited`: its address in column `column`.
pub(crate) fn put_listener(
    cache: &mut Cache,
    awaited: PromiseId,
    row: &impl Fields,
    column: usize,
) -> Result<(), Failure> {
    let subject = || Subject::Promise(awaited.clone());
    keep(&mut cache.state, subject, text(row, column), |state, address| {
        state.put_listener(awaited.clone(), address);
    })
}

/// Puts a message about `source`: what [`outbox`] reads from column `first` on.
pub(crate) fn put_message(
    cache: &mut Cache,
    source: &PromiseId,
    row: &impl Fields,
    first: usize,
) -> Result<(), Failure> {
    let key = outbox_key(row, first, source);
    let subject = || key.map_or_else(|_| Subject::Promise(source.clone()), Subject::Message);
    keep(&mut cache.state, subject, outbox(row, first, source), |state, (key, message)| {
        state.put_outbox(key, message);
    })
}

/// Puts the end of a journal: what [`head`] reads from column `first` on.
pub(crate) fn put_head(
    cache: &mut Cache,
    invocation: PromiseId,
    row: &impl Fields,
    first: usize,
) -> Result<(), Failure> {
    let read = head(row, first, &invocation);
    let subject = || Subject::Promise(invocation.clone());
    keep(&mut cache.state, subject, read, |state, head| state.put_head(invocation.clone(), head))
}

/// Puts the key of a signal to `invocation`: the number and the key in these columns.
pub(crate) fn put_signal_key(
    cache: &mut Cache,
    invocation: PromiseId,
    row: &impl Fields,
    number: usize,
    key: usize,
) -> Result<(), Failure> {
    let read = small(row, number, &"signal_keys", "number")
        .and_then(|number| Ok((text(row, key)?, number)));
    let subject = || Subject::Promise(invocation.clone());
    keep(&mut cache.state, subject, read, |state, (key, number)| {
        state.put_signal_key(invocation.clone(), key, number);
    })
}

/// Puts a schedule, whose id is in the first column. Answers that.
pub(crate) fn put_schedule(cache: &mut Cache, row: &impl Fields) -> Result<ScheduleId, Failure> {
    let id = ScheduleId::new(needed(row.text(0)?, &"schedules", "id")?);
    let subject = || Subject::Schedule(id.clone());
    keep(&mut cache.state, subject, schedule(row), State::put_schedule)?;
    Ok(id)
}

/// Puts a resource, whose name is in the first column. Answers that.
pub(crate) fn put_resource(cache: &mut Cache, row: &impl Fields) -> Result<ResourceName, Failure> {
    let name = ResourceName::new(needed(row.text(0)?, &"resources", "name")?);
    let subject = || Subject::Resource(name.clone());
    keep(&mut cache.state, subject, resource(row, 0), State::put_resource)?;
    Ok(name)
}

/// Puts the lease on a resource, whose name is in the first column. Answers that.
pub(crate) fn put_lease(cache: &mut Cache, row: &impl Fields) -> Result<ResourceName, Failure> {
    let name = ResourceName::new(needed(row.text(0)?, &"resource_leases", "name")?);
    let subject = || Subject::Resource(name.clone());
    keep(&mut cache.state, subject, lease(row, 0), State::put_resource_lease)?;
    Ok(name)
}

/// Puts what a row says of the invocation's facts: its number and id, then a fact, or none if it
/// has none.
pub(crate) fn put_fact(cache: &mut Cache, row: &impl Fields) -> Result<(), Failure> {
    let invocation = id(row, 1)?;
    cache.know(&invocation, row.int(0)?, Level::Number);
    let read = match row.text(2) {
        Ok(None) => return Ok(()),
        Ok(Some(_)) => fact(row, 1),
        Err(error) => Err(error),
    };
    keep(
        &mut cache.state,
        || Subject::Promise(invocation),
        read,
        |state, (invocation, key, fact)| {
            state.put_fact(invocation, key, fact);
        },
    )
}

/// Puts the last records of a journal from `from` on. One that cannot be read has none: it
/// contradicts its end then, and is dealt with as such.
pub(crate) fn put_tail(
    cache: &mut Cache,
    invocation: &PromiseId,
    tail: Result<Vec<Record>, Failure>,
    from: u32,
) -> Result<(), Failure> {
    let mut tail = match tail {
        Ok(tail) => tail,
        Err(error) => unreadable(error).map(|_| Vec::new())?,
    };
    tail.retain(|record| record.seq >= from);
    cache.state.put_tail(invocation.clone(), tail);
    Ok(())
}
