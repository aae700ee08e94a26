//! What a strict server refuses, and when its commits fail.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How strict a server is. What one of the many servers does not know is always refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Strictness {
    /// True if a session lasts. Otherwise settings at its start are refused, and prepared
    /// statements end with their transaction.
    pub keeps_sessions: bool,
    /// Percentage of writing transactions that fail with 40001 at their commit.
    pub conflicts: u64,
}

/// Words of statements that other servers do not know.
const UNKNOWN: [&str; 9] = [
    "XMIN",
    "XMAX",
    "CTID",
    "LISTEN",
    "NOTIFY",
    "PG_NOTIFY",
    "PG_CURRENT_XACT_ID",
    "TXID_CURRENT",
    "LOCK",
];
/// Beginnings of such words.
const UNKNOWN_PREFIX: [&str; 2] = ["PG_ADVISORY", "PG_TRY_ADVISORY"];

/// The rules of one server, with their state.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) strictness: Strictness,
    /// State of the generator that draws the conflicts.
    dice: AtomicU64,
    conflicts: AtomicU64,
    read_only_until: Mutex<Option<Instant>>,
    refused: Mutex<Vec<String>>,
}

/// An error that the proxy answers in place of the server.
#[derive(Debug)]
pub(super) struct RefusedStatement {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Rules {
    pub(super) fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            dice: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            read_only_until: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "real servers need real time")]
    pub(super) fn refuse_writes(&self, time: Duration) {
        *locked(&self.read_only_until) = Some(Instant::now() + time);
    }

    pub(super) fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> Vec<String> {
        locked(&self.refused).clone()
    }

    /// Refuses a statement that other servers do not know.
    pub(super) fn check_text(&self, text: &str) -> Result<(), RefusedStatement> {
        for statement in text.split(';') {
            let words = words(statement);
            let unknown = words.iter().find(|word| {
                UNKNOWN.contains(&word.as_str())
                    || UNKNOWN_PREFIX.iter().any(|prefix| word.starts_with(prefix))
            });
            let mut tables = BTreeSet::new();
            let twice = written(&words).into_iter().find(|table| !tables.insert(*table));
            let reason = match (unknown, twice) {
                (Some(word), _) => format!("{word} is not known here"),
                (None, Some(table)) => format!("{table} is written twice in one statement"),
                (None, None) => continue,
            };
            locked(&self.refused).push(format!("{reason}: {statement}"));
            return Err(RefusedStatement { code: "0A000", message: reason });
        }
        Ok(())
    }

    /// Refuses a write while all are refused.
    #[expect(clippy::disallowed_methods, reason = "real servers need real time")]
    pub(super) fn check_write(&self) -> Result<(), RefusedStatement> {
        match *locked(&self.read_only_until) {
            Some(until) if Instant::now() < until => Err(RefusedStatement {
                code: "25006",
                message: "cannot write in a read-only transaction".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Draws if the commit of a writing transaction fails.
    pub(super) fn check_commit(&self) -> Result<(), RefusedStatement> {
        let drawn = self.dice.fetch_add(1, Ordering::Relaxed);
        // Weyl's sequence, mixed: equal numbers of draws give equal conflicts.
        let mixed = drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        if (mixed >> 33) % 100 >= self.strictness.conflicts {
            return Ok(());
        }
        self.conflicts.fetch_add(1, Ordering::Relaxed);
        let message = "could not serialize access (drawn by the test)".to_owned();
        Err(RefusedStatement { code: "40001", message })
    }
}

/// True if the statement writes rows. Definitions of tables are no writes here.
pub(super) fn is_write(text: &str) -> bool {
    text.split(';').any(|statement| !written(&words(statement)).is_empty())
}

/// The words of a statement in capitals. Comments and quoted texts are left out.
fn words(statement: &str) -> Vec<String> {
    let lines = statement.lines().map(|line| line.split("--").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join(" ");
    let unquoted = text.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
    let word = |word: &str| word.to_uppercase();
    let parts = unquoted.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    parts.filter(|part| !part.is_empty()).map(word).collect()
}

/// The tables that a statement writes, once for each part.
fn written(words: &[String]) -> Vec<&str> {
    // The body of a trigger, or its events.
    if words.first().is_some_and(|word| word == "CREATE") {
        return Vec::new();
    }
    let at = |place: usize| words.get(place).map_or("", String::as_str);
    let written = words.iter().enumerate().filter_map(|(place, word)| match word.as_str() {
        "INSERT" if at(place + 1) == "INTO" => Some(at(place + 2)),
        "DELETE" if at(place + 1) == "FROM" => Some(at(place + 2)),
        // Not `FOR UPDATE`, `FOR NO KEY UPDATE` or `DO UPDATE`.
        "UPDATE" if place == 0 || !["FOR", "KEY", "DO"].contains(&at(place - 1)) => {
            Some(at(place + 1))
        }
        _ => None,
    });
    written.collect()
}

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_one_server_only_are_refused() {
        let rules = Rules::new(Strictness::default());
        for (text, reason) in [
            ("SELECT t.xmin FROM tasks t", "XMIN"),
            ("LISTEN a", "LISTEN"),
            ("SELECT pg_notify($1, $2)", "PG_NOTIFY"),
            ("SELECT pg_advisory_xact_lock(1)", "PG_ADVISORY_XACT_LOCK"),
            (
                "WITH a AS (DELETE FROM x USING y), b AS (INSERT INTO x (n) SELECT 1) UPDATE y SET n = 1",
                "X is written twice",
            ),
        ] {
            let refused = rules.check_text(text).expect_err(text);
            assert!(refused.message.contains(reason), "{text}: {}", refused.message);
        }
        for text in [
            "SELECT 'LISTEN' -- xmin",
            "INSERT INTO x (n) VALUES (1) ON CONFLICT (n) DO UPDATE SET n = 2",
            "SELECT n FROM x FOR NO KEY UPDATE SKIP LOCKED",
            "INSERT INTO x VALUES (1); DELETE FROM x",
        ] {
            rules.check_text(text).unwrap_or_else(|refused| panic!("{text}: {}", refused.message));
        }
        assert_eq!(rules.refused().len(), 5);
        assert!(is_write("SELECT 1; DELETE FROM x") && !is_write("SELECT n FROM x FOR UPDATE"));
    }

    #[test]
    fn a_fifth_of_the_commits_fails() {
        let rules = Rules::new(Strictness { conflicts: 20, ..Strictness::default() });
        let failed = (0..10_000).filter(|_| rules.check_commit().is_err()).count();
        assert!((1_800..2_200).contains(&failed), "{failed}");
    }
}
