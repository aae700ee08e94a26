//! Limits, keyed by name.

use segno_core::{
    limit::{AdmissionRule, Limit, LimitName, Sweep, TokenBucket},
    unreadable::Subject,
};

use super::{
    ColumnKind::{Int, Text},
    ConflictRule, NamedTable, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlCell, SqlFailure,
    rows::{at, needed, number},
};

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "limits",
        columns: "name, declared, chosen, running, waiting, full_at_us, turn, joined, sweep, due_at",
        kinds: &[Text, Text, Text, Int, Int, Int, Int, Int, Text, Int],
        key: 1,
        again: ConflictRule::Replaces,
    },
    load: "load limits",
    put: "put limits",
    wanted: |rows| rows.limits.iter().map(LimitName::as_str).collect(),
    want: |name, rows| {
        rows.limits.insert(name.into());
    },
    subject: |name| Subject::Limit(name.into()),
    read: |row, view| limit(&row).map(|(name, limit)| view.put_limit(name, limit)),
    written: |delta| {
        let written = delta.limits.iter();
        written.filter_map(|(name, limit)| limit.as_ref().map(|limit| cells(name, limit))).collect()
    },
    deleted: |delta| {
        let gone = delta.limits.iter().filter(|(_, limit)| limit.is_none());
        gone.map(|(name, _)| vec![name.as_str().into()]).collect()
    },
};

fn cells(name: &LimitName, limit: &Limit) -> CellRow {
    let json = |rule: &Option<AdmissionRule>| -> SqlCell {
        let text = rule.as_ref().map(|rule| serde_json::to_string(rule).expect("a rule is JSON"));
        text.as_deref().into()
    };
    let sweep = limit.sweep.as_ref().map(|sweep| sweep.after.as_ref().map_or("", |id| id.as_str()));
    vec![
        name.as_str().into(),
        json(&limit.declared),
        json(&limit.set),
        limit.running.into(),
        limit.waiting.into(),
        limit.bucket.micros().into(),
        limit.turn.into(),
        limit.joined.into(),
        sweep.into(),
        limit.due_at.map_or(SqlCell::Null, |at| at.0.into()),
    ]
}

pub(crate) fn limit(row: &impl RowFields) -> Result<(LimitName, Limit), SqlFailure> {
    let name = LimitName::from(&*needed(row.text(0)?, &"limits", "name")?);
    let rule = |column: usize, what| -> Result<Option<AdmissionRule>, SqlFailure> {
        let Some(json) = row.text(column)? else { return Ok(None) };
        needed(serde_json::from_str(&json).ok(), &name, what).map(Some)
    };
    let count = |column, what| number(row, column, &name, what).map(i64::cast_unsigned);
    let sweep = row.text(8)?.map(|after| Sweep {
        after: Some(&*after).filter(|after| !after.is_empty()).map(Into::into),
    });
    let limit = Limit {
        declared: rule(1, "declared")?,
        set: rule(2, "chosen")?,
        running: count(3, "running")?,
        waiting: count(4, "waiting")?,
        bucket: TokenBucket::from_micros(number(row, 5, &name, "full_at_us")?),
        turn: count(6, "turn")?,
        joined: count(7, "joined")?,
        sweep,
        due_at: at(row, 9)?,
    };
    Ok((name, limit))
}
