//! Moving out of a database, and into an empty one.

use async_trait::async_trait;
use futures::TryStreamExt as _;
use segno_core::{id::PromiseId, promise::Promise, time::Timestamp};
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _, TypeInfo as _,
    ValueRef as _,
    postgres::{PgArguments, PgRow},
};
use tokio::sync::Mutex;

use super::{config::PostgresConfig, examine, fields::escape, open, reader::failed, scan, size};
use crate::{
    Examined, Found, Scan, SizeReport, StoreError,
    archive::{
        ArchiveError, ArchiveSink, ArchiveSource, Cell, Checked, Head, Kind, Known, Row, Table,
    },
    sql::Fields as _,
    sqlite,
};
use segno_env::Surroundings;

/// Tables that others refer to, before those that do. What is not listed comes after them, by name.
const FIRST: [&str; 4] = ["modules", "aliases", "promises", "tasks"];

/// A move takes as long as it takes.
pub(super) const NO_HURRY: &str =
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

const TABLES: &str = "
    SELECT relname::text FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND relname NOT LIKE '\\_sqlx%'";

const COLUMNS: &str = "
    SELECT attname::text, attidentity <> '' FROM pg_attribute
     WHERE attrelid = to_regclass(quote_ident($1)) AND attnum > 0 AND NOT attisdropped ORDER BY attnum";

const FORMAT: &str = "SELECT max(version) FROM _sqlx_migrations";

const ANYTHING: &str = "SELECT EXISTS (SELECT 1 FROM promises) OR EXISTS (SELECT 1 FROM modules)
     OR EXISTS (SELECT 1 FROM first_version)";

/// Keeps hosts from beginning while a store moves in: each of them begins with a row of this table.
const KEEP_OUT: &str =
    "LOCK TABLE hosts, promises, modules IN SHARE ROW EXCLUSIVE MODE; DELETE FROM hosts";

/// Hands everything to `sink`, as the transaction sees it.
pub(super) async fn write_archive(
    connection: &mut PgConnection,
    sink: &mut dyn ArchiveSink,
) -> Result<(), ArchiveError> {
    let refused = refused("read everything");
    connection.execute(NO_HURRY).await.map_err(&refused)?;
    let head = head(connection).await.map_err(&refused)?;
    sink.head(&head)?;
    for (place, table) in head.tables.iter().enumerate() {
        let order = if table.columns.len() > 1 { "1, 2" } else { "1" };
        let text = format!("SELECT {} FROM \"{}\" ORDER BY {order}", list(table), table.name);
        let mut rows = sqlx::query(AssertSqlSafe(text)).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await.map_err(&refused)? {
            let row = (0..table.columns.len()).map(|column| cell(&row, column));
            sink.write_row(place, row.collect::<Result<_, _>>().map_err(&refused)?)?;
        }
    }
    Ok(())
}

async fn head(connection: &mut PgConnection) -> Result<Head, sqlx::Error> {
    let format = sqlx::query_scalar(FORMAT).fetch_one(&mut *connection).await?;
    let mut names: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(&mut *connection).await?;
    names.sort_by_key(|name| {
        (FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()), name.clone())
    });
    let mut tables = Vec::with_capacity(names.len());
    for name in names {
        let columns = columns(connection, &name).await?.into_iter().map(|column| column.name);
        let count = AssertSqlSafe(format!("SELECT count(*) FROM \"{name}\""));
        let rows: i64 = sqlx::query_scalar(count).fetch_one(&mut *connection).await?;
        tables.push(Table { columns: columns.collect(), name, rows: rows.cast_unsigned() });
    }
    Ok(Head { written_by: env!("CARGO_PKG_VERSION").to_owned(), format, tables })
}

struct Column {
    name: String,
    numbered: bool,
}

