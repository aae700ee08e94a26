//! The statements about schedules: loading, writing, reading.

use segno_core::{command::Command, id::ScheduleId, promise::Schedule, time::Timestamp};
use sqlx::Executor as _;

use super::{
    connection::Statement,
    reader::{Reader, failed},
};
use crate::{
    Due, ScheduleFilter, SchedulePage, StoreError, Unreadable,
    limits::{self, LOOKED_AT},
    query::Begin,
    sql::{self, Fields as _, schedule_columns},
};

/// Schedules, by ids.
pub(super) const SCHEDULES: &str = concat!(
    "SELECT ",
    schedule_columns!(),
    "FROM json_each(?1) wanted JOIN schedules ON schedules.id = wanted.value"
);

/// Schedules after one, by id.
const PAGE: &str =
    concat!("SELECT ", schedule_columns!(), "FROM schedules WHERE id > ?1 ORDER BY id LIMIT ?2");

/// The same, from one on.
const PAGE_FROM: &str =
    concat!("SELECT ", schedule_columns!(), "FROM schedules WHERE id >= ?1 ORDER BY id LIMIT ?2");

/// Schedules, the earliest first.
const DUE: &str = "
    SELECT id, next_at FROM schedules
     WHERE paused = 0 AND next_at < 253402300799999
     ORDER BY next_at, id LIMIT ?1";

/// Rows that one look at the table takes.
const LOOK: u32 = 256;

pub(super) static PUT_SCHEDULES: Statement = Statement {
    name: "put schedules",
    text: "
        INSERT INTO schedules (id, cron, promise_id, param_headers, param, tags, timeout, overlap, paused, created_at,
                               next_at, last_at, last_id, skipped)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE
           SET cron = excluded.cron, promise_id = excluded.promise_id, param_headers = excluded.param_headers,
               param = excluded.param, tags = excluded.tags, timeout = excluded.timeout, overlap = excluded.overlap,
               paused = excluded.paused, created_at = excluded.created_at, next_at = excluded.next_at,
               last_at = excluded.last_at, last_id = excluded.last_id, skipped = excluded.skipped",
};

pub(super) static DELETE_SCHEDULES: Statement =
    Statement { name: "delete schedules", text: "DELETE FROM schedules WHERE id = ?" };

impl Reader {
    pub(super) async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        let name = "read a schedule";
        let wanted = serde_json::to_string(&[id]).expect("texts are JSON");
        let found = self.pool.fetch_optional(sqlx::query(SCHEDULES).bind(wanted)).await;
        found
            .map_err(failed(name))?
            .map(|row| sql::schedule(&row).map_err(failed(name)))
            .transpose()
    }

    pub(super) async fn schedules(
        &self,
        filter: &ScheduleFilter,
    ) -> Result<SchedulePage, StoreError> {
        let name = "list schedules";
        let limit = limits::page_limit(filter.limit) as usize;
        let (mut taken, mut unreadable): (Vec<Schedule>, Vec<Unreadable>) = Default::default();
        let mut after = filter.after.clone();
        for _ in 0..LOOKED_AT.div_ceil(LOOK) {
            let (statement, from) = filter.begins_at(after.as_ref());
            let statement = if statement == Begin::At { PAGE_FROM } else { PAGE };
            let query = sqlx::query(statement).bind(from).bind(LOOK);
            let found = self.pool.fetch_all(query).await.map_err(failed(name))?;
            let mut is_behind = false;
            for row in &found {
                let id = ScheduleId::new(row.text(0).map_err(failed(name))?.unwrap_or_default());
                is_behind |= filter.is_behind(&id);
                match sql::schedule(row) {
                    Ok(schedule) => taken.extend(filter.takes(&schedule).then_some(schedule)),
                    Err(error) if !is_behind => {
                        unreadable.push(Unreadable::of(row.text(0), error).map_err(failed(name))?);
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

    pub(super) async fn schedules_due(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError> {
        let query = sqlx::query(DUE).bind(i64::from(limit) + 1);
        let due = self.first_due("read schedules", query, now, limit, |_, id| {
            Ok(Command::ScheduleDue { id: ScheduleId::new(id.as_str()) })
        });
        due.await
    }
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 4] = [SCHEDULES, PAGE, PAGE_FROM, DUE];
