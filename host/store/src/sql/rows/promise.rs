//! Encodes and decodes promises; [`mod@super::task`] reads the task columns of the same row.

use std::sync::Arc;

use segno_core::{
    id::PromiseId,
    promise::{Promise, PromiseSpec, PromiseState, Settlement, Verdict},
};

use super::column::{at, damaged, headers, id, json, needed, small, tags, value};
use crate::sql::{RowFields, SqlCell, SqlFailure};

/// The columns of a promise `p` with its task `t`, in the order in which `promise` and `task`
/// read them. Requires `promise_tables`. The optional arguments are expressions that replace the
/// parameter and the value.
macro_rules! promise_columns {
    () => {
        promise_columns!("p.param", "p.value")
    };
    ($param:literal, $value:literal) => {
        concat!(
            "p.n, p.id, p.state, p.created_at, p.timeout_at, p.settled_at, m.id, p.tags, p.param_headers, ",
            $param,
            ", p.value_headers, ",
            $value,
            ", t.state, t.version, t.wake_at, t.pending_since, t.offered, t.node, t.incarnation, \
             t.nonce, t.ttl, t.halted, d.digest, t.attempt, t.last_heartbeat, t.fulfilled_by, t.cancel, t.signals, \
             t.details "
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
pub(crate) const AFTER_PROMISE: usize = 29;

pub(crate) fn new_promise(n: i64, made_by: Option<i64>, promise: &Promise) -> [SqlCell; 14] {
    let spec = &promise.spec;
    let [state, settled_at, value_headers, value] = settlement(promise);
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
        spec.param.data.as_slice().into(),
        value_headers,
        value,
    ]
}

/// The columns that settling changes: state, instant, headers, value.
pub(crate) fn settlement(promise: &Promise) -> [SqlCell; 4] {
    match promise.settlement() {
        None => [0_i64.into(), SqlCell::Null, SqlCell::Null, SqlCell::Null],
        Some(settled) => [
            i64::from(settled.verdict.number()).into(),
            settled.settled_at.0.into(),
            settled.value.as_ref().map_or(SqlCell::Null, headers),
            settled.value.as_ref().map(|value| value.data.as_slice()).into(),
        ],
    }
}

/// Decodes the promise of a row of `promise_columns`, with its number.
pub(crate) fn promise(row: &impl RowFields) -> Result<(i64, Promise), SqlFailure> {
    let id = id(row, 1)?;
    let number = small(row, 2, &id, "state")?;
    let state = if number == 0 {
        PromiseState::Pending
    } else {
        let verdict = Verdict::from_number(number).ok_or_else(|| damaged(&id, "state"))?;
        let value = match row.blob(11)? {
            None => None,
            Some(data) => Some(value(row, 10, data, &id)?),
        };
        let settled_at = needed(at(row, 5)?, &id, "settled_at")?;
        PromiseState::Settled(Arc::new(Settlement { verdict, value, settled_at }))
    };
    let spec = PromiseSpec {
        param: value(row, 8, needed(row.blob(9)?, &id, "param")?, &id)?,
        tags: tags(&needed(row.text(7)?, &id, "tags")?, &id)?,
        made_by: row.text(6)?.map(PromiseId::new),
        timeout_at: needed(at(row, 4)?, &id, "timeout_at")?,
        created_at: needed(at(row, 3)?, &id, "created_at")?,
        id,
    };
    let number = needed(row.int(0)?, &spec.id, "n")?;
    Ok((number, Promise { spec: Arc::new(spec), state }))
}
