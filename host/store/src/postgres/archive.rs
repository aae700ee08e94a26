//! Import into an empty database.

use async_trait::async_trait;
use segno_core::{id::PromiseId, promise::Promise, time::Timestamp};
use segno_env::Env;
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Postgres, postgres::PgArguments,
};
use tokio::sync::Mutex;

use super::{config::PostgresConfig, fields::escape, open, session::NO_TIME_LIMIT};
use crate::{
    ExaminedPage, GatherError, GatherSelection, GatherSink, LimitCount, Scan, ScanPage, SizeReport,
    StoreError,
    archive::{
        ArchiveCell, ArchiveError, ArchiveRow, ArchiveSink, ArchiveSource, CellKind, CheckedSource,
        SchemaTable,
    },
    sql::read::{self, failed, refused},
    sqlite,
};

pub(super) const IS_NUMBERED: &str = "
    SELECT EXISTS (SELECT 1 FROM pg_attribute
                    WHERE attrelid = to_regclass(quote_ident($1)) AND attnum > 0 AND NOT attisdropped
                      AND attidentity <> '')";

const FORMAT: &str = "SELECT max(version) FROM _sqlx_migrations";

const ANYTHING: &str = "SELECT EXISTS (SELECT 1 FROM promises) OR EXISTS (SELECT 1 FROM modules)
     OR EXISTS (SELECT 1 FROM first_version) OR EXISTS (SELECT 1 FROM shards)";

/// Keeps hosts from starting during an import: every host inserts a row into `hosts` at start.
const KEEP_OUT: &str =
    "LOCK TABLE hosts, promises, modules IN SHARE ROW EXCLUSIVE MODE; DELETE FROM hosts";

/// An import, in one transaction. Dropping it before [`keep`](Self::keep) rolls everything back.
pub struct PostgresImport {
    connection: Mutex<PgConnection>,
    /// Sent before the commit.
    forget: Option<&'static str>,
}

