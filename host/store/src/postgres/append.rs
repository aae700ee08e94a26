//! Appends journal records under claims with a single statement in its own transaction.
//!
//! The decision is based on what [`RememberedClaims`] remember; nothing is read first. The
//! statement locks the tasks, in number order like every transaction, and keeps only those whose
//! rows were not written since. While such a row is unchanged, the promise is pending (a settlement
//! changes the task too) and no other host may write to the journal. The journal's unique key
//! guards the position of its end. Commands whose tasks did not qualify are decided by a batch that
//! reads.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::LazyLock,
};

use segno_core::{
    command::Command,
    config::Config,
    delta::Delta,
    effect::Effect,
    id::{Digest, PromiseId},
    invocation::JournalHead,
    reply::Reply,
    rests_on,
    time::Timestamp,
    transition::transition,
};
use sqlx::{
    Arguments as _, AssertSqlSafe, Encode, Executor as _, PgConnection, Postgres, Row as _, Type,
    postgres::PgArguments,
};

use super::{
    claims::{ClaimMemory, RememberedClaims, TaskGuard},
    columns,
    config::SessionSettings,
    failure::FailedStatement,
    statement::query_with,
    transaction::SessionTransaction,
};
use crate::sql::{
    ColumnKind::{self, Blob, Int},
    DeltaRows, JournalRow, RowIds, SqlCell,
};

/// Column types of a journal row, followed by those of its log row.
const COLUMNS: [ColumnKind; 12] = [Int, Int, Int, Int, Int, Int, Int, Int, Int, Blob, Int, Blob];
/// The number of these columns that belong to the journal.
const OF_JOURNAL: usize = 10;

/// Joins the tasks in a form that allows only one query plan, whatever the statistics: one lookup
/// per given row, in the order given.
const HELD: &str = "
     CROSS JOIN LATERAL (
           SELECT FROM tasks
            WHERE n = given.inv AND state = 2 AND version = given.version AND stamp = given.stamp
              FOR NO KEY UPDATE) AS task";

const APPEND: &str = "
    INSERT INTO journal (inv, first_seq, end_seq, commands, notified, at, finished, records)
    SELECT inv, first_seq, end_seq, commands, notified, at, finished, records";

/// The decisions on commands that depend on claims alone.
#[derive(Debug)]
pub(super) struct AppendDecisions {
    /// The decision for each command. `None` if the command must be decided otherwise.
    decided: Vec<Option<DecidedAppend>>,
    rows: Vec<AppendRow>,
}

#[derive(Debug)]
struct DecidedAppend {
    id: PromiseId,
    number: i64,
    reply: Reply,
    effects: Vec<Effect>,
    /// The journal's head after the append.
    head: JournalHead,
}

/// The rows to append to a task's journal and log, and the guard that its task must satisfy.
#[derive(Debug)]
struct AppendRow {
    guard: TaskGuard,
    journal: JournalRow,
    log: Option<(i64, Vec<u8>)>,
}