async fn columns(connection: &mut PgConnection, table: &str) -> Result<Vec<Column>, sqlx::Error> {
    let rows = sqlx::query(COLUMNS).bind(table).fetch_all(connection).await?;
    let column = |row: &PgRow| Ok(Column { name: row.try_get(0)?, numbered: row.try_get(1)? });
    rows.iter().map(column).collect()
}

/// A database that is being moved into, in one transaction. Dropped before it is kept, nothing has happened.
pub struct PostgresImport {
    connection: Mutex<PgConnection>,
}

impl PostgresImport {
    /// Moves everything into a database in which nothing is.
    ///
    /// # Errors
    /// [`ArchiveError`]; nothing is in the database then that was not there before.
    pub async fn from_source(
        config: &PostgresConfig,
        surroundings: &Surroundings,
        from: &mut dyn ArchiveSource,
    ) -> Result<Self, ArchiveError> {
        let opened = open::open(config, surroundings).await;
        opened.map_err(|error| ArchiveError::Place(error.to_string()))?;
        let options = config.connection("import");
        let connected = PgConnection::connect_with(&options).await;
        let mut connection = connected.map_err(refused("connect"))?;
        for statement in ["BEGIN", NO_HURRY, KEEP_OUT] {
            connection.execute(statement).await.map_err(refused("begin"))?;
        }
        let anything: bool = sqlx::query_scalar(ANYTHING)
            .fetch_one(&mut connection)
            .await
            .map_err(refused("look"))?;
        if anything {
            return Err(ArchiveError::NotEmpty(config.shown().to_owned()));
        }
        insert_all(&mut connection, from).await?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// Keeps what has arrived.
    ///
    /// # Errors
    /// The database refused.
    pub async fn keep(self) -> Result<(), ArchiveError> {
        let mut connection = self.connection.into_inner();
        connection.execute("COMMIT").await.map_err(refused("commit"))?;
        // What is kept is kept, however the connection ends.
        let _ = connection.close().await;
        Ok(())
    }
}

async fn insert_all(
    connection: &mut PgConnection,
    from: &mut dyn ArchiveSource,
) -> Result<(), ArchiveError> {
    let format: i64 =
        sqlx::query_scalar(FORMAT).fetch_one(&mut *connection).await.map_err(refused("look"))?;
    let head = from.head().clone();
    if head.format > format {
        return Err(ArchiveError::Newer { found: head.format, known: format });
    }
    if head.format < format {
        return Err(ArchiveError::Place(format!(
            "the file has format {}, and tables here have format {format}: import it into a data directory, which \
             brings it to today's format, and export that",
            head.format
        )));
    }
    let mut from = Checked::new(from, &sqlite::schema(format).await?)?;
    while let Some((table, first, rows)) = from.next_rows()? {
        insert(connection, &from.tables()[table], first, rows).await?;
    }
    for table in from.tables() {
        go_on_numbering(connection, &table.name).await.map_err(refused("go on numbering"))?;
    }
    Ok(())
}

async fn insert(
    connection: &mut PgConnection,
    table: &Known,
    first: u64,
    rows: Vec<Row>,
) -> Result<(), ArchiveError> {
    let last = first + rows.len() as u64 - 1;
    let mut columns: Vec<Vec<Cell>> =
        table.columns.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    let mut arguments = PgArguments::default();
    let mut places = Vec::with_capacity(columns.len());
    for (place, (known, column)) in table.columns.iter().zip(columns).enumerate() {
        // What is checked holds what its column does, or nothing.
        let (array, added) = match known.kind {
            Kind::Text => (
                "text[]",
                add(&mut arguments, column, |cell| match cell {
                    Cell::Text(text) => Some(escape(&text).into_owned()),
                    Cell::Null | Cell::Int(_) | Cell::Blob(_) => None,
                }),
            ),
            Kind::Blob => (
                "bytea[]",
                add(&mut arguments, column, |cell| match cell {
                    Cell::Blob(bytes) => Some(bytes.to_vec()),
                    Cell::Null | Cell::Int(_) | Cell::Text(_) => None,
                }),
            ),
            Kind::Int => (
                "bigint[]",
                add(&mut arguments, column, |cell| match cell {
                    Cell::Int(number) => Some(number),
                    Cell::Null | Cell::Text(_) | Cell::Blob(_) => None,
                }),
            ),
        };
        added.map_err(|error| ArchiveError::Place(error.to_string()))?;
        places.push(format!("${}::{array}", place + 1));
    }
    let names = table.columns.iter().map(|column| format!("\"{}\"", column.name));
    let text = format!(
        "INSERT INTO \"{}\" ({}) OVERRIDING SYSTEM VALUE SELECT * FROM UNNEST({})",
        table.name,
        names.collect::<Vec<_>>().join(", "),
        places.join(", ")
    );
    let what = || format!("insert rows {first} to {last} into `{}`", table.name);
    let inserted = connection.execute(sqlx::query_with(AssertSqlSafe(text), arguments)).await;
    inserted.map(drop).map_err(|source| ArchiveError::Database { what: what(), source })
}

fn add<T>(
    arguments: &mut PgArguments,
    column: Vec<Cell>,
    value: impl Fn(Cell) -> Option<T>,
) -> Result<(), sqlx::error::BoxDynError>
where
    Vec<Option<T>>: for<'q> sqlx::Encode<'q, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    use sqlx::Arguments as _;
    arguments.add(column.into_iter().map(value).collect::<Vec<_>>())
}

