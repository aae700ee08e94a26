//! Imports an archive into a new database, and lists the tables of each format.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _, SqliteConnection,
    query::Query,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
};

use super::{
    open::{self, SqliteOpenError},
    reader::Reader,
};
use crate::{
    Scan,
    archive::{
        ArchiveCell, ArchiveError, ArchiveRow, ArchiveSchema, ArchiveSource, CellKind,
        CheckedSource, SchemaColumn as KnownColumn, SchemaTable,
    },
    sql::read::refused,
};

/// The tables that an archive contains.
const TABLES: &str = "
    SELECT name FROM sqlite_schema
     WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx_%' AND name <> 'journal_recent'";

const KNOWN: &str =
    "SELECT name, type, \"notnull\" = 0 AND pk = 0 FROM pragma_table_info(?1) ORDER BY cid";

/// Rows per insert statement.
const CHUNK: usize = 64;

/// The tables of a format, as its migrations create them. PostgreSQL has the same tables.
///
/// # Errors
/// Fails if the format is unknown.
pub async fn schema(format: i64) -> Result<ArchiveSchema, ArchiveError> {
    let what = "look at the tables of a format";
    let mut connection =
        SqliteConnection::connect("sqlite::memory:").await.map_err(refused(what))?;
    open::migrate_to(&mut connection, format).await?;
    let names: Vec<String> =
        sqlx::query_scalar(TABLES).fetch_all(&mut connection).await.map_err(refused(what))?;
    let mut tables = Vec::with_capacity(names.len());
    for name in names {
        let columns = sqlx::query(KNOWN).bind(&name).fetch_all(&mut connection).await;
        let columns = columns.map_err(refused(what))?;
        let columns = columns.iter().map(known).collect::<Result<_, _>>().map_err(refused(what))?;
        tables.push(SchemaTable { name, columns });
    }
    connection.close().await.map_err(refused(what))?;
    Ok(ArchiveSchema { format, tables })
}

fn known(row: &SqliteRow) -> Result<KnownColumn, sqlx::Error> {
    let kind: String = row.try_get(1)?;
    let kind = match kind.as_str() {
        "INTEGER" => CellKind::Int,
        "TEXT" => CellKind::Text,
        _ => CellKind::Blob,
    };
    Ok(KnownColumn { name: row.try_get(0)?, kind, nullable: row.try_get(2)? })
}

/// An import into a temporary database next to the final one. Dropping it before
/// [`keep`](Self::keep) removes it.
pub struct SqliteImport {
    directory: PathBuf,
    file: PathBuf,
    reader: Reader,
    // Keeps other processes from taking the directory until the end.
    _lock: File,
}

impl SqliteImport {
    /// Imports an archive into a data directory that is created, or empty.
    ///
    /// # Errors
    /// [`ArchiveError`]; the content of the directory is then unchanged.
    pub async fn from_source(
        directory: &Path,
        from: &mut dyn ArchiveSource,
    ) -> Result<Self, ArchiveError> {
        let place = |error: SqliteOpenError| ArchiveError::Place(error.to_string());
        let lock = open::take(directory).map_err(place)?;
        if open::holds_something(directory).await.map_err(place)? {
            return Err(ArchiveError::NotEmpty(directory.display().to_string()));
        }
        let file = directory.join("segno.db.import");
        remove(&file);
        let reader = Reader::with(open::imported(&file));
        let import = Self { directory: directory.to_owned(), file, reader, _lock: lock };
        let filled = import.insert_all(from).await;
        filled.map(|()| import)
    }

    async fn insert_all(&self, from: &mut dyn ArchiveSource) -> Result<(), ArchiveError> {
        let opened = open::importing(&self.file).connect().await;
        let mut connection = opened.map_err(refused("make the new database"))?;
        let format = from.head().format;
        let mut from = CheckedSource::new(from, &schema(format).await?)?;
        open::migrate_to(&mut connection, format).await?;
        connection.execute("BEGIN").await.map_err(refused("begin"))?;
        while let Some((table, first, rows)) = from.next_rows()? {
            insert(&mut connection, &from.tables()[table], first, rows).await?;
        }
        connection.execute("COMMIT").await.map_err(refused("commit"))?;
        open::migrate_to(&mut connection, open::newest()).await?;
        connection.close().await.map_err(refused("close the new database"))
    }

    /// Reads of the imported store, to check it before [`keep`](Self::keep).
    pub fn scan(&self) -> &dyn Scan {
        &self.reader
    }

    /// Moves the database to its final path.
    ///
    /// # Errors
    /// Fails if the disk failed; the import is then removed.
    pub async fn keep(self) -> Result<(), ArchiveError> {
        self.reader.pool.close().await;
        File::open(&self.file)?.sync_all()?;
        let place = self.directory.join(open::DATABASE_FILE);
        remove(&place);
        fs::rename(&self.file, &place)?;
        Ok(File::open(&self.directory)?.sync_all()?)
    }
}

impl Drop for SqliteImport {
    fn drop(&mut self) {
        remove(&self.file);
    }
}

/// Deletes a database file with its companion files.
fn remove(file: &Path) {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        // The file usually does not exist.
        let _ = fs::remove_file(name);
    }
}

async fn insert(
    connection: &mut SqliteConnection,
    table: &SchemaTable,
    mut number: u64,
    rows: Vec<ArchiveRow>,
) -> Result<(), ArchiveError> {
    let columns = table.columns.iter().map(|column| format!("\"{}\"", column.name));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let row = format!("({}?)", "?, ".repeat(table.columns.len().saturating_sub(1)));
    let statement = |count: usize| {
        let rows = vec![row.as_str(); count].join(", ");
        format!("INSERT INTO \"{}\" ({columns}) VALUES {rows}", table.name)
    };
    let (many, one) = (statement(CHUNK), statement(1));
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let count = if rows.len() >= CHUNK { CHUNK } else { 1 };
        let text = if count == 1 { one.clone() } else { many.clone() };
        let mut query = sqlx::query(AssertSqlSafe(text));
        for cell in rows.by_ref().take(count).flatten() {
            query = bind(query, cell);
        }
        let last = number + count as u64 - 1;
        let what = || format!("insert rows {number} to {last} into `{}`", table.name);
        let inserted = query.execute(&mut *connection).await;
        inserted.map_err(|source| ArchiveError::refused(what(), source))?;
        number = last + 1;
    }
    Ok(())
}

fn bind(
    query: Query<'_, Sqlite, SqliteArguments>,
    cell: ArchiveCell,
) -> Query<'_, Sqlite, SqliteArguments> {
    match cell {
        ArchiveCell::Null => query.bind(None::<i64>),
        ArchiveCell::Int(value) => query.bind(value),
        ArchiveCell::Text(value) => query.bind(value),
        ArchiveCell::Blob(value) => query.bind(value.to_vec()),
    }
}
