//! Reads journals and logs.

use std::collections::HashMap;

use segno_core::{id::PromiseId, invocation::Record};

use super::{DatabaseSession, Parameter, Select, large_values::chunks_of_records};
use crate::{
    ExecutionHistory, LogRow,
    sql::{self, RowFields as _, SqlFailure},
};

macro_rules! journal {
    () => {
        "
    WITH journal_of (n) AS (SELECT n FROM promises WHERE id = $1)
    SELECT records FROM journal, journal_of
     WHERE inv = journal_of.n AND first_seq < CAST($2 AS bigint) + CAST($3 AS bigint) AND end_seq > $2
       AND first_seq >= (SELECT max(first_seq) FROM journal WHERE inv = journal_of.n AND first_seq <= $2)
     ORDER BY first_seq"
    };
}

const JOURNAL: Select = Select::common(journal!());

/// The same for a journal with records outside the table `journal`: SQLite keeps the records of
/// active claims in `journal_ahead`.
const JOURNAL_UNMERGED: Select = Select::differing(
    "
    SELECT records, first_seq FROM journal
     WHERE inv = (SELECT n FROM promises WHERE id = $1) AND first_seq < $2 + $3 AND end_seq > $2
     UNION ALL
    SELECT records, first_seq FROM journal_ahead
     WHERE inv = (SELECT n FROM promises WHERE id = $1) AND first_seq < $2 + $3 AND end_seq > $2
     ORDER BY 2",
    journal!(),
);

/// The last column is the number of the last line of a row, from 1.
const LOGS: Select = Select::common(
    "
    SELECT lines, count, last FROM
           (SELECT n, count, CAST(sum(count) OVER (ORDER BY n) AS bigint) AS last FROM logs
             WHERE inv = (SELECT n FROM promises WHERE id = $1)) AS numbered
      JOIN logs AS found USING (n, count)
     WHERE last > $2 AND last - count < CAST($2 AS bigint) + CAST($3 AS bigint)
     ORDER BY n",
);

const LOG_COUNT: Select = Select::common(
    "
    SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM logs
     WHERE inv = (SELECT n FROM promises WHERE id = $1)",
);

macro_rules! histories_of_postgres {
    () => {
        "
    SELECT (SELECT id FROM promises WHERE n = inv), records, NULL::bigint FROM journal
     WHERE inv = ANY (ARRAY (SELECT n FROM promises WHERE id = ANY($1::text[])))
     UNION ALL
    SELECT (SELECT id FROM promises WHERE n = inv), NULL, count FROM logs
     WHERE inv = ANY (ARRAY (SELECT n FROM promises WHERE id = ANY($1::text[])))"
    };
}

/// Selects journal rows, then line counts. Written so that only one plan is possible: by the
/// indexes.
const HISTORIES: Select = Select::differing(
    "
    SELECT promises.id, records, NULL
      FROM json_each($1) wanted CROSS JOIN promises ON promises.id = wanted.value
     CROSS JOIN journal ON inv = promises.n
     UNION ALL
    SELECT promises.id, NULL, count
      FROM json_each($1) wanted CROSS JOIN promises ON promises.id = wanted.value
     CROSS JOIN logs ON inv = promises.n",
    histories_of_postgres!(),
);

/// The same for journals with records outside the table `journal`: scans all such records once.
const HISTORIES_UNMERGED: Select = Select::differing(
    "
    SELECT promises.id, records, NULL
      FROM json_each($1) wanted CROSS JOIN promises ON promises.id = wanted.value
     CROSS JOIN journal ON inv = promises.n
     UNION ALL
    SELECT (SELECT id FROM promises WHERE n = unmerged.inv), records, NULL
      FROM journal_ahead unmerged
     WHERE inv IN (SELECT n FROM json_each($1) wanted CROSS JOIN promises ON promises.id = wanted.value)
     UNION ALL
    SELECT promises.id, NULL, count
      FROM json_each($1) wanted CROSS JOIN promises ON promises.id = wanted.value
     CROSS JOIN logs ON inv = promises.n",
    histories_of_postgres!(),
);

/// The records of an invocation from `from` on, at most `limit`.
pub(super) async fn records(
    session: &mut impl DatabaseSession,
    id: &PromiseId,
    from: u32,
    limit: u32,
    unmerged: bool,
) -> Result<Vec<Record>, SqlFailure> {
    let select = if unmerged { &JOURNAL_UNMERGED } else { &JOURNAL };
    let mut records = Vec::new();
    let found = session.all(select, &[id.into(), from.into(), limit.into()]).await?;
    let chunks = chunks_of_records(session, &found, 0).await?;
    for row in &found {
        records.extend(sql::records(row, 0, id, &chunks)?);
    }
    let end = from.saturating_add(limit);
    records.retain(|record| (from..end).contains(&record.seq));
    Ok(records)
}

/// Log lines from `from` on, at most `limit`.
pub(super) async fn logs(
    session: &mut impl DatabaseSession,
    id: &PromiseId,
    from: u32,
    limit: u32,
) -> Result<Vec<LogRow>, SqlFailure> {
    let mut lines = Vec::new();
    for row in &session.all(&LOGS, &[id.into(), from.into(), limit.into()]).await? {
        lines.extend(sql::log_lines(row, 0, id)?);
    }
    let end = from.saturating_add(limit);
    lines.retain(|line| (from..end).contains(&line.line));
    Ok(lines)
}

/// The number of log lines.
pub(super) async fn log_count(
    session: &mut impl DatabaseSession,
    id: &PromiseId,
) -> Result<u32, SqlFailure> {
    let count = session.one(&LOG_COUNT, &[id.into()]).await?.int(0)?;
    Ok(u32::try_from(count.unwrap_or_default()).unwrap_or(u32::MAX))
}

/// Whole journals, with the numbers of log lines.
pub(super) async fn histories(
    session: &mut impl DatabaseSession,
    of: &[(PromiseId, u32)],
    unmerged: bool,
) -> Result<Vec<ExecutionHistory>, SqlFailure> {
    let select = if unmerged { &HISTORIES_UNMERGED } else { &HISTORIES };
    let ids = Parameter::ids(of.iter().map(|(id, _)| id));
    let mut by_id: HashMap<PromiseId, ExecutionHistory> = HashMap::new();
    let found = session.all(select, &[ids]).await?;
    let chunks = chunks_of_records(session, &found, 1).await?;
    for row in &found {
        let id = sql::id(row, 0)?;
        let lines = row.int(2)?;
        let history = by_id.entry(id.clone()).or_default();
        match lines {
            Some(lines) => history.lines += u32::try_from(lines).unwrap_or(u32::MAX),
            None => history.records.extend(sql::records(row, 1, &id, &chunks)?),
        }
    }
    by_id.values_mut().for_each(ExecutionHistory::sort);
    Ok(of.iter().map(|(id, _)| by_id.get(id).cloned().unwrap_or_default()).collect())
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] =
    &[JOURNAL, JOURNAL_UNMERGED, LOGS, LOG_COUNT, HISTORIES, HISTORIES_UNMERGED];
