//! Schedules of recurring executions, keyed by id.

use segno_core::{
    id::{PromiseId, ScheduleId},
    promise::{Overlap, PromiseTemplate, Schedule, Skips, Zone},
    time::Millis,
    unreadable::Subject,
    value::Text,
};

use super::{
    ColumnKind::{Blob, Int, Text as Word},
    ConflictRule, NamedTable, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{at, headers, json, needed, number, small, tags, value},
};

/// The columns of a schedule, in the order in which [`schedule`] reads them and [`cells`] writes
/// them.
macro_rules! schedule_columns {
    () => {
        "id, cron, promise_id, param_headers, param, tags, timeout, overlap, paused, created_at, next_at, \
         last_at, last_id, skipped, zone, jitter, nominal_at, skips"
    };
}
pub(crate) use schedule_columns;

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "schedules",
        columns: schedule_columns!(),
        kinds: &[
            Word, Word, Word, Word, Blob, Word, Int, Int, Int, Int, Int, Int, Word, Int, Word, Int,
            Int, Word,
        ],
        key: 1,
        again: ConflictRule::Replaces,
    },
    load: "load schedules",
    put: "put schedules",
    wanted: |rows| rows.schedules.iter().map(ScheduleId::as_str).collect(),
    want: |id, rows| {
        rows.schedules.insert(id.into());
    },
    subject: |id| Subject::Schedule(id.into()),
    read: |row, view| schedule(&row).map(|schedule| view.put_schedule(schedule)),
    written: |delta| delta.schedules.values().flatten().map(cells).collect(),
    deleted: |delta| {
        let gone = delta.schedules.iter().filter(|(_, row)| row.is_none());
        gone.map(|(id, _)| vec![id.as_str().into()]).collect()
    },
};

fn cells(schedule: &Schedule) -> CellRow {
    let template = &schedule.template;
    let skips = Some(&schedule.skips).filter(|skips| !skips.is_empty());
    let skips = skips.map(|skips| serde_json::to_string(skips).expect("counts by name are JSON"));
    vec![
        schedule.id.as_str().into(),
        schedule.cron.as_str().into(),
        template.id.as_str().into(),
        headers(&template.param),
        template.param.data.as_slice().into(),
        json(&template.tags).into(),
        template.timeout.0.into(),
        i64::from(schedule.overlap.number()).into(),
        schedule.paused.into(),
        schedule.created_at.0.into(),
        // The stored instant includes the jitter, for the readers of due schedules.
        schedule.fires_at(schedule.next_at).0.into(),
        schedule.last_at.map(|at| at.0).into(),
        schedule.last_id.as_ref().map(PromiseId::as_str).into(),
        schedule.skipped.into(),
        Some(schedule.zone).filter(|zone| !zone.is_utc()).map(Zone::name).into(),
        schedule.jitter.0.into(),
        Some(schedule.next_at.0).filter(|_| schedule.jitter > Millis::ZERO).into(),
        skips.into(),
    ]
}

/// Decodes a schedule from a row of `schedule_columns`.
pub(crate) fn schedule(row: &impl RowFields) -> Result<Schedule, SqlFailure> {
    let id = ScheduleId::new(needed(row.text(0)?, &"schedules", "id")?);
    let text =
        |column, name| Ok::<_, SqlFailure>(Text::from(&*needed(row.text(column)?, &id, name)?));
    let template = PromiseTemplate {
        id: text(2, "promise_id")?,
        param: value(row, 3, needed(row.blob(4)?, &id, "param")?, &id)?,
        tags: tags(&needed(row.text(5)?, &id, "tags")?, &id)?,
        timeout: Millis(number(row, 6, &id, "timeout")?),
    };
    let overlap = Overlap::from_number(small(row, 7, &id, "overlap")?);
    let zone = match row.text(14)? {
        Some(name) => needed(name.parse().ok(), &id, "zone")?,
        None => Zone::UTC,
    };
    let skips = match row.text(17)? {
        Some(json) => needed(serde_json::from_str(&json).ok(), &id, "skips")?,
        None => Skips::default(),
    };
    let fires_at = needed(at(row, 10)?, &id, "next_at")?;
    Ok(Schedule {
        cron: text(1, "cron")?,
        zone,
        jitter: Millis(number(row, 15, &id, "jitter")?),
        template,
        overlap: needed(overlap, &id, "overlap")?,
        paused: number(row, 8, &id, "paused")? != 0,
        created_at: needed(at(row, 9)?, &id, "created_at")?,
        next_at: at(row, 16)?.unwrap_or(fires_at),
        last_at: at(row, 11)?,
        last_id: row.text(12)?.map(PromiseId::new),
        skipped: number(row, 13, &id, "skipped")?.cast_unsigned(),
        skips,
        id,
    })
}
