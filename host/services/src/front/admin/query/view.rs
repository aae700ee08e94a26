//! Virtual tables: SQLite plans a query, passes usable conditions, and takes the rows one by one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::c_int,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{
    Error, Result,
    fallible_iterator::FallibleIterator as _,
    ffi,
    types::ValueRef,
    vtab::{
        Context, CreateVTab, Filters, IndexConstraintOp, IndexInfo, VTab, VTabConnection,
        VTabCursor, VTabKind, sqlite3_vtab, sqlite3_vtab_cursor,
    },
};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use super::{
    row::TableRow,
    rows::{QueryUsage, RowSender, TableReader},
    scan::TableScan,
    table::QueryTable,
    value::{ColumnType, RowValue},
    wanted::WantedRows,
};
use crate::front::error::AdminError;

/// Number of rows buffered between reader and query: the size of a page of the store.
const ROOM: usize = 500;
/// Estimated number of rows of a table without conditions, for the planner.
const MANY: f64 = 100_000.0;
/// Estimated fraction of rows that satisfy one condition.
const PART: f64 = 0.01;

/// A scan shared by several cursors.
type SharedScan = Arc<Mutex<TableScan>>;

/// The tables of one query, with everything read so far.
pub(super) struct QueryScans {
    reader: Arc<dyn TableReader>,
    runtime: Handle,
    spent: Arc<QueryUsage>,
    scans: Mutex<BTreeMap<(QueryTable, WantedRows), SharedScan>>,
    /// The error of a failed reader.
    failure: Mutex<Option<AdminError>>,
}

impl QueryScans {
    /// Starts with nothing read. Readers run on the querying thread, with the timers and sockets of
    /// this runtime.
    pub(super) fn new(reader: Arc<dyn TableReader>, runtime: Handle) -> Self {
        Self {
            reader,
            runtime,
            spent: Arc::default(),
            scans: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    /// Takes the error of a failed reader, if any.
    pub(super) fn failure(&self) -> Option<AdminError> {
        lock(&self.failure).take()
    }

    fn scan(&self, table: QueryTable, wanted: WantedRows) -> SharedScan {
        let mut scans = lock(&self.scans);
        let scan = scans.entry((table, wanted)).or_insert_with_key(|(_, wanted)| {
            let (rows, offered) = RowSender::new(table, Arc::clone(&self.spent), ROOM);
            let reader = self.reader.read(table, wanted.clone(), rows);
            Arc::new(Mutex::new(TableScan::new(reader, offered)))
        });
        Arc::clone(scan)
    }

    /// Keeps the error for the client, and returns a generic one for SQLite.
    fn failed(&self, error: AdminError) -> Error {
        lock(&self.failure).get_or_insert(error);
        Error::ModuleError("a table cannot be read".to_owned())
    }
}

/// A virtual table of a query.
#[repr(C)]
pub(super) struct TableView {
    base: sqlite3_vtab,
    table: QueryTable,
    tables: Arc<QueryScans>,
}

// SAFETY: the struct begins with SQLite's part of a virtual table, and has the C layout.
unsafe impl VTab<'_> for TableView {
    type Aux = Arc<QueryScans>;
    type Cursor = TableCursor;

    fn connect(
        _: &mut VTabConnection,
        tables: Option<&Arc<QueryScans>>,
        named: &[&[u8]],
    ) -> Result<(String, Self)> {
        // Arguments: the module, the database and the table.
        let [_, database, name, ..] = named else { return Err(no_table()) };
        let name = String::from_utf8_lossy(name);
        let table = match *database {
            b"main" => QueryTable::named(&name),
            other => QueryTable::named(&format!("{}.{name}", String::from_utf8_lossy(other))),
        };
        let (Some(table), Some(tables)) = (table, tables) else { return Err(no_table()) };
        let declared = table
            .columns()
            .iter()
            .map(|column| format!("`{}` {}", column.name, column.kind.declared()));
        let declared = format!("CREATE TABLE x ({})", declared.collect::<Vec<_>>().join(", "));
        Ok((declared, Self { base: sqlite3_vtab::default(), table, tables: Arc::clone(tables) }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<()> {
        let columns = self.table.columns();
        let mut plan = ScanPlan { columns: info.col_used(), conditions: Vec::new() };
        let usable: Vec<_> = info
            .constraints()
            .enumerate()
            .filter(|(_, constraint)| constraint.is_usable())
            .map(|(place, constraint)| (place, constraint.column(), constraint.operator()))
            .collect();
        for (place, column, operator) in usable {
            let Ok(column) = usize::try_from(column) else { continue };
            let Some(of) = columns.get(column).filter(|of| of.kind == ColumnType::Text) else {
                continue;
            };
            let narrows = self.table.narrows().contains(&of.name);
            let is_list = info.is_in_constraint(place)?;
            let condition = match operator {
                IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ if is_list && narrows => {
                    info.set_in_constraint(place, true)?;
                    ScanCondition::IsIn
                }
                IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ if !is_list => ScanCondition::Is,
                IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_NE if narrows => ScanCondition::IsNot,
                _ => continue,
            };
            if info.collation(place)? != "BINARY" {
                continue;
            }
            plan.conditions.push((column, condition));
            let argument = c_int::try_from(plan.conditions.len()).unwrap_or(c_int::MAX);
            info.constraint_usage(place).set_argv_index(argument);
        }
        let is_said = |name: &str| {
            plan.conditions.iter().any(|(column, condition)| {
                columns[*column].name == name && *condition != ScanCondition::IsNot
            })
        };
        if self.table.read_by().is_some_and(|column| !is_said(column)) {
            // SQLite chooses another plan, or refuses the query.
            return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CONSTRAINT), None));
        }
        let rows = if is_said("id") {
            1.0
        } else {
            let said =
                plan.conditions.iter().filter(|(_, condition)| *condition != ScanCondition::IsNot);
            (MANY * PART.powi(i32::try_from(said.count()).unwrap_or(i32::MAX))).max(1.0)
        };
        info.set_estimated_cost(rows);
        info.set_estimated_rows(rows as i64);
        if self.is_ordered(info) {
            info.set_order_by_consumed(true);
        }
        info.set_idx_str(&serde_json::to_string(&plan).map_err(|_| no_table())?);
        Ok(())
    }

    fn open(&mut self) -> Result<TableCursor> {
        Ok(TableCursor {
            base: sqlite3_vtab_cursor::default(),
            table: self.table,
            tables: Arc::clone(&self.tables),
            at: None,
            searches: 0,
        })
    }
}

impl CreateVTab<'_> for TableView {
    const KIND: VTabKind = VTabKind::Default;
}

