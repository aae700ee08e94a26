//! Schedules as the core knows them, and as the tables of every database hold them.

use segno_core::{
    id::{PromiseId, ScheduleId},
    promise::{Overlap, Schedule, Template},
    time::Millis,
    value::Text,
};

use super::{
    Cell, Failure, Fields,
    rows::{at, headers, json, needed, number, small, tags, value},
};

/// Columns of a schedule, in the order in which [`schedule`] reads them and [`schedule_cells`]
/// writes them.
macro_rules! schedule_columns {
    () => {
        "schedules.id, cron, promise_id, param_headers, param, tags, timeout, overlap, paused, created_at, next_at, \
         last_at, last_id, skipped "
    };
}
pub(crate) use schedule_columns;

/// The row of a schedule.
pub(crate) fn schedule_cells(schedule: &Schedule) -> [Cell; 14] {
    let template = &schedule.template;
    [
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
        schedule.next_at.0.into(),
        schedule.last_at.map(|at| at.0).into(),
        schedule.last_id.as_ref().map(PromiseId::as_str).into(),
        schedule.skipped.into(),
    ]
}

/// The schedule of a row of `schedule_columns`.
pub(crate) fn schedule(row: &impl Fields) -> Result<Schedule, Failure> {
    let id = ScheduleId::new(needed(row.text(0)?, &"schedules", "id")?);
    let text = |column, name| Ok::<_, Failure>(Text::from(&*needed(row.text(column)?, &id, name)?));
    let template = Template {
        id: text(2, "promise_id")?,
        param: value(row, 3, needed(row.blob(4)?, &id, "param")?, &id)?,
        tags: tags(&needed(row.text(5)?, &id, "tags")?, &id)?,
        timeout: Millis(number(row, 6, &id, "timeout")?),
    };
    let overlap = Overlap::from_number(small(row, 7, &id, "overlap")?);
    Ok(Schedule {
        cron: text(1, "cron")?,
        template,
        overlap: needed(overlap, &id, "overlap")?,
        paused: number(row, 8, &id, "paused")? != 0,
        created_at: needed(at(row, 9)?, &id, "created_at")?,
        next_at: needed(at(row, 10)?, &id, "next_at")?,
        last_at: at(row, 11)?,
        last_id: row.text(12)?.map(PromiseId::new),
        skipped: number(row, 13, &id, "skipped")?.cast_unsigned(),
        id,
    })
}
