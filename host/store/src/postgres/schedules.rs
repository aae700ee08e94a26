//! The statement that loads schedules. How they are written stands with the rest of a batch.

use crate::sql::schedule_columns;

/// Schedules, by ids. They are locked before anything else: which promises are needed follows from
/// them.
pub(super) const LOCK_SCHEDULES: &str = concat!(
    "SELECT ",
    schedule_columns!(),
    "FROM schedules WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE"
);
