//! Encodes and decodes promises; [`mod@super::task`] reads the task columns of the same row.

use std::sync::Arc;

use segno_core::{
    id::PromiseId,
    promise::{Promise, PromiseSpec, PromiseState, Settlement, Verdict},
    value::Bytes,
};

use super::column::{at, damaged, headers, id, json, needed, small, tags, value};
use crate::sql::{
    RowFields, SqlCell, SqlFailure,
    large_value::{ChunkList, ChunkSet, ValueOwner, ValueRows},
};

/// The columns of a promise `p` with its task `t`, in the order in which `stored_promise` and `task`
/// read them. Requires `promise_tables`. The optional arguments are expressions that replace the
/// parameter and the value; both must then be inline.
macro_rules! promise_columns {
    () => {
        promise_columns!("p.param", "p.value", "p.param_bytes, p.value_bytes ")
    };
    ($param:literal, $value:literal) => {
        promise_columns!($param, $value, "CAST(NULL AS bigint), CAST(NULL AS bigint) ")
    };
    ($param:literal, $value:literal, $lengths:literal) => {
        concat!(
            "p.n, p.id, p.state, p.created_at, p.timeout_at, p.settled_at, m.id, p.tags, p.param_headers, ",
            $param,
            ", p.value_headers, ",
            $value,
            ", t.state, t.version, t.wake_at, t.pending_since, t.offered, t.node, t.incarnation, \
             t.nonce, t.ttl, t.halted, d.digest, t.attempt, t.last_heartbeat, t.fulfilled_by, t.cancel, t.signals, \
             t.details, ",
            $lengths
        )
    };
}
pub(crate) use promise_columns;

/// The joins that `promise_columns` requires, after `promises p`.
macro_rules! promise_tables {
    () => {
        "LEFT JOIN promises m ON m.n = p.made_by LEFT JOIN tasks t ON t.n = p.n LEFT JOIN modules d ON d.n = t.module "
    };
}
pub(crate) use promise_tables;

/// Index of the first column after `promise_columns`.
pub(crate) const AFTER_PROMISE: usize = 31;

/// The cells of a new promise; adds the chunks of large values to `values`.
pub(crate) fn new_promise(
    n: i64,
    made_by: Option<i64>,
    promise: &Promise,
    values: &mut ValueRows,
) -> [SqlCell; 16] {
    let spec = &promise.spec;
    let [param, param_bytes] = values.cells(ValueOwner::Promise(n), &spec.param.data);
    let [state, settled_at, value_headers, value, value_bytes] = settlement(n, promise, values);
    [
        n.into(),
        spec.id.as_str().into(),
        state,
        spec.created_at.0.into(),
        spec.timeout_at.0.into(),
        settled_at,
        made_by.into(),
        promise.attached_to().is_some().into(),
        promise.target().into(),
        json(&spec.tags).into(),
        headers(&spec.param),
        param,
        value_headers,
        value,
        param_bytes,
        value_bytes,
    ]
}

/// The columns that settling changes: state, instant, headers, value, length of a large value.
pub(crate) fn settlement(n: i64, promise: &Promise, values: &mut ValueRows) -> [SqlCell; 5] {
    let Some(settled) = promise.settlement() else {
        return [0_i64.into(), SqlCell::Null, SqlCell::Null, SqlCell::Null, SqlCell::Null];
    };
    let value = settled.value.as_ref();
    let [data, bytes] = value.map_or([SqlCell::Null, SqlCell::Null], |value| {
        values.cells(ValueOwner::Promise(n), &value.data)
    });
    [
        i64::from(settled.verdict.number()).into(),
        settled.settled_at.0.into(),
        value.map_or(SqlCell::Null, headers),
        data,
        bytes,
    ]
}

/// A promise as it is stored: the data of a large value is empty, and the list of its chunks is
/// beside it.
#[derive(Debug)]
pub(crate) struct StoredPromise {
    pub(crate) promise: Promise,
    param: Option<ChunkList>,
    value: Option<ChunkList>,
}

impl StoredPromise {
    /// The lists of the chunks of large values.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &ChunkList> {
        self.param.iter().chain(&self.value)
    }

    /// True if no value is large.
    pub(crate) fn is_inline(&self) -> bool {
        self.lists().next().is_none()
    }

    /// Bytes of the large values.
    pub(crate) fn large_bytes(&self) -> u64 {
        self.lists().map(|list| list.len).sum()
    }

    /// The promise with its large values, whose chunks were read.
    pub(crate) fn whole(self, chunks: &ChunkSet) -> Result<Promise, SqlFailure> {
        let Self { mut promise, param, value } = self;
        if let Some(list) = param {
            let data = needed(chunks.value(&list), promise.id(), "param")?;
            Arc::make_mut(&mut promise.spec).param.data = Bytes::from(data);
        }
        if let Some(list) = value {
            let data = needed(chunks.value(&list), promise.id(), "value")?;
            if let PromiseState::Settled(settlement) = &mut promise.state
                && let Some(value) = &mut Arc::make_mut(settlement).value
            {
                value.data = Bytes::from(data);
            }
        }
        Ok(promise)
    }
}

/// The data of a value in a column: itself, or nothing and the list of its chunks if its length is
/// in the column `bytes`.
fn data<'a>(
    row: &'a impl RowFields,
    column: &'a [u8],
    bytes: usize,
    id: &PromiseId,
) -> Result<(&'a [u8], Option<ChunkList>), SqlFailure> {
    match row.int(bytes)? {
        None => Ok((column, None)),
        Some(_) => Ok((&[], Some(needed(ChunkList::decode(column), id, "list of chunks")?))),
    }
}

/// Decodes the promise of a row of `promise_columns`, with its number.
pub(crate) fn stored_promise(row: &impl RowFields) -> Result<(i64, StoredPromise), SqlFailure> {
    let id = id(row, 1)?;
    let number = small(row, 2, &id, "state")?;
    let mut large_value = None;
    let state = if number == 0 {
        PromiseState::Pending
    } else {
        let verdict = Verdict::from_number(number).ok_or_else(|| damaged(&id, "state"))?;
        let value = match row.blob(11)? {
            None => None,
            Some(column) => {
                let (data, list) = data(row, column, 30, &id)?;
                large_value = list;
                Some(value(row, 10, data, &id)?)
            }
        };
        let settled_at = needed(at(row, 5)?, &id, "settled_at")?;
        PromiseState::Settled(Arc::new(Settlement { verdict, value, settled_at }))
    };
    let (param, large_param) = data(row, needed(row.blob(9)?, &id, "param")?, 29, &id)?;
    let spec = PromiseSpec {
        param: value(row, 8, param, &id)?,
        tags: tags(&needed(row.text(7)?, &id, "tags")?, &id)?,
        made_by: row.text(6)?.map(PromiseId::new),
        timeout_at: needed(at(row, 4)?, &id, "timeout_at")?,
        created_at: needed(at(row, 3)?, &id, "created_at")?,
        id,
    };
    let number = needed(row.int(0)?, &spec.id, "n")?;
    let promise = Promise { spec: Arc::new(spec), state };
    Ok((number, StoredPromise { promise, param: large_param, value: large_value }))
}

/// Decodes the promise of a row whose values are inline.
pub(crate) fn inline_promise(row: &impl RowFields) -> Result<Promise, SqlFailure> {
    stored_promise(row)?.1.whole(&ChunkSet::default())
}
