//! Statements for many rows, and the scripts they are sent in.
//!
//! Each statement costs a trip to the connection's thread, so rows share statements, and the statements of a small
//! commit share one trip. A statement exists in a few sizes only, so that it stays prepared: what is left of a size is
//! filled with NULLs, which every statement here drops by its first column. Parameters are not numbered, because a
//! number would count anew in each statement of a script, and these count through.

use futures::TryStreamExt as _;
use sqlx::{
    Arguments as _, AssertSqlSafe, Either, Executor as _, SqliteConnection, sqlite::SqliteArguments,
};

use crate::store::sql::Cell;

/// How many rows a statement is prepared for.
const SIZES: [usize; 5] = [1, 4, 16, 64, 256];
const LARGEST: usize = SIZES[SIZES.len() - 1];
/// Up to so many parameters, a whole commit is one trip.
const ONE_TRIP: usize = 400;

/// A statement around a list of rows: `before (VALUES …) after`.
#[derive(Debug)]
pub(super) struct Template {
    /// What it does, for errors.
    pub(super) name: &'static str,
    /// The text before the rows.
    pub(super) before: &'static str,
    /// The text after the rows.
    pub(super) after: &'static str,
}

/// Statements to be sent in order.
#[derive(Debug, Default)]
pub(super) struct Script {
    statements: Vec<Statement>,
}

/// A statement that failed, and those after it, which were not sent.
#[derive(Debug)]
pub(super) struct Failed {
    /// Which.
    pub(super) statement: &'static str,
    /// SQLite's answer.
    pub(super) source: sqlx::Error,
}

#[derive(Debug)]
struct Statement {
    name: &'static str,
    text: String,
    cells: Vec<Cell>,
}

impl Script {
    /// Adds the statements for `rows`, none if there are none.
    pub(super) fn push<const COLUMNS: usize>(
        &mut self,
        template: &'static Template,
        rows: Vec<[Cell; COLUMNS]>,
    ) {
        let mut rows = rows.into_iter();
        while rows.len() > 0 {
            let size = SIZES.into_iter().find(|size| *size >= rows.len()).unwrap_or(LARGEST);
            let mut cells = Vec::with_capacity(size * COLUMNS);
            cells.extend(rows.by_ref().take(size).flatten());
            cells.resize_with(size * COLUMNS, || Cell::Null);
            let text = template.text(size, COLUMNS);
            self.statements.push(Statement { name: template.name, text, cells });
        }
    }

    /// Adds a statement without parameters.
    pub(super) fn say(&mut self, name: &'static str) {
        self.statements.push(Statement { name, text: name.to_owned(), cells: Vec::new() });
    }

    /// How many statements there are.
    pub(super) fn len(&self) -> usize {
        self.statements.len()
    }

    /// Sends everything in order; stops at the first statement that fails.
    pub(super) async fn run(self, connection: &mut SqliteConnection) -> Result<(), Failed> {
        let parameters: usize = self.statements.iter().map(|each| each.cells.len()).sum();
        if parameters <= ONE_TRIP {
            return one_trip(connection, self.statements).await;
        }
        for statement in self.statements {
            one_trip(connection, vec![statement]).await?;
        }
        Ok(())
    }
}

impl Template {
    pub(super) fn text(&self, rows: usize, columns: usize) -> String {
        let row = format!("({}?)", "?,".repeat(columns - 1));
        let rows = vec![row; rows].join(",");
        format!("{} (VALUES {rows}) {}", self.before, self.after)
    }
}

async fn one_trip(
    connection: &mut SqliteConnection,
    statements: Vec<Statement>,
) -> Result<(), Failed> {
    let names: Vec<_> = statements.iter().map(|each| each.name).collect();
    let text: Vec<_> = statements.iter().map(|each| each.text.as_str()).collect();
    let text = text.join(";\n");
    let mut arguments = SqliteArguments::default();
    for cell in statements.into_iter().flat_map(|each| each.cells) {
        bind(&mut arguments, cell);
    }
    let mut done = 0;
    let mut results = connection.fetch_many(sqlx::query_with(AssertSqlSafe(text), arguments));
    loop {
        match results.try_next().await {
            Ok(Some(Either::Left(_))) => done += 1,
            Ok(Some(Either::Right(_))) => {}
            Ok(None) => return Ok(()),
            Err(source) => {
                let statement = names.get(done).copied().unwrap_or("a script");
                return Err(Failed { statement, source });
            }
        }
    }
}

fn bind(arguments: &mut SqliteArguments, cell: Cell) {
    let added = match cell {
        Cell::Null => arguments.add(None::<i64>),
        Cell::Int(value) => arguments.add(value),
        Cell::Text(value) => arguments.add(value),
        Cell::Blob(value) => arguments.add(value),
    };
    added.expect("SQLite holds every integer, text and blob");
}
