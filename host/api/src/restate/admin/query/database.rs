//! A database of one query, in memory: the tables that it names, with the rows that were loaded.
//!
//! A query may do nothing there but read those tables, for a bounded number of steps, and make a bounded answer.

use std::collections::BTreeMap;

use rusqlite::{
    Connection, Error, ErrorCode,
    config::DbConfig,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
    params_from_iter,
    types::Value,
};

use super::{
    answer::{Answer, Column},
    functions,
    row::Row,
    statement::Statement,
    tables::{self, Table},
    value::BOOLEAN,
};
use crate::restate::error::AdminError;

/// The most rows of an answer.
const ROWS: usize = 100_000;
/// The most bytes of an answer, and of one value.
const BYTES: usize = 64 << 20;
/// The most steps of a query, each an instruction of SQLite's machine: some seconds. Fewer in tests, which wait for them.
const STEPS: u32 = if cfg!(test) { 5_000_000 } else { 100_000_000 };
/// So many steps lie between two looks at them.
const LOOK: u32 = 10_000;

/// The tables of a query.
pub struct Database {
    connection: Connection,
    /// How a row is written, by the name of the table.
    inserts: BTreeMap<String, (String, &'static [tables::Column])>,
    texts: Vec<String>,
    /// The tables that the query names.
    named: Vec<Table>,
}

impl Database {
    /// With empty tables for this query.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(statement: &Statement) -> Result<Self, AdminError> {
        let connection = Connection::open_in_memory().map_err(failed)?;
        let mut database = Self {
            connection,
            inserts: BTreeMap::new(),
            texts: statement.texts.clone(),
            named: statement.sources.iter().map(|loaded| loaded.source.table).collect(),
        };
        database.prepare(statement).map_err(failed)?;
        Ok(database)
    }

    fn prepare(&mut self, statement: &Statement) -> rusqlite::Result<()> {
        let connection = &self.connection;
        functions::add(connection)?;
        let bytes = i32::try_from(BYTES).unwrap_or(i32::MAX);
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        connection.pragma_update(None, "case_sensitive_like", true)?;
        for loaded in &statement.sources {
            let (name, columns) = (&loaded.source.name, loaded.source.table.columns());
            let declared = columns
                .iter()
                .map(|column| format!("`{}` {}", column.name, column.kind.declared()));
            let declared: Vec<_> = declared.collect();
            connection.execute_batch(&format!("CREATE TABLE {name} ({})", declared.join(", ")))?;
            let marks = vec!["?"; columns.len()].join(", ");
            self.inserts
                .insert(name.clone(), (format!("INSERT INTO {name} VALUES ({marks})"), columns));
        }
        connection.execute_batch("BEGIN")?;
        connection.authorizer(Some(loading))?;
        let mut looks = STEPS / LOOK;
        let spent = move || {
            looks = looks.saturating_sub(1);
            looks == 0
        };
        connection.progress_handler(LOOK.cast_signed(), Some(spent))
    }

    /// Writes a row of the table of this name.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn insert(&self, name: &str, row: &Row) -> Result<(), AdminError> {
        let Some((insert, columns)) = self.inserts.get(name) else { return Ok(()) };
        let mut insert = self.connection.prepare_cached(insert).map_err(failed)?;
        let values = columns.iter().map(|column| row.get(column.name));
        insert.execute(params_from_iter(values)).map_err(failed)?;
        Ok(())
    }

    /// For how many rows of a table a condition holds, of those after the one with this number, and the number of the
    /// last; none: that cannot be asked of the table alone.
    ///
    /// # Errors
    /// It takes more steps than a query may.
    pub fn holds(
        &self,
        name: &str,
        alias: &str,
        condition: Option<&str>,
        after: i64,
    ) -> Result<Option<(usize, i64)>, AdminError> {
        let condition = condition.unwrap_or("1");
        let sql = format!(
            "SELECT (SELECT count(*) FROM {name} AS `{alias}` WHERE `{alias}`.rowid > {after} AND ({condition})), \
             (SELECT coalesce(max(rowid), 0) FROM {name})"
        );
        let asked = self.connection.prepare_cached(&sql).and_then(|mut statement| {
            let texts = self.texts.iter().take(statement.parameter_count());
            statement
                .query_row(params_from_iter(texts), |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
        });
        match asked {
            Ok((count, last)) => Ok(Some((usize::try_from(count).unwrap_or_default(), last))),
            Err(error) if is_interrupted(&error) => Err(self.refused(error)),
            Err(_) => Ok(None),
        }
    }

    /// The answer to the query.
    ///
    /// # Errors
    /// SQLite does not take it, or it is larger than an answer may be, or takes more steps than a query may.
    pub fn answer(self, statement: &Statement) -> Result<Answer, AdminError> {
        self.connection.authorizer(Some(asking)).map_err(failed)?;
        let mut prepared =
            self.connection.prepare(&statement.sql).map_err(|error| self.refused(error))?;
        let columns = prepared.columns();
        let columns: Vec<Column> = columns
            .iter()
            .map(|column| Column {
                name: column.name().to_owned(),
                is_bool: match column.decl_type() {
                    Some(declared) => declared == BOOLEAN,
                    None => statement.bools.contains(column.name()),
                },
            })
            .collect();
        let mut answer = Answer { columns, rows: Vec::new() };
        let mut bytes = 0;
        let texts = self.texts.iter().take(prepared.parameter_count());
        let mut rows =
            prepared.query(params_from_iter(texts)).map_err(|error| self.refused(error))?;
        while let Some(row) = rows.next().map_err(|error| self.refused(error))? {
            let values = (0..answer.columns.len()).map(|column| row.get(column));
            let values: Vec<Value> = values.collect::<Result<_, _>>().map_err(failed)?;
            bytes += values.iter().map(weight).sum::<usize>();
            answer.rows.push(values);
            if answer.rows.len() > ROWS || bytes > BYTES {
                let message =
                    format!("the answer has more than {ROWS} rows or {BYTES} bytes: use LIMIT");
                return Err(AdminError::new(400, message));
            }
        }
        drop(rows);
        drop(prepared);
        Ok(answer)
    }

    /// What the database says of a query, in the words of who asked it.
    fn refused(&self, error: Error) -> AdminError {
        if is_interrupted(&error) {
            let message = format!(
                "the query takes more than {STEPS} steps: join fewer rows, or narrow it by an id, a service, a key or a status"
            );
            return AdminError::new(400, message);
        }
        let said = match &error {
            Error::SqliteFailure(_, Some(said)) => said.clone(),
            other => other.to_string(),
        };
        let said = match said.strip_prefix("no such column: ") {
            Some(column) => {
                let columns = |table: &Table| {
                    let columns: Vec<_> =
                        table.columns().iter().map(|column| column.name).collect();
                    format!("`{}` has {}", table.name(), columns.join(", "))
                };
                let known: Vec<_> = self.named.iter().map(columns).collect();
                format!("there is no column `{column}`; {}", known.join("; "))
            }
            None => format!("the query cannot be answered: {said}"),
        };
        AdminError::new(400, said)
    }
}

/// What may be done while rows are loaded.
fn loading(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Insert { .. } => Authorization::Allow,
        _ => asking(context),
    }
}

/// What a query may do.
fn asking(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Recursive => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

fn weight(value: &Value) -> usize {
    match value {
        Value::Null => 1,
        Value::Integer(_) | Value::Real(_) => 8,
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
    }
}

fn is_interrupted(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}

fn failed(error: Error) -> AdminError {
    AdminError::new(500, format!("the query could not be worked out: {error}"))
}
