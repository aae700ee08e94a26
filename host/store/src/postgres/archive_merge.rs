//! Turns the rows of several databases into those of one.
//!
//! Promises keep their numbers, which are unique over all databases. Numbers that a database gives by
//! itself are made unique, in the same order. Modules have the numbers of the first database.
//! Callbacks between databases become ordinary ones.

use std::collections::{BTreeMap, HashMap, HashSet};

use segno_core::shard::DatabaseIndex;
use sqlx::{Executor as _, PgConnection, Postgres, Row as _, Transaction, postgres::PgRow};

use super::archive::IS_NUMBERED;
use crate::{
    archive::{ArchiveCell, ArchiveError, ArchiveHead, ArchiveRow, ArchiveTable},
    sql::read::{DatabaseSession as _, READ_ALL, archive_head, refused},
};

const CHUNKS: &str = "SELECT digest FROM value_chunks";
const MODULES: &str = "SELECT digest, n FROM modules";
const VERSION: &str = "SELECT max(version) FROM first_version";
const CROSSINGS: &str = "SELECT awaited, awaiter, consumed FROM crossings";
const NUMBERS: &str = "SELECT id, n FROM promises WHERE id = ANY($1::text[])";

/// Number of ids in one statement.
const IDS_MAX: usize = 10_000;

/// The way in which the rows of a table come into the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableMerge {
    /// All databases have the same rows.
    Copies,
    /// Only a store of several databases has rows.
    OfSeveral,
    /// The rows are replaced by [`ArchiveMerge::added_rows`].
    Version,
    /// Several databases may have a row.
    Chunks,
    /// Each row is in one database.
    Rows,
}

impl TableMerge {
    fn of(table: &str) -> Self {
        match table {
            "modules" | "aliases" | "hosts" => Self::Copies,
            "shards" | "crossings" | "decisions" => Self::OfSeveral,
            "first_version" => Self::Version,
            "value_chunks" => Self::Chunks,
            _ => Self::Rows,
        }
    }
}

/// The contents of several databases on their way into one archive.
pub(super) struct ArchiveMerge {
    /// The head of each database. All have the same tables.
    heads: Vec<ArchiveHead>,
    /// For each database, the numbers of its modules in the first one.
    modules: Vec<HashMap<i64, i64>>,
    /// Callbacks between databases: the numbers of both promises, and the flag.
    callbacks: Vec<[i64; 3]>,
    version: Option<i64>,
    /// Number of different chunks.
    chunk_count: u64,
    /// Digests of the chunks that have passed.
    passed_chunks: HashSet<Vec<u8>>,
    /// Tables whose rows are numbered by their database.
    numbered: HashSet<String>,
}

/// The rows of one table in one database.
pub(super) struct MergedRows<'a> {
    table: &'a ArchiveTable,
    merge: TableMerge,
    passed_chunks: &'a mut HashSet<Vec<u8>>,
    digest: Option<usize>,
    /// The column with the number of a module, and the numbers in the archive.
    module: Option<(usize, &'a HashMap<i64, i64>)>,
    /// The column with a number that the database gave.
    number: Option<usize>,
    database: DatabaseIndex,
    databases: usize,
}

impl ArchiveMerge {
    /// Reads what must be known before the first row.
    pub(super) async fn read(
        snapshots: &mut [Transaction<'_, Postgres>],
    ) -> Result<Self, ArchiveError> {
        let mut heads = Vec::with_capacity(snapshots.len());
        let (mut digests, mut chunks, mut version) = (Vec::new(), HashSet::new(), None);
        for snapshot in snapshots.iter_mut() {
            let session: &mut PgConnection = snapshot;
            session.without_time_limit().await.map_err(refused(READ_ALL))?;
            heads.push(archive_head(session).await.map_err(refused(READ_ALL))?);
            let modules = rows(session, MODULES, |row| Ok((row.try_get(0)?, row.try_get(1)?)));
            digests.push(modules.await?);
            chunks.extend(rows(session, CHUNKS, |row| row.try_get::<Vec<u8>, _>(0)).await?);
            let versions = rows(session, VERSION, |row| row.try_get::<Option<i64>, _>(0)).await?;
            version = version.max(versions.into_iter().flatten().max());
        }
        let mut numbered = HashSet::new();
        for table in &heads[0].tables {
            let is_numbered = sqlx::query_scalar(IS_NUMBERED).bind(&table.name);
            if is_numbered.fetch_one(&mut *snapshots[0]).await.map_err(refused(READ_ALL))? {
                numbered.insert(table.name.clone());
            }
        }
        Ok(Self {
            modules: renumbered_modules(digests),
            callbacks: callbacks(snapshots).await?,
            heads,
            version,
            chunk_count: chunks.len() as u64,
            passed_chunks: HashSet::new(),
            numbered,
        })
    }

    /// The head of the archive.
    pub(super) fn head(&self) -> ArchiveHead {
        let mut head = self.heads[0].clone();
        for (place, table) in head.tables.iter_mut().enumerate() {
            let all = self.heads.iter().map(|head| head.tables[place].rows).sum::<u64>();
            table.rows = match TableMerge::of(&table.name) {
                TableMerge::Copies => table.rows,
                TableMerge::OfSeveral => 0,
                TableMerge::Version => u64::from(self.version.is_some()),
                TableMerge::Chunks => self.chunk_count,
                TableMerge::Rows if table.name == "callbacks" => all + self.callbacks.len() as u64,
                TableMerge::Rows => all,
            };
        }
        head
    }

    /// The rows that a database has in the table at this place of the head. `None` if they are not
    /// in the archive.
    pub(super) fn rows(&mut self, database: DatabaseIndex, place: usize) -> Option<MergedRows<'_>> {
        let table = &self.heads[database].tables[place];
        let merge = TableMerge::of(&table.name);
        match merge {
            TableMerge::Copies if database > 0 => return None,
            TableMerge::OfSeveral | TableMerge::Version => return None,
            TableMerge::Copies | TableMerge::Chunks | TableMerge::Rows => {}
        }
        let column = |name: &str| table.columns.iter().position(|column| column == name);
        let is_renumbered = merge == TableMerge::Rows && self.numbered.contains(&table.name);
        let has_modules = table.name == "tasks";
        Some(MergedRows {
            merge,
            passed_chunks: &mut self.passed_chunks,
            digest: column("digest"),
            module: column("module").filter(|_| has_modules).zip(Some(&self.modules[database])),
            number: column("n").filter(|_| is_renumbered),
            database,
            databases: self.heads.len(),
            table,
        })
    }

