//! Puts rows read from a database into the view for decisions, the same for every database.
//!
//! An unreadable row is damage from outside. It affects only its subject, which is marked
//! ([`segno_core::unreadable`]); all other rows are loaded. The load fails only if a row does not
//! even identify its subject.

use segno_core::{id::PromiseId, invocation::Record, unreadable::Subject, value::Text, view::View};

use super::{
    Cache, CacheLevel, RowFields, SqlFailure, head, id, outbox, outbox_key,
    rows::needed,
    small, stored_promise,
    table::{ColumnKind, NamedTable, OwnedTable},
    task, text, unreadable,
};

/// Keeps the readable rows of a list, so that unreadable rows do not end it. The periodic
/// examination of the whole store reports those.
///
/// # Errors
/// Fails if the database did not return a row.
pub(crate) fn readable<T>(
    rows: impl Iterator<Item = Result<T, SqlFailure>>,
) -> Result<Vec<T>, SqlFailure> {
    let mut read = Vec::new();
    for row in rows {
        match row {
            Ok(row) => read.push(row),
            Err(error) => drop(unreadable(error)?),
        }
    }
    Ok(read)
}

/// Runs `put`; marks `subject` as unreadable if it fails.
fn keep(
    view: &mut View,
    subject: impl FnOnce() -> Subject,
    put: impl FnOnce(&mut View) -> Result<(), SqlFailure>,
) -> Result<(), SqlFailure> {
    match put(view) {
        Ok(()) => Ok(()),
        Err(error) => {
            view.put_unreadable(subject(), Text::from(&*unreadable(error)?));
            Ok(())
        }
    }
}

/// Adds a promise with its task. Returns its number and id.
pub(crate) fn put_promise(
    cache: &mut Cache,
    row: &impl RowFields,
    level: CacheLevel,
) -> Result<(i64, PromiseId), SqlFailure> {
    let id = id(row, 1)?;
    let number = needed(row.int(0)?, &id, "n")?;
    cache.know(&id, Some(number), level);
    match stored_promise(row).and_then(|(_, stored)| Ok((stored, task(row, &id)?))) {
        Ok((stored, task)) => {
            task.into_iter().for_each(|task| cache.view.put_task(task));
            cache.put_stored(stored);
        }
        Err(error) => {
            let why = Text::from(&*unreadable(error)?);
            cache.view.put_unreadable(Subject::Promise(id.clone()), why);
        }
    }
    Ok((number, id))
}

/// Adds a callback: number and id of the awaited promise, number and id of the awaiter, and whether
/// it is consumed.
pub(crate) fn put_callback(
    cache: &mut Cache,
    awaited: (Option<i64>, PromiseId),
    awaiter: (Option<i64>, PromiseId),
    consumed: Result<Option<i64>, SqlFailure>,
) -> Result<(), SqlFailure> {
    cache.know(&awaited.1, awaited.0, CacheLevel::Number);
    cache.know(&awaiter.1, awaiter.0, CacheLevel::Number);
    let subject = || Subject::Promise(awaiter.1.clone());
    keep(&mut cache.view, subject, |view| {
        let consumed = consumed?.unwrap_or_default() != 0;
        view.put_callback(awaited.1, awaiter.1.clone(), consumed);
        Ok(())
    })
}

/// Adds a listener on `awaited`; its address is in `column`.
pub(crate) fn put_listener(
    cache: &mut Cache,
    awaited: PromiseId,
    row: &impl RowFields,
    column: usize,
) -> Result<(), SqlFailure> {
    let subject = || Subject::Promise(awaited.clone());
    keep(&mut cache.view, subject, |view| {
        view.put_listener(awaited.clone(), text(row, column)?);
        Ok(())
    })
}

/// Adds a message about `source`, in the columns that [`outbox`] reads from `first` on.
pub(crate) fn put_message(
    cache: &mut Cache,
    source: &PromiseId,
    row: &impl RowFields,
    first: usize,
) -> Result<(), SqlFailure> {
    let key = outbox_key(row, first, source);
    let subject = || key.map_or_else(|_| Subject::Promise(source.clone()), Subject::Message);
    keep(&mut cache.view, subject, |view| {
        let (key, message) = outbox(row, first, source)?;
        view.put_outbox(key, message);
        Ok(())
    })
}

/// Adds the head of a journal, in the columns that [`head`] reads from `first` on.
pub(crate) fn put_head(
    cache: &mut Cache,
    invocation: PromiseId,
    row: &impl RowFields,
    first: usize,
) -> Result<(), SqlFailure> {
    let subject = || Subject::Promise(invocation.clone());
    keep(&mut cache.view, subject, |view| {
        view.put_head(invocation.clone(), head(row, first, &invocation)?);
        Ok(())
    })
}

/// Adds the key of a signal to `invocation`; `number` and `key` are columns.
pub(crate) fn put_signal_key(
    cache: &mut Cache,
    invocation: PromiseId,
    row: &impl RowFields,
    number: usize,
    key: usize,
) -> Result<(), SqlFailure> {
    let subject = || Subject::Promise(invocation.clone());
    keep(&mut cache.view, subject, |view| {
        let number = small(row, number, &"signal_keys", "number")?;
        view.put_signal_key(invocation.clone(), text(row, key)?, number);
        Ok(())
    })
}

/// Adds a row of a named table. Returns its name.
pub(crate) fn put_named(
    cache: &mut Cache,
    named: &NamedTable,
    row: &impl RowFields,
) -> Result<String, SqlFailure> {
    let name = needed(row.text(0)?, &named.table.name, named.table.first())?.into_owned();
    keep(&mut cache.view, || (named.subject)(&name), |view| (named.read)(row, view))?;
    Ok(name)
}

/// Adds a row of an invocation in an owned table: the invocation's number and id, then the row
/// without that number, or nulls if it has none.
pub(crate) fn put_owned(
    cache: &mut Cache,
    owned: &OwnedTable,
    row: &impl RowFields,
) -> Result<(), SqlFailure> {
    let invocation = id(row, 1)?;
    cache.know(&invocation, row.int(0)?, CacheLevel::Number);
    let is_there = match owned.table.kinds.get(1) {
        Some(ColumnKind::Int) => row.int(2).map(|found| found.is_some()),
        Some(ColumnKind::Blob) => row.blob(2).map(|found| found.is_some()),
        Some(ColumnKind::Text) | None => row.text(2).map(|found| found.is_some()),
    };
    let subject = || Subject::Promise(invocation);
    keep(&mut cache.view, subject, |view| match is_there? {
        true => (owned.read)(row, 1, view),
        false => Ok(()),
    })
}

/// Adds the last records of a journal, from `from` on. An unreadable journal gets none: it then
/// contradicts its head, and is handled as damage.
pub(crate) fn put_tail(
    cache: &mut Cache,
    invocation: &PromiseId,
    tail: Result<Vec<Record>, SqlFailure>,
    from: u32,
) -> Result<(), SqlFailure> {
    let mut tail = match tail {
        Ok(tail) => tail,
        Err(error) => unreadable(error).map(|_| Vec::new())?,
    };
    tail.retain(|record| record.seq >= from);
    cache.view.put_tail(invocation.clone(), tail);
    Ok(())
}
