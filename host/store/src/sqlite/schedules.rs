//! The statements that load and write schedules.

use super::connection::Statement;
use crate::sql::schedule_columns;

/// Schedules, by ids.
pub(super) const SCHEDULES: &str = concat!(
    "SELECT ",
    schedule_columns!(),
    "FROM json_each(?1) wanted JOIN schedules ON schedules.id = wanted.value"
);

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

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 1] = [SCHEDULES];