impl PostgresImport {
    /// Imports an archive into an empty database.
    ///
    /// # Errors
    /// [`ArchiveError`]; the database is then unchanged.
    pub async fn from_source(
        config: &PostgresConfig,
        env: &Env,
        from: &mut dyn ArchiveSource,
    ) -> Result<Self, ArchiveError> {
        let mut config = config.clone();
        let opened = open::open(&mut config, env).await;
        let opened = opened.map_err(|error| ArchiveError::Place(error.to_string()))?;
        let settings = config.connection("import");
        let connected = PgConnection::connect_with(settings.server(opened.server)).await;
        let mut connection = connected.map_err(refused("connect"))?;
        let begin = settings.beginning("BEGIN").unwrap_or_else(|| "BEGIN".to_owned());
        connection.execute(AssertSqlSafe(begin)).await.map_err(refused("begin"))?;
        // The session is lent by a pooler until the commit: nothing that was prepared may stay.
        let forget = settings.is_lent().then_some("DEALLOCATE ALL");
        for statement in [NO_TIME_LIMIT, KEEP_OUT].into_iter().chain(forget) {
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
        Ok(Self { connection: Mutex::new(connection), forget })
    }

    /// Commits the imported store.
    ///
    /// # Errors
    /// Fails if the database refused.
    pub async fn keep(self) -> Result<(), ArchiveError> {
        let mut connection = self.connection.into_inner();
        for statement in self.forget.into_iter().chain(["COMMIT"]) {
            connection.execute(statement).await.map_err(refused("commit"))?;
        }
        // The commit has succeeded, however the connection ends.
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
    let mut from = CheckedSource::new(from, &sqlite::schema(format).await?)?;
    while let Some((table, first, rows)) = from.next_rows()? {
        insert(connection, &from.tables()[table], first, rows).await?;
    }
    for table in from.tables() {
        go_on_numbering(connection, &table.name).await.map_err(refused("continue row numbers"))?;
    }
    Ok(())
}

async fn insert(
    connection: &mut PgConnection,
    table: &SchemaTable,
    first: u64,
    rows: Vec<ArchiveRow>,
) -> Result<(), ArchiveError> {
    let last = first + rows.len() as u64 - 1;
    let mut columns: Vec<Vec<ArchiveCell>> =
        table.columns.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    let mut arguments = PgArguments::default();
    let mut places = Vec::with_capacity(columns.len());
    for (place, (known, column)) in table.columns.iter().zip(columns).enumerate() {
        // The values were checked: each has its column's type, or is null.
        let (array, added) = match known.kind {
            CellKind::Text => (
                "text[]",
                add(&mut arguments, column, |cell| match cell {
                    ArchiveCell::Text(text) => Some(escape(&text).into_owned()),
                    ArchiveCell::Null | ArchiveCell::Int(_) | ArchiveCell::Blob(_) => None,
                }),
            ),
            CellKind::Blob => (
                "bytea[]",
                add(&mut arguments, column, |cell| match cell {
                    ArchiveCell::Blob(bytes) => Some(bytes.to_vec()),
                    ArchiveCell::Null | ArchiveCell::Int(_) | ArchiveCell::Text(_) => None,
                }),
            ),
            CellKind::Int => (
                "bigint[]",
                add(&mut arguments, column, |cell| match cell {
                    ArchiveCell::Int(number) => Some(number),
                    ArchiveCell::Null | ArchiveCell::Text(_) | ArchiveCell::Blob(_) => None,
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
    inserted.map(drop).map_err(|source| ArchiveError::refused(what(), source))
}

fn add<T>(
    arguments: &mut PgArguments,
    column: Vec<ArchiveCell>,
    value: impl Fn(ArchiveCell) -> Option<T>,
) -> Result<(), sqlx::error::BoxDynError>
where
    Vec<Option<T>>: for<'q> sqlx::Encode<'q, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    use sqlx::Arguments as _;
    arguments.add(column.into_iter().map(value).collect::<Vec<_>>())
}

/// Advances the table's sequence past the imported numbers.
async fn go_on_numbering(connection: &mut PgConnection, table: &str) -> Result<(), sqlx::Error> {
    let is_numbered = sqlx::query_scalar(IS_NUMBERED).bind(table).fetch_one(&mut *connection);
    let sequence = match (table, is_numbered.await?) {
        ("promises", _) => "'promises_n'".to_owned(),
        (_, true) => format!("pg_get_serial_sequence('\"{table}\"', 'n')"),
        (_, false) => return Ok(()),
    };
    let text =
        format!("SELECT setval({sequence}, max(n)) FROM \"{table}\" HAVING max(n) IS NOT NULL");
    connection.execute(AssertSqlSafe(text)).await.map(drop)
}

/// Reads go through the import's transaction: other connections do not see the imported store yet.
#[async_trait]
impl Scan for PostgresImport {
    async fn candidates(&self, after: i64, limit: u32) -> Result<ScanPage<PromiseId>, StoreError> {
        let mut connection = self.connection.lock().await;
        read::candidates(&mut *connection, after, limit)
            .await
            .map_err(failed::<Postgres, _>("look for damage"))
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<ScanPage<Promise>, StoreError> {
        let mut connection = self.connection.lock().await;
        let found = read::finished(&mut *connection, after, limit, before).await;
        found.map_err(failed::<Postgres, _>("look for finished trees"))
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<ExaminedPage, StoreError> {
        let mut connection = self.connection.lock().await;
        let page = read::examine(&mut *connection, maker, after, limit).await;
        page.map_err(failed::<Postgres, _>("examine a page"))
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn limit_counts(&self) -> Result<Vec<LimitCount>, StoreError> {
        Ok(Vec::new())
    }

    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        read::export(&mut *self.connection.lock().await, sink).await
    }

    async fn gather(
        &self,
        selection: &GatherSelection,
        sink: &mut dyn GatherSink,
    ) -> Result<(), GatherError> {
        read::gather::<Postgres>(&mut *self.connection.lock().await, selection, sink).await
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        let mut connection = self.connection.lock().await;
        read::size_report(&mut *connection, top)
            .await
            .map_err(failed::<Postgres, _>("measure the database"))
    }
}
