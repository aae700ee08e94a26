//! The facts of sagas. Rows are only inserted; a second insertion of the same fact is refused by
//! the key.

use segno_core::{
    id::PromiseId,
    saga::{Fact, FactKey, FactKind},
    value::Text,
};

use super::{
    ColumnKind::{Int, Text as Word},
    ConflictRule, OwnedTable, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{at, id, needed, number, small, text},
};

pub(super) const ROWS: OwnedTable = OwnedTable {
    table: SqlTable {
        name: "compensations",
        columns: "inv, saga, seq, fact, promise, compensate, unknown, at",
        kinds: &[Int, Word, Int, Int, Word, Word, Int, Int],
        key: 4,
        again: ConflictRule::Refused,
    },
    load: "load the facts of sagas",
    put: "append facts",
    remove: "remove facts",
    wanted: |rows| &rows.facts,
    read: |row, first, view| {
        let (invocation, key, fact) = fact(&row, first)?;
        view.put_fact(invocation, key, fact);
        Ok(())
    },
    written: |delta, number| {
        let facts = delta.facts.iter();
        facts.map(|((invocation, key), fact)| cells(number(invocation), key, fact)).collect()
    },
};

/// The row of a fact; `invocation` is the number of its invocation.
fn cells(invocation: i64, key: &FactKey, fact: &Fact) -> CellRow {
    vec![
        invocation.into(),
        key.saga.as_str().into(),
        key.seq.into(),
        i64::from(key.kind.number()).into(),
        fact.promise.as_str().into(),
        fact.compensate.as_ref().map(Text::as_str).into(),
        fact.unknown.into(),
        fact.at.0.into(),
    ]
}

/// Decodes a fact from these columns, starting at `first`, with the invocation's id in place of its
/// number.
pub(crate) fn fact(
    row: &impl RowFields,
    first: usize,
) -> Result<(PromiseId, FactKey, Fact), SqlFailure> {
    let invocation = id(row, first)?;
    let kind = FactKind::from_number(small(row, first + 3, &invocation, "fact")?);
    let key = FactKey {
        saga: text(row, first + 1)?,
        seq: small(row, first + 2, &invocation, "seq")?,
        kind: needed(kind, &invocation, "fact")?,
    };
    let fact = Fact {
        promise: id(row, first + 4)?,
        compensate: row.text(first + 5)?.map(|address| Text::from(&*address)),
        unknown: number(row, first + 6, &invocation, "unknown")? != 0,
        at: needed(at(row, first + 7)?, &invocation, "at")?,
    };
    Ok((invocation, key, fact))
}