impl TableView {
    /// Returns true if the rows already have the order that a query requests: newest first, then by
    /// id.
    fn is_ordered(&self, info: &IndexInfo) -> bool {
        let Some(newest) = self.table.newest_first() else { return false };
        let columns = self.table.columns();
        let order = info.order_bys().map(|by| {
            let column = usize::try_from(by.column()).ok().and_then(|column| columns.get(column));
            (column.map_or("", |column| column.name), by.is_order_by_desc())
        });
        let order: Vec<_> = order.collect();
        !order.is_empty() && [(newest, true), ("id", false)].starts_with(&order)
    }
}

/// The plan for a table. It is passed through SQLite as text.
#[derive(Serialize, Deserialize)]
struct ScanPlan {
    /// One bit for each column; set if the column is read.
    columns: u64,
    /// Column and kind of each condition, in the order of their values.
    conditions: Vec<(usize, ScanCondition)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ScanCondition {
    Is,
    IsIn,
    IsNot,
}

/// A cursor over the rows of a table.
#[repr(C)]
pub(super) struct TableCursor {
    base: sqlite3_vtab_cursor,
    table: QueryTable,
    tables: Arc<QueryScans>,
    at: Option<CursorPosition>,
    /// Number of searches: more than one if this is an inner table of a join.
    searches: usize,
}

/// Position of a cursor.
struct CursorPosition {
    scan: SharedScan,
    /// Positions of the matching rows; `None` for all rows.
    places: Option<Arc<Vec<usize>>>,
    /// Number of preceding rows.
    passed: usize,
    row: Arc<TableRow>,
}

// SAFETY: the struct begins with SQLite's part of a cursor, and has the C layout.
unsafe impl VTabCursor for TableCursor {
    fn filter(&mut self, _: c_int, plan: Option<&str>, values: &Filters<'_>) -> Result<()> {
        self.at = None;
        self.searches += 1;
        let plan = plan.and_then(|plan| serde_json::from_str(plan).ok()).ok_or_else(no_table)?;
        let Some((wanted, matched)) = self.wanted(&plan, values)? else { return Ok(()) };
        let scan = self.tables.scan(self.table, wanted);
        let places = match matched {
            Some((column, text)) if self.searches > 1 => {
                let places = lock(&scan).places(column, &text, &self.tables.runtime);
                Some(places.map_err(|error| self.tables.failed(error))?)
            }
            _ => None,
        };
        self.go_to(scan, places, 0)
    }