/// What comes next gets the number after those that arrived.
async fn go_on_numbering(connection: &mut PgConnection, table: &str) -> Result<(), sqlx::Error> {
    let numbered = columns(connection, table).await?.into_iter().find(|column| column.numbered);
    let sequence = match (table, numbered) {
        ("promises", _) => "'promises_n'".to_owned(),
        (_, Some(_)) => format!("pg_get_serial_sequence('\"{table}\"', 'n')"),
        (_, None) => return Ok(()),
    };
    let text =
        format!("SELECT setval({sequence}, max(n)) FROM \"{table}\" HAVING max(n) IS NOT NULL");
    connection.execute(AssertSqlSafe(text)).await.map(drop)
}

fn cell(row: &PgRow, column: usize) -> Result<Cell, sqlx::Error> {
    let raw = row.try_get_raw(column)?;
    if raw.is_null() {
        return Ok(Cell::Null);
    }
    let kind = raw.type_info().name().to_owned();
    Ok(match kind.as_str() {
        "TEXT" => row.text(column)?.map_or(Cell::Null, |text| Cell::Text(text.into_owned())),
        "BYTEA" => row.blob(column)?.map_or(Cell::Null, |bytes| Cell::Blob(bytes.to_vec().into())),
        _ => row.int(column)?.map_or(Cell::Null, Cell::Int),
    })
}

fn list(table: &Table) -> String {
    table.columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", ")
}

pub(super) fn refused(what: &'static str) -> impl Fn(sqlx::Error) -> ArchiveError {
    move |source| ArchiveError::Database { what: what.to_owned(), source }
}

/// What has arrived is looked at through the transaction that brought it: nobody else sees it yet.
#[async_trait]
impl Scan for PostgresImport {
    async fn candidates(&self, after: i64, limit: u32) -> Result<Found<PromiseId>, StoreError> {
        let mut connection = self.connection.lock().await;
        scan::candidates(&mut connection, after, limit).await.map_err(failed("look for damage"))
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<Found<Promise>, StoreError> {
        let mut connection = self.connection.lock().await;
        let found = scan::finished(&mut connection, after, limit, before).await;
        found.map_err(failed("look for finished trees"))
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<Examined, StoreError> {
        let mut connection = self.connection.lock().await;
        let page = examine::read(&mut connection, maker, after, limit).await;
        page.map_err(failed("examine a page"))
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        write_archive(&mut *self.connection.lock().await, sink).await
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        let mut connection = self.connection.lock().await;
        size::report(&mut connection, top).await.map_err(failed("measure the database"))
    }
}
