//! The journal buffer: records that active claims have appended, and that are not yet in the table
//! `journal`.
//!
//! A row of `journal` is located in an index among the rows of all other journals, so a commit with
//! many steps would write a page for nearly each of them. Records of an active claim are therefore
//! appended to `journal_recent`, whose rows are consecutive, and are kept here. When the claim
//! ends, its records become one row of `journal`, so that a replay reads one place. Readers skip
//! rows of `journal_recent` that are also in `journal`, until the table is emptied.
//!
//! Like the writer's cache, the buffer equals the committed state, and is read again when a batch
//! fails.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock},
};

use segno_core::id::PromiseId;

use super::connection::{Connection, FailedStatement, NamedStatement};
use crate::sql::{self, JournalRow, RowFields as _, SqlCell, SqlFailure};

/// Maximum rows of the table, after which it is emptied: a read of an active claim's journal scans
/// all of them.
const ROWS: usize = 8_192;
/// Number of rows from which the table is emptied once `journal` contains all of them.
const MOVED_ROWS: usize = 1_024;
/// Maximum bytes of buffered records.
const BYTES: usize = 8 << 20;
/// Rows larger than this many bytes go straight to `journal`.
const LARGE: usize = 16 << 10;

static APPEND: NamedStatement = NamedStatement {
    name: "append recent records",
    text: "
        INSERT INTO journal_recent (inv, first_seq, end_seq, commands, notified, at, finished, records)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
};

static APPEND_JOURNALS: NamedStatement = NamedStatement {
    name: "append journals",
    text: "
        INSERT INTO journal (inv, first_seq, end_seq, commands, notified, at, finished, records)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
};

/// Without a condition, so that SQLite frees the pages without reading the rows.
pub(super) const EMPTY: &str = "DELETE FROM journal_recent";

/// The invocations that have rows in the table.
const TOUCHED: &str = "SELECT inv, count(*) FROM journal_recent GROUP BY inv";

const UNMERGED: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, inv, first_seq, records
      FROM journal_ahead JOIN promises ON promises.n = inv
     ORDER BY journal_ahead.n";

/// Records of active claims, in the form of their future `journal` rows.
#[derive(Debug)]
pub(super) struct JournalBuffer {
    /// Future `journal` rows, by number of the invocation.
    buffered: HashMap<i64, JournalRow>,
    /// Bytes of the buffered records.
    bytes: usize,
    /// Invocations with rows in the table, including rows that are already in `journal`.
    touched: HashSet<i64>,
    /// Number of rows in the table.
    rows: usize,
    /// Journals that the current batch has moved out of the buffer.
    moved: Vec<(i64, PromiseId)>,
    /// Invocations with unreadable rows, and the reason. An operator has to examine them, so the
    /// table is not emptied.
    damaged: HashMap<i64, String>,
    active_journals: Arc<ActiveJournals>,
}

/// The invocations that may have records outside `journal`; for others, a read uses one table.
///
/// The set is exact or too large: an invocation is added before its commit and removed after it.
#[derive(Debug, Default)]
pub(crate) struct ActiveJournals(RwLock<Option<HashSet<PromiseId>>>);

/// Rows to write, and whether to empty the table.
#[derive(Debug, Default)]
struct JournalMoves {
    journal: Vec<JournalRow>,
    journal_buffer: Vec<JournalRow>,
    empty: bool,
}

