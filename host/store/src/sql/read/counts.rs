//! The counts for metrics. Each is computed from an index of exactly the counted rows.

use segno_core::promise::OutboxMessageKind;

use super::{DatabaseSession, Select};
use crate::{
    StoreCounts,
    sql::{RowFields, SqlFailure},
};

const TASKS: Select = Select::common(
    "
    SELECT (SELECT count(*) FROM tasks WHERE state = 2),
           (SELECT count(*) FROM tasks WHERE state = 4),
           (SELECT count(*) FROM tasks WHERE state = 1 AND hosted = 1 AND offered = 1)",
);

const OUTBOX: Select = Select::common("SELECT count(*) FROM outbox WHERE kind = $1");

pub(super) async fn counts(session: &mut impl DatabaseSession) -> Result<StoreCounts, SqlFailure> {
    let tasks = session.one(&TASKS, &[]).await?;
    let mut counts = StoreCounts {
        acquired: count(&tasks, 0)?,
        halted: count(&tasks, 1)?,
        ready: count(&tasks, 2)?,
        ..StoreCounts::default()
    };
    for kind in OutboxMessageKind::ALL {
        let row = session.one(&OUTBOX, &[i64::from(kind.number()).into()]).await?;
        let owed = count(&row, 0)?;
        if owed > 0 {
            counts.outbox.insert(kind, owed);
        }
    }
    Ok(counts)
}

fn count(row: &impl RowFields, column: usize) -> Result<u64, SqlFailure> {
    Ok(row.int(column)?.unwrap_or_default().cast_unsigned())
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(crate) static STATEMENTS: &[Select] = &[TASKS, OUTBOX];
