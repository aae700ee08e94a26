//! Reads schedules, in id order.

use segno_core::{id::ScheduleId, promise::Schedule};

use super::{DatabaseSession, Select};
use crate::{
    ScheduleFilter, SchedulePage, UnreadableEntity,
    limits::{self, LOOKED_AT},
    query::PageBound,
    sql::{self, RowFields as _, SqlFailure, schedule_columns},
};

const SCHEDULE: Select =
    Select::common(concat!("SELECT ", schedule_columns!(), " FROM schedules WHERE id = $1"));

/// Schedules after an id, in id order.
const PAGE: Select = Select::common(concat!(
    "SELECT ",
    schedule_columns!(),
    " FROM schedules WHERE id > $1 ORDER BY id LIMIT $2"
));

/// Schedules from an id on (inclusive), in id order.
const PAGE_FROM: Select = Select::common(concat!(
    "SELECT ",
    schedule_columns!(),
    " FROM schedules WHERE id >= $1 ORDER BY id LIMIT $2"
));

/// Rows per statement.
const LOOK: u32 = 256;

pub(super) async fn schedule(
    session: &mut impl DatabaseSession,
    id: &ScheduleId,
) -> Result<Option<Schedule>, SqlFailure> {
    let found = session.first(&SCHEDULE, &[id.as_str().into()]).await?;
    found.map(|row| sql::schedule(&row)).transpose()
}

/// A page of schedules.
pub(super) async fn page(
    session: &mut impl DatabaseSession,
    filter: &ScheduleFilter,
) -> Result<SchedulePage, SqlFailure> {
    let limit = limits::page_limit(filter.limit) as usize;
    let (mut taken, mut unreadable): (Vec<Schedule>, Vec<UnreadableEntity>) = Default::default();
    let mut after = filter.after.clone();
    for _ in 0..LOOKED_AT.div_ceil(LOOK) {
        let (begin, from) = filter.begins_at(after.as_ref());
        let select = if begin == PageBound::At { &PAGE_FROM } else { &PAGE };
        let found = session.all(select, &[from.into(), LOOK.into()]).await?;
        let mut is_behind = false;
        for row in &found {
            let id = ScheduleId::new(row.text(0)?.unwrap_or_default());
            is_behind |= filter.is_behind(&id);
            match sql::schedule(row) {
                Ok(schedule) => taken.extend(filter.takes(&schedule).then_some(schedule)),
                Err(error) if !is_behind => {
                    unreadable.push(UnreadableEntity::of(row.text(0), error)?)
                }
                Err(_) => {}
            }
            after = Some(id);
        }
        if found.len() < LOOK as usize || is_behind || taken.len() > limit {
            return Ok(SchedulePage::of(taken.into_iter(), limit).beside(unreadable));
        }
    }
    let page = SchedulePage::of(taken.into_iter(), limit);
    Ok(SchedulePage { next: page.next.or(after), ..page }.beside(unreadable))
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[SCHEDULE, PAGE, PAGE_FROM];
