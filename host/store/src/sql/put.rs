//! Rows on their way into what decisions read, the same from every database.
//!
//! A row that cannot be read is damage from outside, and spoils only what it is about: that is
//! marked ([`segno_core::unreadable`]), and the rows beside it are loaded. Only a row that does not
//! even say whose it is ends the load.

use segno_core::{id::PromiseId, invocation::Record, unreadable::Subject, value::Text, view::View};

use super::{
    Cache, Failure, Fields, Level, head, id, outbox, outbox_key, promise,
    rows::needed,
    small,
    table::{ColumnKind, Named, Owned},
    task, text, unreadable,
};

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

/// Reads and puts; marks `subject` where it could not be read.
fn keep(
    view: &mut View,
    subject: impl FnOnce() -> Subject,
    put: impl FnOnce(&mut View) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match put(view) {
        Ok(()) => Ok(()),
        Err(error) => {
            view.put_unreadable(subject(), Text::from(&*unreadable(error)?));
            Ok(())
        }
    }
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
            task.into_iter().for_each(|task| cache.view.put_task(task));
            cache.weigh(&promise);
            cache.view.put_promise(promise);
        }
        Err(error) => {
            let why = Text::from(&*unreadable(error)?);
            cache.view.put_unreadable(Subject::Promise(id.clone()), why);
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
    keep(&mut cache.view, subject, |view| {
        let consumed = consumed?.unwrap_or_default() != 0;
        view.put_callback(awaited.1, awaiter.1.clone(), consumed);
        Ok(())
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
    keep(&mut cache.view, subject, |view| {
        view.put_listener(awaited.clone(), text(row, column)?);
        Ok(())
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
    keep(&mut cache.view, subject, |view| {
        let (key, message) = outbox(row, first, source)?;
        view.put_outbox(key, message);
        Ok(())
    })
}

/// Puts the end of a journal: what [`head`] reads from column `first` on.
pub(crate) fn put_head(
    cache: &mut Cache,
    invocation: PromiseId,
    row: &impl Fields,
    first: usize,
) -> Result<(), Failure> {
    let subject = || Subject::Promise(invocation.clone());
    keep(&mut cache.view, subject, |view| {
        view.put_head(invocation.clone(), head(row, first, &invocation)?);
        Ok(())
    })
}

/// Puts the key of a signal to `invocation`: the number and the key in these columns.
pub(crate) fn put_signal_key(
    cache: &mut Cache,
    invocation: PromiseId,
    row: &impl Fields,
    number: usize,
    key: usize,
) -> Result<(), Failure> {
    let subject = || Subject::Promise(invocation.clone());
    keep(&mut cache.view, subject, |view| {
        let number = small(row, number, &"signal_keys", "number")?;
        view.put_signal_key(invocation.clone(), text(row, key)?, number);
        Ok(())
    })
}

/// Puts a row of such a table. Answers its name.
pub(crate) fn put_named(
    cache: &mut Cache,
    named: &Named,
    row: &impl Fields,
) -> Result<String, Failure> {
    let name = needed(row.text(0)?, &named.table.name, named.table.first())?.into_owned();
    keep(&mut cache.view, || (named.subject)(&name), |view| (named.read)(row, view))?;
    Ok(name)
}

/// Puts what a row says of an invocation's rows in such a table: its number and id, then such a row
/// without its number, or nothing if it has none.
pub(crate) fn put_owned(
    cache: &mut Cache,
    owned: &Owned,
    row: &impl Fields,
) -> Result<(), Failure> {
    let invocation = id(row, 1)?;
    cache.know(&invocation, row.int(0)?, Level::Number);
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
    cache.view.put_tail(invocation.clone(), tail);
    Ok(())
}