    fn next(&mut self) -> Result<()> {
        match self.at.take() {
            Some(CursorPosition { scan, places, passed, .. }) => {
                self.go_to(scan, places, passed + 1)
            }
            None => Ok(()),
        }
    }

    fn eof(&self) -> bool {
        self.at.is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let column =
            usize::try_from(column).ok().and_then(|column| self.table.columns().get(column));
        let row = self.at.as_ref().map(|at| &at.row);
        let value = row.zip(column).map_or(&RowValue::Null, |(row, column)| row.get(column.name));
        context.set_result(value)
    }

    /// The same row must have the same id, independent of the order of reading: SQLite deduplicates
    /// rows that match two conditions.
    fn rowid(&self) -> Result<i64> {
        let mut hasher = DefaultHasher::new();
        self.at.as_ref().map(|at| &at.row).hash(&mut hasher);
        Ok(hasher.finish().cast_signed())
    }
}

/// A column, and the text that it has in all wanted rows.
type ColumnMatch = Option<(&'static str, String)>;

impl TableCursor {
    /// Returns the rows that the conditions of a plan select with these values. `None` if no row
    /// can match. Also returns one of the conditions that readers do not know.
    fn wanted(
        &self,
        plan: &ScanPlan,
        values: &Filters<'_>,
    ) -> Result<Option<(WantedRows, ColumnMatch)>> {
        let columns = self.table.columns();
        let is_read = |place: usize| place >= 63 || plan.columns & (1 << place) != 0;
        let read = columns.iter().enumerate().filter(|(place, _)| is_read(*place));
        let mut wanted = WantedRows::of(read.map(|(_, column)| column.name));
        let mut matched = None;
        for (place, ((column, condition), value)) in
            plan.conditions.iter().zip(values.iter()).enumerate()
        {
            let Some(name) = columns.get(*column).map(|column| column.name) else { continue };
            let narrows = self.table.narrows().contains(&name);
            match (condition, value) {
                (ScanCondition::IsIn, _) => {
                    let texts = values.in_values(place)?.map(|value| Ok(text(value)));
                    // SQLite compares numbers as text itself.
                    let texts: Vec<_> = texts.collect()?;
                    if let Some(texts) = texts.into_iter().collect::<Option<BTreeSet<_>>>() {
                        wanted.only(name, texts);
                    }
                }
                (ScanCondition::Is | ScanCondition::IsNot, ValueRef::Null) => return Ok(None),
                (condition, value) => match (condition, text(value)) {
                    (ScanCondition::Is, Some(text)) if narrows => wanted.only(name, [text].into()),
                    (ScanCondition::Is, Some(text)) => matched = Some((name, text)),
                    (ScanCondition::IsNot, Some(text)) => wanted.never(name, text),
                    _ => {}
                },
            }
        }
        Ok(Some((wanted, matched)))
    }

    fn go_to(
        &mut self,
        scan: SharedScan,
        places: Option<Arc<Vec<usize>>>,
        passed: usize,
    ) -> Result<()> {
        let place = match &places {
            Some(places) => places.get(passed).copied(),
            None => Some(passed),
        };
        let Some(place) = place else { return Ok(()) };
        let row = lock(&scan).row(place, &self.tables.runtime);
        let row = row.map_err(|error| self.tables.failed(error))?;
        self.at = row.map(|row| CursorPosition { scan, places, passed, row });
        Ok(())
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(text) => std::str::from_utf8(text).ok().map(str::to_owned),
        _ => None,
    }
}

fn no_table() -> Error {
    Error::ModuleError("there is no such table".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
