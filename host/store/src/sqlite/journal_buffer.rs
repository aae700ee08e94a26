//! The journal buffer: records that active claims appended, and that the table `journal` does not
//! have yet.
//!
//! A row of `journal` has its place in an index among the rows of all other journals, so a commit
//! of many steps writes a page for nearly each of them. Records of an active claim are therefore
//! appended to `journal_recent`, whose rows follow each other, and are kept here. When the claim
//! ends, its records become one row of `journal`, and a replay reads one place. Readers skip rows
//! of `journal_recent` that `journal` has as well, until the table is emptied.
//!
//! The buffer equals what is committed, like the writer's cache, and is read again when a batch
//! fails.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock},
};

use segno_core::id::PromiseId;

use super::connection::{Connection, Failed, Statement};
use crate::sql::{self, Cell, Failure, Fields as _, JournalRow};

/// The table is emptied before it has more rows: a read of the journal of an active claim examines
/// all of them.
const ROWS: usize = 8_192;
/// The table is emptied when it has this many rows and `journal` has all of them.
const MOVED_ROWS: usize = 1_024;
/// The buffer takes no more memory than this.
const BYTES: usize = 8 << 20;
/// A row of more bytes goes to `journal` at once.
const LARGE: usize = 16 << 10;

static APPEND: Statement = Statement {
    name: "append recent records",
    text: "
        INSERT INTO journal_recent (inv, first_seq, end_seq, commands, notified, at, finished, records)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
};

static APPEND_JOURNALS: Statement = Statement {
    name: "append journals",
    text: "
        INSERT INTO journal (inv, first_seq, end_seq, commands, notified, at, finished, records)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
};

/// Without a condition: SQLite gives the pages back without looking at the rows.
pub(super) const EMPTY: &str = "DELETE FROM journal_recent";

/// The invocations of which there are rows.
const TOUCHED: &str = "SELECT inv, count(*) FROM journal_recent GROUP BY inv";

const UNMERGED: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, inv, first_seq, records
      FROM journal_ahead JOIN promises ON promises.n = inv
     ORDER BY journal_ahead.n";

/// Records of active claims, as the rows that they will become.
#[derive(Debug)]
pub(super) struct JournalBuffer {
    /// What `journal` does not have, as the rows that it will get.
    buffered: HashMap<i64, JournalRow>,
    /// The bytes of their records.
    bytes: usize,
    /// The invocations of which the table has rows, whether `journal` has them too or not.
    touched: HashSet<i64>,
    /// Rows in the table.
    rows: usize,
    /// Journals that left the buffer in the batch that is being decided.
    moved: Vec<(i64, PromiseId)>,
    /// Invocations whose rows cannot be read, and why. A person has to look at them, so the table
    /// is not emptied.
    damaged: HashMap<i64, String>,
    active_journals: Arc<ActiveJournals>,
}

/// The invocations that may have records outside `journal`: a read of any other one looks in one
/// place.
///
/// The set is exact or too large: an invocation is added before the commit and removed after it.
#[derive(Debug, Default)]
pub(crate) struct ActiveJournals(RwLock<Option<HashSet<PromiseId>>>);

/// Rows to write.
#[derive(Debug, Default)]
struct Moves {
    journal: Vec<JournalRow>,
    journal_buffer: Vec<JournalRow>,
    empty: bool,
}

impl ActiveJournals {
    /// Whether any of these may have such records; always, until the tables have been read.
    pub(super) fn may_have<'a>(&self, ids: impl IntoIterator<Item = &'a PromiseId>) -> bool {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().is_none_or(|held| ids.into_iter().any(|id| held.contains(id)))
    }

    fn change(&self, change: impl FnOnce(&mut Option<HashSet<PromiseId>>)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl JournalBuffer {
    /// Reads what is committed.
    pub(super) fn read(
        connection: &mut Connection,
        active_journals: Arc<ActiveJournals>,
    ) -> Result<Self, Failed> {
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
        let mut moves = Moves::default();
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
    ) -> Result<(), Failed> {
        let mut moves = Moves::default();
        for row in appended {
            if ended.remove(&row.number) || row.records.len() > LARGE {
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
    ) -> Result<(), Failed> {
        if !numbers.iter().any(|number| self.touched.contains(number)) {
            return Ok(());
        }
        let mut moves = Moves::default();
        self.release_all(&mut moves);
        self.put(connection, moves)
    }

    /// The buffered records of a journal.
    pub(super) fn of(&self, number: i64) -> Option<&JournalRow> {
        self.buffered.get(&number)
    }

    /// Why the buffered records of a journal cannot be read, if that is so.
    pub(super) fn damage(&self, number: i64) -> Option<&str> {
        self.damaged.get(&number).map(String::as_str)
    }

    /// Notes that the batch was committed.
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

    /// Buffers a row. Returns whether `journal_recent` needs the row as well; otherwise `journal`
    /// has it.
    fn buffer(&mut self, row: &JournalRow, moves: &mut Moves) -> bool {
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
    fn move_with(&mut self, row: JournalRow, moves: &mut Moves) {
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

    fn release_all(&mut self, moves: &mut Moves) {
        let numbers: Vec<_> = self.buffered.keys().copied().collect();
        moves.journal.extend(numbers.into_iter().filter_map(|number| self.release(number)));
        moves.journal_buffer.clear();
        moves.empty = true;
    }

    fn put(&mut self, connection: &mut Connection, mut moves: Moves) -> Result<(), Failed> {
        moves.journal.sort_by_key(|row| (row.number, row.first));
        let cells = |rows: Vec<JournalRow>| -> Vec<[Cell; 8]> {
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

/// A row of [`UNMERGED`].
fn unmerged_row(row: &rusqlite::Row<'_>) -> Result<JournalRow, Failure> {
    let invocation = sql::id(row, 0)?;
    Ok(JournalRow {
        head: sql::head(row, 1, &invocation)?,
        number: sql::number(row, 6, &invocation, "inv")?,
        first: sql::small(row, 7, &invocation, "first_seq")?,
        records: row.blob(8)?.unwrap_or_default().to_vec(),
        invocation,
    })
}

/// Every statement that looks for something by a key, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 2] = [APPEND.text, APPEND_JOURNALS.text];
