//! Records under claims, appended by one statement that is a transaction of its own.
//!
//! It is decided on what [`Claims`] remember, and nothing is read first. The statement locks the tasks, in the order of
//! their numbers like everybody, and takes only those whose rows are as remembered. While such a row is the same, the
//! promise is pending (whoever settles it changes the task with it) and nobody else may write to the journal. That its
//! end is where it was said to be, the unique key of the journal sees to. What was not taken is for a batch that reads.

use std::collections::{BTreeSet, HashMap, HashSet};

use segno_core::{
    command::Command, config::Config, delta::Delta, effect::Effect, id::Digest, id::PromiseId,
    reply::Reply, rests_on, state::State, time::Timestamp, transition::transition,
};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _, postgres::PgArguments};

use super::{
    claims::{Claims, Guard},
    columns::{
        self, Kind,
        Kind::{Blob, Int},
    },
    failure::Failed,
};
use crate::store::sql::{Cell, JournalRow, Numbers, Written};

const COLUMNS: [Kind; 17] =
    [Int, Int, Int, Int, Int, Int, Int, Blob, Int, Int, Int, Int, Int, Int, Blob, Int, Blob];

/// Written so that there is one way only to find the tasks, whatever the statistics say: one by one, in the order given.
const APPEND: (&str, &str) = (
    "WITH held AS (
        SELECT given.* FROM (SELECT * FROM",
    "AS given (inv, version, wake_at, nonce, attempt, cancel, signals, details,
                                  first_seq, end_seq, commands, notified, at, finished, records, count, lines)
                              ORDER BY inv) AS given
         CROSS JOIN LATERAL (
               SELECT FROM tasks
                WHERE n = given.inv AND state = 2 AND version = given.version AND wake_at = given.wake_at
                  AND nonce = given.nonce AND attempt = given.attempt AND cancel = given.cancel
                  AND signals = given.signals AND details = given.details
                  FOR NO KEY UPDATE) AS task),
     logged AS (
        INSERT INTO logs (inv, count, lines) SELECT inv, count, lines FROM held WHERE count IS NOT NULL)
     INSERT INTO journal (inv, first_seq, end_seq, commands, notified, at, finished, records)
     SELECT inv, first_seq, end_seq, commands, notified, at, finished, records FROM held
     RETURNING inv",
);

/// What commands lead to, as far as it rests on claims alone.
#[derive(Debug)]
pub(super) struct Appends {
    /// For each command, what it leads to; none where it has to be decided otherwise.
    decided: Vec<Option<Decided>>,
    view: State,
    numbers: Recalled,
    rows: Vec<[Cell; 17]>,
}

#[derive(Debug)]
struct Decided {
    id: PromiseId,
    reply: Reply,
    effects: Vec<Effect>,
}

type Recalled = HashMap<PromiseId, (i64, Guard)>;

impl Appends {
    /// Decides these, one after the other.
    pub(super) fn decide(
        claims: &Claims,
        commands: &[&Command],
        now: Timestamp,
        config: &Config,
    ) -> Self {
        let mut view = State::new();
        let numbers = claims.recall(commands.iter().copied().filter_map(claimed), &mut view);
        let mut delta = Delta::default();
        // Nobody passes one of the same journal that has to wait.
        let mut waiting = HashSet::new();
        let decided = commands.iter().map(|command| {
            let id = claimed(command)?;
            if !numbers.contains_key(id) || waiting.contains(id) {
                return None;
            }
            let decision = transition(&view, command, now, config);
            if !decision.delta.only_appends() {
                waiting.insert(id);
                return None;
            }
            view.apply(&decision.delta);
            delta.merge(decision.delta);
            Some(Decided { id: id.clone(), reply: decision.reply, effects: decision.effects })
        });
        let decided = decided.collect();
        let written = Written::of(&delta, &BTreeSet::new(), &view, &ByRecall(&numbers));
        Self { decided, rows: rows(written, &numbers), view, numbers }
    }

    /// Whether there is nothing to append.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The promises that were decided about.
    pub(super) fn ids(&self) -> impl Iterator<Item = &PromiseId> {
        self.numbers.keys()
    }

    /// Appends. Answers what each command led to; none where the task was not as remembered, or nothing was decided.
    pub(super) async fn commit(
        &mut self,
        connection: &mut PgConnection,
        claims: &Claims,
    ) -> Result<Vec<Option<(Reply, Vec<Effect>)>>, Failed> {
        let failed = Failed::of("append records");
        let mut arguments = PgArguments::default();
        columns::bind(&mut arguments, &COLUMNS, std::mem::take(&mut self.rows));
        let query = sqlx::query_with(AssertSqlSafe(statement()), arguments);
        let mut appended = HashSet::new();
        for row in &connection.fetch_all(query).await.map_err(&failed)? {
            appended.insert(row.try_get::<i64, _>(0).map_err(&failed)?);
        }
        for (id, (number, _)) in &self.numbers {
            match appended.contains(number) {
                true => claims.grew(id, self.view.head(id)),
                false => claims.forget(std::iter::once(id)),
            }
        }
        let is_appended = |id: &PromiseId| appended.contains(&self.numbers[id].0);
        let answer = |decided: Option<Decided>| {
            let Decided { id, reply, effects } = decided?;
            is_appended(&id).then_some((reply, effects))
        };
        Ok(std::mem::take(&mut self.decided).into_iter().map(answer).collect())
    }
}

/// The promise whose claim a command rests on alone.
fn claimed(command: &Command) -> Option<&PromiseId> {
    rests_on(command).map(|claim| &claim.id)
}

/// How the tasks looked, beside what is appended to their journals.
fn rows(written: Written, numbers: &Recalled) -> Vec<[Cell; 17]> {
    let mut guards: HashMap<i64, &Guard> =
        numbers.values().map(|(number, guard)| (*number, guard)).collect();
    let mut logs: HashMap<i64, (Cell, Cell)> = HashMap::new();
    for [invocation, count, lines] in written.logs {
        logs.extend(invocation.int().map(|number| (number, (count, lines))));
    }
    let row = |[invocation, first, end, commands, notified, at, finished, records]: [Cell; 8]| {
        let number = invocation.int()?;
        let guard = guards.remove(&number)?.clone();
        let [version, wake_at, nonce, attempt, cancel, signals, details] = guard;
        let (count, lines) = logs.remove(&number).unwrap_or((Cell::Null, Cell::Null));
        Some([
            invocation, version, wake_at, nonce, attempt, cancel, signals, details, first, end,
            commands, notified, at, finished, records, count, lines,
        ])
    };
    written.journals.into_iter().map(JournalRow::into_cells).filter_map(row).collect()
}

fn statement() -> String {
    format!("{} UNNEST({}) {}", APPEND.0, columns::parameters(&COLUMNS, 1), APPEND.1)
}

/// Only journals and logs are written, of promises that are remembered.
struct ByRecall<'a>(&'a Recalled);

impl Numbers for ByRecall<'_> {
    fn promise(&self, id: &PromiseId) -> Option<i64> {
        self.0.get(id).map(|(number, _)| *number)
    }

    fn module(&self, _: &Digest) -> Cell {
        Cell::Null
    }
}

/// For the tests of plans.
#[cfg(test)]
pub(super) fn statements() -> [String; 1] {
    [statement()]
}
