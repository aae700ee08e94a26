//! An in-memory database for one query. Its tables store no rows: each is a [`TableView`].
//!
//! A query can only read those tables, in a bounded number of steps, with a bounded answer.

use std::sync::Arc;

use rusqlite::{
    Connection, Error, ErrorCode,
    config::DbConfig,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
    params_from_iter,
    types::Value,
    vtab::read_only_module,
};

use super::{
    answer::{QueryResult, ResultColumn},
    functions,
    statement::TranslatedQuery,
    table::QueryTable,
    value::BOOLEAN,
    view::{QueryScans, TableView},
};
use crate::front::error::{AdminError, AdminResult};

/// Maximum number of rows in an answer.
const ROWS: usize = 100_000;
/// Maximum size of an answer, and of one value, in bytes.
const BYTES: usize = 64 << 20;
/// Maximum number of steps of a query, each one instruction of SQLite's virtual machine; they take
/// some seconds. Fewer in tests, which have to wait for them.
const STEPS: u32 = if cfg!(test) { 5_000_000 } else { 100_000_000 };
/// SQLite's error message if a table lacks the conditions that it requires.
const NO_PLAN: &str = "no query solution";
/// Number of steps between two checks.
const LOOK: u32 = 10_000;

/// The tables of a query, in a database.
pub(super) struct QueryDatabase {
    connection: Connection,
    tables: Arc<QueryScans>,
}

impl QueryDatabase {
    /// Creates a database with tables whose rows are read when a query needs them.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn new(tables: QueryScans) -> AdminResult<Self> {
        let connection = Connection::open_in_memory().map_err(failed)?;
        let database = Self { connection, tables: Arc::new(tables) };
        database.prepare().map_err(failed)?;
        Ok(database)
    }

    fn prepare(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        functions::add(connection)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        connection.pragma_update(None, "case_sensitive_like", true)?;
        connection.create_module(
            "rows",
            read_only_module::<TableView>(),
            Some(Arc::clone(&self.tables)),
        )?;
        connection.execute_batch("ATTACH ':memory:' AS information_schema")?;
        for table in QueryTable::ALL {
            connection
                .execute_batch(&format!("CREATE VIRTUAL TABLE {} USING rows", table.name()))?;
        }
        let bytes = i32::try_from(BYTES).unwrap_or(i32::MAX);
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.authorizer(Some(asking))?;
        let mut looks = STEPS / LOOK;
        let spent = move || {
            looks = looks.saturating_sub(1);
            looks == 0
        };
        connection.progress_handler(LOOK.cast_signed(), Some(spent))
    }

    /// Executes the query.
    ///
    /// # Errors
    /// SQLite refuses the query, the answer is too large, or the query takes too many steps.
    pub(super) fn answer(self, statement: &TranslatedQuery) -> AdminResult<QueryResult> {
        let mut prepared = self
            .connection
            .prepare(&statement.sql)
            .map_err(|error| self.refused(statement, error))?;
        let columns = prepared.columns();
        let columns: Vec<ResultColumn> = columns
            .iter()
            .map(|column| ResultColumn {
                name: column.name().to_owned(),
                is_bool: match column.decl_type() {
                    Some(declared) => declared == BOOLEAN,
                    None => statement.bools.contains(column.name()),
                },
            })
            .collect();
        let mut answer = QueryResult { columns, rows: Vec::new() };
        let mut bytes = 0;
        let texts = statement.texts.iter().take(prepared.parameter_count());
        let mut rows = prepared
            .query(params_from_iter(texts))
            .map_err(|error| self.refused(statement, error))?;
        while let Some(row) = rows.next().map_err(|error| self.refused(statement, error))? {
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

    /// Converts a database error to a message in terms of the original query.
    fn refused(&self, statement: &TranslatedQuery, error: Error) -> AdminError {
        if let Some(failure) = self.tables.failure() {
            return failure;
        }
        if is_interrupted(&error) {
            let message = format!(
                "the query takes more than {STEPS} steps: join fewer rows, or narrow it by an id, a service, a key or a status"
            );
            return AdminError::new(400, message);
        }
        let said = match &error {
            Error::SqliteFailure(_, Some(said)) | Error::SqlInputError { msg: said, .. } => {
                said.clone()
            }
            other => other.to_string(),
        };
        let said = match said.strip_prefix("no such column: ") {
            Some(column) => {
                let columns = |table: &QueryTable| {
                    let columns: Vec<_> =
                        table.columns().iter().map(|column| column.name).collect();
                    format!("`{}` has {}", table.name(), columns.join(", "))
                };
                let known: Vec<_> = statement.tables.iter().map(columns).collect();
                format!("there is no column `{column}`; {}", known.join("; "))
            }
            None if said == NO_PLAN => {
                let column = |table: &QueryTable| Some((table.name(), table.read_by()?));
                let known = statement.tables.iter().find_map(column);
                let (table, column) = known.unwrap_or_default();
                format!(
                    "`{table}` can be read by invocation only: write WHERE {column} = '…', or join it by its {column}"
                )
            }
            None => format!("the query failed: {said}"),
        };
        AdminError::new(400, said)
    }
}

/// Authorizes the actions of a query.
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
    AdminError::new(500, format!("the query could not be executed: {error}"))
}