impl AppendDecisions {
    /// Decides at most one command per journal: a second one would need the records of the first.
    pub(super) fn decide(
        claims: &RememberedClaims,
        commands: &[&Command],
        now: Timestamp,
        config: &Config,
    ) -> Self {
        let remembered = claims.remembered();
        let mut delta = Delta::default();
        let mut taken = HashSet::new();
        let decided = commands.iter().map(|command| {
            let id = &rests_on(command)?.id;
            let number = remembered.row(id).filter(|_| taken.insert(id))?.number;
            let decision = transition(&remembered.view, command, now, config);
            if !decision.delta.only_appends() {
                return None;
            }
            let head = decision.delta.appends.last()?.after;
            delta.merge(decision.delta);
            let (reply, effects) = (decision.reply, decision.effects);
            Some(DecidedAppend { id: id.clone(), number, reply, effects, head })
        });
        let decided = decided.collect();
        match rows(&delta, &remembered) {
            Some(rows) => Self { decided, rows },
            None => Self { decided: commands.iter().map(|_| None).collect(), rows: Vec::new() },
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The promises whose journals grow.
    pub(super) fn ids(&self) -> impl Iterator<Item = &PromiseId> {
        self.decided.iter().flatten().map(|decided| &decided.id)
    }

    /// Executes the append, in a store of several databases only if the map of the shards still has
    /// this epoch. Returns the result of each command; `None` if the task was not as
    /// remembered, or the command was not decided.
    pub(super) async fn commit(
        &mut self,
        connection: &mut PgConnection,
        settings: &SessionSettings,
        claims: &RememberedClaims,
        epoch: Option<u64>,
    ) -> Result<Vec<Option<(Reply, Vec<Effect>)>>, FailedStatement> {
        let failed = FailedStatement::of("append records");
        let appended = match settings.is_lent() {
            false => self.append(connection, epoch).await.map_err(&failed)?,
            true => {
                let begun = SessionTransaction::begin(connection, settings).await;
                let mut transaction = begun.map_err(&failed)?;
                let appended = self.append(&mut transaction, epoch).await.map_err(&failed)?;
                transaction.commit().await.map_err(&failed)?;
                appended
            }
        };
        let answer = |decided: Option<DecidedAppend>| {
            let DecidedAppend { id, number, reply, effects, head } = decided?;
            if !appended.contains(&number) {
                claims.forget(std::iter::once(&id));
                return None;
            }
            claims.grew(&id, head);
            Some((reply, effects))
        };
        Ok(std::mem::take(&mut self.decided).into_iter().map(answer).collect())
    }

    /// Sends the statement. Returns the numbers of the tasks that qualified.
    async fn append(
        &mut self,
        connection: &mut PgConnection,
        epoch: Option<u64>,
    ) -> Result<HashSet<i64>, sqlx::Error> {
        let logged = self.rows.iter().any(|row| row.log.is_some());
        let statements = if epoch.is_some() { &STATEMENTS.1 } else { &STATEMENTS.0 };
        let statement = if logged { &statements.with_logs } else { &statements.alone };
        let mut arguments = arguments(&self.rows, logged);
        if let Some(epoch) = epoch {
            arguments.add(epoch.cast_signed()).expect("PostgreSQL holds every integer");
        }
        self.rows.clear();
        let query = query_with(connection, AssertSqlSafe(statement.as_str()), arguments);
        let found = connection.fetch_all(query).await?;
        found.iter().map(|row| row.try_get::<i64, _>(0)).collect()
    }
}

/// The rows to append, ordered by task number. `None` if one is large: its chunks take more than
/// one statement.
fn rows(delta: &Delta, remembered: &ClaimMemory) -> Option<Vec<AppendRow>> {
    let written =
        DeltaRows::of(delta, &BTreeSet::new(), &remembered.view, &RememberedRowIds(remembered));
    if !written.values.is_empty() {
        return None;
    }
    let mut logs = HashMap::new();
    for [invocation, count, lines] in written.logs {
        if let (Some(number), Some(count), SqlCell::Blob(lines)) =
            (invocation.int(), count.int(), lines)
        {
            logs.insert(number, (count, lines));
        }
    }
    let row = |journal: JournalRow| {
        let guard = remembered.row(&journal.invocation)?.guard;
        Some(AppendRow { guard, log: logs.remove(&journal.number), journal })
    };
    Some(written.journals.into_iter().filter_map(row).collect())
}

/// Binds the rows as [`COLUMNS`], with log columns if anything was logged.
fn arguments(rows: &[AppendRow], logged: bool) -> PgArguments {
    let mut arguments = PgArguments::default();
    let each = &mut arguments;
    column(each, rows, |row| row.journal.number);
    column(each, rows, |row| row.guard.version);
    column(each, rows, |row| row.guard.stamp.0);
    column(each, rows, |row| i64::from(row.journal.first));
    column(each, rows, |row| i64::from(row.journal.head.len));
    column(each, rows, |row| i64::from(row.journal.head.commands));
    column(each, rows, |row| i64::from(row.journal.head.notified));
    column(each, rows, |row| row.journal.head.at.0);
    column(each, rows, |row| i64::from(row.journal.head.finished));
    column(each, rows, |row| row.journal.records.as_slice());
    if logged {
        column(each, rows, |row| row.log.as_ref().map(|(count, _)| *count));
        column(each, rows, |row| row.log.as_ref().map(|(_, lines)| lines.as_slice()));
    }
    arguments
}

fn column<'a, T>(
    arguments: &mut PgArguments,
    rows: &'a [AppendRow],
    of: impl Fn(&'a AppendRow) -> T,
) where
    Vec<T>: Encode<'a, Postgres> + Type<Postgres>,
{
    let column: Vec<T> = rows.iter().map(of).collect();
    arguments.add(column).expect("PostgreSQL holds every integer and blob");
}

/// The statements for a store of one database, and of several.
static STATEMENTS: LazyLock<(AppendStatements, AppendStatements)> =
    LazyLock::new(|| (AppendStatements::new(false), AppendStatements::new(true)));

impl AppendStatements {
    fn new(compares_epoch: bool) -> Self {
        let given = |columns: &[ColumnKind], names: &str| {
            format!("UNNEST({}) AS given ({names})", columns::parameters(columns, 1))
        };
        let held = |columns: &[ColumnKind]| match compares_epoch {
            false => HELD.to_owned(),
            true => format!(
                "{HELD} WHERE (SELECT epoch FROM shards WHERE one = 1) = ${}",
                columns.len() + 1
            ),
        };
        let journal =
            "inv, version, stamp, first_seq, end_seq, commands, notified, at, finished, records";
        let few = &COLUMNS[..OF_JOURNAL];
        let alone = given(few, journal);
        let both = given(&COLUMNS, &format!("{journal}, count, lines"));
        Self {
            alone: format!("{APPEND} FROM {alone} {} RETURNING inv", held(few)),
            with_logs: format!(
                "WITH held AS (SELECT given.* FROM {both} {}),
                  logged AS (
                     INSERT INTO logs (inv, count, lines)
                     SELECT inv, count, lines FROM held WHERE count IS NOT NULL)
             {APPEND} FROM held RETURNING inv",
                held(&COLUMNS)
            ),
        }
    }
}

/// The append statements, without and with logs; most appends log nothing.
struct AppendStatements {
    alone: String,
    with_logs: String,
}

/// Resolves row numbers from memory: only journals and logs of remembered promises are written.
struct RememberedRowIds<'a>(&'a ClaimMemory);

impl RowIds for RememberedRowIds<'_> {
    fn promise(&self, id: &PromiseId) -> Option<i64> {
        self.0.row(id).map(|row| row.number)
    }

    fn module(&self, _: &Digest) -> SqlCell {
        SqlCell::Null
    }
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) fn statements() -> [String; 4] {
    let (one, several) = &*STATEMENTS;
    [&one.alone, &one.with_logs, &several.alone, &several.with_logs].map(String::clone)
}