impl ActiveJournals {
    /// True if any of these invocations may have such records. Always true until the tables have
    /// been read.
    pub(super) fn may_have<'a>(&self, ids: impl IntoIterator<Item = &'a PromiseId>) -> bool {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().is_none_or(|held| ids.into_iter().any(|id| held.contains(id)))
    }

    fn change(&self, change: impl FnOnce(&mut Option<HashSet<PromiseId>>)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl JournalBuffer {
    /// Loads the committed state.
    pub(super) fn read(
        connection: &mut Connection,
        active_journals: Arc<ActiveJournals>,
    ) -> Result<Self, FailedStatement> {
        let mut journal_buffer = Self {
            buffered: HashMap::new(),
            bytes: 0,
            touched: HashSet::new(),
            rows: 0,
            moved: Vec::new(),
            damaged: HashMap::new(),
            active_journals,
        };
        connection.read("look for recent records", TOUCHED, [], |row| {
            journal_buffer.touched.extend(row.int(0)?);
            journal_buffer.rows +=
                usize::try_from(row.int(1)?.unwrap_or_default()).unwrap_or_default();
            Ok(())
        })?;
        let mut unmerged = Vec::new();
        connection.read("read recent records", UNMERGED, [], |row| {
            let why = match unmerged_row(row) {
                Ok(row) if row.first < row.head.len => {
                    unmerged.push(row);
                    return Ok(());
                }
                Ok(row) => format!("a row of the journal of `{}` is empty", row.invocation),
                Err(error) => sql::unreadable(error)?,
            };
            journal_buffer.damaged.insert(row.int(6)?.unwrap_or_default(), why);
            Ok(())
        })?;
        let mut moves = JournalMoves::default();
        for row in &unmerged {
            journal_buffer.buffer(row, &mut moves);
        }
        let names = journal_buffer.buffered.values().map(|row| row.invocation.clone()).collect();
        journal_buffer.active_journals.change(|held| *held = Some(names));
        journal_buffer.put(connection, moves)?;
        Ok(journal_buffer)
    }

    /// Writes appended records. The claims of `ended` have ended: their buffered records move to
    /// `journal`.
    pub(super) fn write(
        &mut self,
        connection: &mut Connection,
        appended: Vec<JournalRow>,
        mut ended: BTreeSet<i64>,
    ) -> Result<(), FailedStatement> {
        let mut moves = JournalMoves::default();
        for row in appended {
            if ended.remove(&row.number) || row.is_chunked() || row.records.len() > LARGE {
                self.move_with(row, &mut moves);
            } else if self.buffer(&row, &mut moves) {
                moves.journal_buffer.push(row);
            }
        }
        for number in ended {
            moves.journal.extend(self.release(number));
        }
        if self.rows + moves.journal_buffer.len() > ROWS || self.bytes > BYTES {
            self.release_all(&mut moves);
        }
        moves.empty |= self.buffered.is_empty() && self.rows >= MOVED_ROWS;
        self.put(connection, moves)
    }

    /// Removes the rows of these invocations from the table.
    pub(super) fn leave(
        &mut self,
        connection: &mut Connection,
        numbers: &[i64],
    ) -> Result<(), FailedStatement> {
        if !numbers.iter().any(|number| self.touched.contains(number)) {
            return Ok(());
        }
        let mut moves = JournalMoves::default();
        self.release_all(&mut moves);
        self.put(connection, moves)
    }

    /// The buffered records of a journal.
    pub(super) fn of(&self, number: i64) -> Option<&JournalRow> {
        self.buffered.get(&number)
    }

    /// The reason why the buffered records of a journal cannot be read. `None` if they are
    /// readable.
    pub(super) fn damage(&self, number: i64) -> Option<&str> {
        self.damaged.get(&number).map(String::as_str)
    }

    /// Updates the set of active journals after the commit.
    pub(super) fn committed(&mut self) {
        if self.moved.is_empty() {
            return;
        }
        let Self { moved, buffered, .. } = self;
        self.active_journals.change(|held| {
            for (number, id) in moved.drain(..) {
                if let Some(held) = held.as_mut().filter(|_| !buffered.contains_key(&number)) {
                    held.remove(&id);
                }
            }
        });
    }

    /// Buffers a row. Returns true if the row must also be written to `journal_recent`; otherwise
    /// it goes to `journal`.
    fn buffer(&mut self, row: &JournalRow, moves: &mut JournalMoves) -> bool {
        let Some(buffered) = self.buffered.get_mut(&row.number) else {
            self.bytes += row.records.len();
            self.buffered.insert(row.number, row.clone());
            self.active_journals.change(|held| {
                if let Some(held) = held {
                    held.insert(row.invocation.clone());
                }
            });
            return true;
        };
        let before = buffered.records.len();
        if buffered.join(row) {
            self.bytes += buffered.records.len() - before;
            return true;
        }
        moves.journal.extend(self.release(row.number));
        moves.journal.push(row.clone());
        false
    }

    /// Moves the buffered records of a journal and `row` to `journal`, as one row if they fit.
    fn move_with(&mut self, row: JournalRow, moves: &mut JournalMoves) {
        match self.release(row.number) {
            Some(mut buffered) => {
                let joined = buffered.join(&row);
                moves.journal.push(buffered);
                moves.journal.extend((!joined).then_some(row));
            }
            None => moves.journal.push(row),
        }
    }

    fn release(&mut self, number: i64) -> Option<JournalRow> {
        let row = self.buffered.remove(&number)?;
        self.bytes -= row.records.len();
        self.moved.push((number, row.invocation.clone()));
        Some(row)
    }

    fn release_all(&mut self, moves: &mut JournalMoves) {
        let numbers: Vec<_> = self.buffered.keys().copied().collect();
        moves.journal.extend(numbers.into_iter().filter_map(|number| self.release(number)));
        moves.journal_buffer.clear();
        moves.empty = true;
    }

    fn put(
        &mut self,
        connection: &mut Connection,
        mut moves: JournalMoves,
    ) -> Result<(), FailedStatement> {
        moves.journal.sort_by_key(|row| (row.number, row.first));
        let cells = |rows: Vec<JournalRow>| -> Vec<[SqlCell; 8]> {
            rows.into_iter().map(JournalRow::into_cells).collect()
        };
        connection.each(&APPEND_JOURNALS, &cells(moves.journal))?;
        self.touched.extend(moves.journal_buffer.iter().map(|row| row.number));
        self.rows += moves.journal_buffer.len();
        connection.each(&APPEND, &cells(moves.journal_buffer))?;
        if moves.empty && self.damaged.is_empty() {
            connection.say(EMPTY)?;
            self.rows = 0;
            self.touched.clear();
        }
        Ok(())
    }
}

/// Decodes a row of [`UNMERGED`].
fn unmerged_row(row: &rusqlite::Row<'_>) -> Result<JournalRow, SqlFailure> {
    let invocation = sql::id(row, 0)?;
    Ok(JournalRow {
        head: sql::head(row, 1, &invocation)?,
        number: sql::number(row, 6, &invocation, "inv")?,
        first: sql::small(row, 7, &invocation, "first_seq")?,
        records: row.blob(8)?.unwrap_or_default().to_vec(),
        invocation,
    })
}

/// All statements that search by a key, for tests of query plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 2] = [APPEND.text, APPEND_JOURNALS.text];