    /// The rows of a table of the archive that no database has as they are.
    pub(super) fn added_rows(&self, table: &ArchiveTable) -> Vec<ArchiveRow> {
        let row = |cells: &[(&str, i64)]| -> ArchiveRow {
            let cell = |column: &String| {
                let cell = cells.iter().find(|(name, _)| name == column);
                cell.map_or(ArchiveCell::Null, |(_, number)| ArchiveCell::Int(*number))
            };
            table.columns.iter().map(cell).collect()
        };
        match table.name.as_str() {
            "callbacks" => {
                let callback = |[awaited, awaiter, consumed]: &[i64; 3]| {
                    row(&[("awaited", *awaited), ("awaiter", *awaiter), ("consumed", *consumed)])
                };
                self.callbacks.iter().map(callback).collect()
            }
            "first_version" => self
                .version
                .iter()
                .map(|version| row(&[("one", 1), ("version", *version)]))
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl MergedRows<'_> {
    /// The table as the database has it.
    pub(super) fn table(&self) -> &ArchiveTable {
        self.table
    }

    /// A row as the archive has it. `None` if the archive has it already.
    pub(super) fn rewritten(
        &mut self,
        mut row: ArchiveRow,
    ) -> Result<Option<ArchiveRow>, ArchiveError> {
        if self.merge == TableMerge::Chunks
            && let Some(ArchiveCell::Blob(digest)) = self.digest.and_then(|column| row.get(column))
            && !self.passed_chunks.insert(digest.to_vec())
        {
            return Ok(None);
        }
        if let Some((column, numbers)) = self.module
            && let ArchiveCell::Int(module) = &mut row[column]
        {
            *module = *numbers.get(module).ok_or_else(|| {
                ArchiveError::Place(format!(
                    "a task in database {} runs a module that database 1 does not have: start a host with all \
                     databases, and export again",
                    self.database + 1
                ))
            })?;
        }
        if let Some(column) = self.number
            && let ArchiveCell::Int(number) = &mut row[column]
        {
            *number = *number * self.databases as i64 + self.database as i64;
        }
        Ok(Some(row))
    }
}

/// For each database, the numbers of its modules in the first one.
fn renumbered_modules(databases: Vec<Vec<(Vec<u8>, i64)>>) -> Vec<HashMap<i64, i64>> {
    let first: HashMap<Vec<u8>, i64> = databases.iter().take(1).flatten().cloned().collect();
    let renumbered = |modules: Vec<(Vec<u8>, i64)>| {
        let number = |(digest, n): (Vec<u8>, i64)| Some((n, *first.get(&digest)?));
        modules.into_iter().filter_map(number).collect()
    };
    databases.into_iter().map(renumbered).collect()
}

/// The callbacks between databases. Both databases have each.
async fn callbacks(
    snapshots: &mut [Transaction<'_, Postgres>],
) -> Result<Vec<[i64; 3]>, ArchiveError> {
    let mut crossings: BTreeMap<(String, String), i16> = BTreeMap::new();
    for snapshot in snapshots.iter_mut() {
        let crossing = |row: PgRow| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?));
        for (ends, consumed) in rows(snapshot, CROSSINGS, crossing).await? {
            let flag = crossings.entry(ends).or_insert(consumed);
            *flag = consumed.max(*flag);
        }
    }
    let ids: HashSet<&String> = crossings.keys().flat_map(|(on, by)| [on, by]).collect();
    let ids: Vec<&String> = ids.into_iter().collect();
    let mut numbers: HashMap<String, i64> = HashMap::new();
    for snapshot in snapshots.iter_mut() {
        for ids in ids.chunks(IDS_MAX) {
            let query = sqlx::query(NUMBERS).persistent(false).bind(ids);
            let found = snapshot.fetch_all(query).await.map_err(refused(READ_ALL))?;
            let number = |row: PgRow| Ok((row.try_get(0)?, row.try_get(1)?));
            let found: Result<Vec<_>, sqlx::Error> = found.into_iter().map(number).collect();
            numbers.extend(found.map_err(refused(READ_ALL))?);
        }
    }
    let callback = |((awaited, awaiter), consumed): (&(String, String), &i16)| {
        Some([*numbers.get(awaited)?, *numbers.get(awaiter)?, i64::from(*consumed)])
    };
    Ok(crossings.iter().filter_map(callback).collect())
}

async fn rows<T>(
    session: &mut PgConnection,
    text: &'static str,
    decode: impl Fn(PgRow) -> Result<T, sqlx::Error>,
) -> Result<Vec<T>, ArchiveError> {
    let rows = session.fetch_all(sqlx::query(text).persistent(false)).await;
    let rows = rows.and_then(|rows| rows.into_iter().map(decode).collect());
    rows.map_err(refused(READ_ALL))
}
