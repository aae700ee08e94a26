//! Opens a data directory: locks it, checks that the database in it is a segno database, and
//! migrates it to the current format.

use std::{
    cmp::Ordering,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqlSafeStr as _, SqliteConnection,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::{
    SqliteConfig,
    connection::{Connection, FailedStatement},
    failure, in_use, log_check,
};
use crate::{archive::ArchiveError, error::BoxError, sql::SqlFailure};

/// Reason why a data directory could not be opened. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum SqliteOpenError {
    /// The directory cannot be created or written to.
    #[error("the data directory `{}` cannot be used: make it writable, or choose another", directory.display())]
    Directory {
        directory: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Another process has the directory open.
    #[error("the data directory `{}` is in use by {}: stop that one first, or talk to it", directory.display(), owner(*.pid))]
    InUse {
        directory: PathBuf,
        /// The other process's id, if it wrote it to the lock file.
        pid: Option<u32>,
    },
    /// The file is not a SQLite database, or belongs to another program.
    #[error("`{}` is not a database of segno: move it away, or choose another data directory", file.display())]
    NotOurs {
        /// Path of the file.
        file: PathBuf,
    },
    /// There is no database to read.
    #[error("there is no database in `{}`: a host makes one with its first start", directory.display())]
    Nothing {
        /// Path of the data directory.
        directory: PathBuf,
    },
    /// The database has an older format, and is opened for reading only.
    #[error("`{}` has format {found}, and this segno reads format {known}: start a host on it once", file.display())]
    Older {
        file: PathBuf,
        /// The format found.
        found: i64,
        /// The format that can be read.
        known: i64,
    },
    /// The database was written by a newer version of segno.
    #[error("`{}` has format {found}, and this segno knows formats up to {known}: use a newer segno", file.display())]
    Newer {
        file: PathBuf,
        /// The format found.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// The tables were created by another build of the same format.
    #[error("`{}` has a format {format} unlike this segno's: it was made by an unreleased build", file.display())]
    Unlike {
        file: PathBuf,
        /// Number of the migration that differs.
        format: i64,
    },
    /// The database is read-only.
    #[error("`{}` is read-only: make it and its directory writable", file.display())]
    ReadOnly {
        /// Path of the database file.
        file: PathBuf,
    },
    /// No space is left on the disk.
    #[error("no space is left for `{}`: free some and start again", file.display())]
    Full {
        /// Path of the database file.
        file: PathBuf,
    },
    /// The database or the disk is damaged.
    #[error("`{}` cannot be read as it should: restore it from a backup, and check the disk", file.display())]
    Damaged {
        file: PathBuf,
        /// SQLite's error.
        #[source]
        source: BoxError,
    },
    /// Any other error of SQLite.
    #[error("`{}` cannot be opened", file.display())]
    Database {
        file: PathBuf,
        /// SQLite's error.
        #[source]
        source: BoxError,
    },
}

/// "Segn": identifies a database of segno.
const APPLICATION_ID: i32 = 0x5365_676e;
pub(super) const DATABASE_FILE: &str = "segno.db";
const LOCK_FILE: &str = "segno.lock";
/// Name and size in bytes of a temporary file that tests for free disk space.
const ROOM_FILE: &str = "segno.room";
const ROOM: usize = 256 * 1024;

/// All migrations, by number; never edited once released.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "engine", include_str!("../../migrations/sqlite/0001_engine.sql")),
    (2, "readers", include_str!("../../migrations/sqlite/0002_readers.sql")),
    (3, "schedules", include_str!("../../migrations/sqlite/0003_schedules.sql")),
    (4, "resources, sagas", include_str!("../../migrations/sqlite/0004_resources_sagas.sql")),
    (5, "branches", include_str!("../../migrations/sqlite/0005_branches.sql")),
    (6, "retention", include_str!("../../migrations/sqlite/0006_retention.sql")),
    (7, "lineage", include_str!("../../migrations/sqlite/0007_lineage.sql")),
    (8, "keys", include_str!("../../migrations/sqlite/0008_keys.sql")),
    (9, "recent", include_str!("../../migrations/sqlite/0009_recent.sql")),
    (10, "first version", include_str!("../../migrations/sqlite/0010_first_version.sql")),
    (11, "graph nodes", include_str!("../../migrations/sqlite/0011_graph_nodes.sql")),
    (12, "objects", include_str!("../../migrations/sqlite/0012_objects.sql")),
    (13, "limits", include_str!("../../migrations/sqlite/0013_limits.sql")),
    (14, "runs", include_str!("../../migrations/sqlite/0014_runs.sql")),
    (17, "counts of trees", include_str!("../../migrations/sqlite/0017_tree_counts.sql")),
    (19, "zones", include_str!("../../migrations/sqlite/0019_zones.sql")),
    (22, "graph facts", include_str!("../../migrations/sqlite/0022_graph_facts.sql")),
    (23, "claims of facts", include_str!("../../migrations/sqlite/0023_claims_of_facts.sql")),
    (24, "runtimes", include_str!("../../migrations/sqlite/0024_runtimes.sql")),
    (25, "streams", include_str!("../../migrations/sqlite/0025_streams.sql")),
    (26, "stamps", include_str!("../../migrations/sqlite/0026_stamps.sql")),
    (27, "large values", include_str!("../../migrations/sqlite/0027_large_values.sql")),
    (28, "budgets", include_str!("../../migrations/sqlite/0028_budgets.sql")),
    (29, "databases", include_str!("../../migrations/sqlite/0029_databases.sql")),
];

/// Pragmas of every connection. Times in milliseconds, sizes in bytes. The busy timeout equals
/// `LOCK_TIMEOUT`.
const PRAGMAS: [(&str, &str); 3] =
    [("busy_timeout", "5000"), ("temp_store", "memory"), ("journal_size_limit", "67108864")];

/// Additional pragmas of writing connections. Checkpoints normally run in the background between
/// commits; at 16,000 pages, a constantly busy writer checkpoints itself.
const WRITER_PRAGMAS: [(&str, &str); 1] = [("wal_autocheckpoint", "16000")];

/// Page cache of the writer, and of a migration, which scans whole tables. A negative number of
/// KiB.
const WRITER_CACHE: (&str, &str) = ("cache_size", "-24576");
/// Page cache of a reading connection. Any commit invalidates this cache, so it only serves
/// repeated page reads of one statement.
const READER_CACHE: (&str, &str) = ("cache_size", "-1024");

/// Opens the database of a data directory for reading only. Another process may own it and is not
/// disturbed.
///
/// # Errors
/// [`SqliteOpenError`].
pub(super) async fn look(directory: &Path) -> Result<SqliteConnectOptions, SqliteOpenError> {
    let database = directory.join(DATABASE_FILE);
    if !database.exists() {
        return Err(SqliteOpenError::Nothing { directory: directory.to_owned() });
    }
    let files = DatabaseFiles { database, synchronous: SqliteSynchronous::Full };
    let options = files.reader_options();
    let opened = options.connect().await;
    let mut connection = opened.map_err(|source| files.explain(source))?;
    files.check_owner(&mut connection).await?;
    let format = "SELECT max(version) FROM _sqlx_migrations";
    let found: i64 = sqlx::query_scalar(format)
        .fetch_one(&mut connection)
        .await
        .map_err(|_| SqliteOpenError::NotOurs { file: files.database.clone() })?;
    let _ = connection.close().await;
    let (file, known) = (files.database.clone(), newest());
    match found.cmp(&known) {
        Ordering::Less => Err(SqliteOpenError::Older { file, found, known }),
        Ordering::Equal => Ok(options),
        Ordering::Greater => Err(SqliteOpenError::Newer { file, found, known }),
    }
}

/// True if the database of a directory owned by this process contains anything.
///
/// # Errors
/// [`SqliteOpenError`], if the directory has a database that is not a segno database.
pub(super) async fn holds_something(directory: &Path) -> Result<bool, SqliteOpenError> {
    let database = directory.join(DATABASE_FILE);
    if !database.exists() {
        return Ok(false);
    }
    let files = DatabaseFiles { database, synchronous: SqliteSynchronous::Full };
    let opened = files.reader_options().connect().await;
    let mut connection = opened.map_err(|source| files.explain(source))?;
    files.check_owner(&mut connection).await?;
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'promises'";
    let tables: i64 = sqlx::query_scalar(tables)
        .fetch_one(&mut connection)
        .await
        .map_err(|source| files.explain(source))?;
    let anything = match tables {
        0 => 0,
        _ => sqlx::query_scalar::<_, i64>(
            "SELECT EXISTS (SELECT 1 FROM promises) OR EXISTS (SELECT 1 FROM modules)",
        )
        .fetch_one(&mut connection)
        .await
        .map_err(|source| files.explain(source))?,
    };
    let _ = connection.close().await;
    Ok(anything != 0)
}

/// Connection options for a database under import: no other process knows it, and an incomplete one
/// is deleted.
pub(super) fn importing(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Off)
        .synchronous(SqliteSynchronous::Off)
        .foreign_keys(false)
        .disable_statement_logging()
}

/// Connection options for reading the imported database.
pub(super) fn imported(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(file).read_only(true).disable_statement_logging()
}

/// Migrates a database under import to this format.
pub(super) async fn migrate_to(
    connection: &mut SqliteConnection,
    format: i64,
) -> Result<(), ArchiveError> {
    if !MIGRATIONS.iter().any(|(number, ..)| *number == format) {
        return Err(ArchiveError::Newer { found: format, known: newest() });
    }
    let migrated = migrator(format).run_direct(None, connection, false).await;
    migrated.map_err(|error| ArchiveError::Database {
        what: format!("make the tables of format {format}"),
        source: error.into(),
    })
}

/// The newest format known here.
pub(super) fn newest() -> i64 {
    MIGRATIONS.iter().map(|(number, ..)| *number).max().unwrap_or_default()
}

/// The files of a database, with or without ownership.
#[derive(Debug)]
struct DatabaseFiles {
    database: PathBuf,
    synchronous: SqliteSynchronous,
}

/// A data directory that this process owns until it is dropped.
#[derive(Debug)]
pub(super) struct DataDirectory {
    files: DatabaseFiles,
    // The lock belongs to the file handle: the system releases it when the process ends, in any
    // way.
    _lock: File,
}

impl DataDirectory {
    /// Locks the directory, creating it if it is missing, and migrates its database to the current
    /// format.
    pub(super) async fn open(config: &SqliteConfig) -> Result<Self, SqliteOpenError> {
        let lock = take(&config.dir)?;
        let synchronous =
            if config.relaxed { SqliteSynchronous::Normal } else { SqliteSynchronous::Full };
        let files = DatabaseFiles { database: config.dir.join(DATABASE_FILE), synchronous };
        // SQLite would silently continue with the rest of a damaged log.
        let mark = in_use::InUseMark::of(&files.database);
        match log_check::loss(&files.database, mark.as_ref()) {
            Ok(None) => {}
            Ok(Some(loss)) => tracing::error!("{loss}"),
            Err(error) => tracing::warn!(%error, "the write-ahead log could not be looked at"),
        }
        let opened = Self { files, _lock: lock };
        opened.migrate().await?;
        // The log was checkpointed.
        in_use::clear(&opened.files.database);
        Ok(opened)
    }

    /// Opens the writer's connection to the migrated database.
    pub(super) fn writer(&self) -> Result<Connection, FailedStatement> {
        let synchronous = match self.files.synchronous {
            SqliteSynchronous::Normal => "NORMAL",
            _ => "FULL",
        };
        let pragmas = [("synchronous", synchronous), ("foreign_keys", "ON"), WRITER_CACHE];
        let pragmas = [&pragmas[..], &PRAGMAS, &WRITER_PRAGMAS].concat();
        let connection = Connection::open(&self.files.database, &pragmas)?;
        let sync = !matches!(self.files.synchronous, SqliteSynchronous::Normal);
        if let Err(error) = in_use::set(&self.files.database, sync) {
            tracing::debug!(%error, "the database could not be marked as in use");
        }
        Ok(connection)
    }

    /// Opens a writing connection for work outside of the writer.
    pub(super) async fn connect(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.connection_options().connect().await
    }

    fn connection_options(&self) -> SqliteConnectOptions {
        let options = self.files.options().journal_mode(SqliteJournalMode::Wal);
        let options = match self.files.are_new() {
            // Space freed by retention can then be returned in small steps. Another database keeps
            // what it has, and would write it anew: a commit for each connection.
            true => options.auto_vacuum(SqliteAutoVacuum::Incremental),
            false => options,
        };
        WRITER_PRAGMAS.iter().fold(options, |options, (name, value)| options.pragma(*name, *value))
    }

    /// Connection options for reading.
    pub(super) fn reader_options(&self) -> SqliteConnectOptions {
        self.files.reader_options()
    }

    /// Size of the write-ahead log file, in bytes.
    pub(super) fn log_bytes(&self) -> u64 {
        fs::metadata(log_check::log_of(&self.files.database)).map_or(0, |log| log.len())
    }

    /// Checks that there is disk space for a few commits: writes, syncs and deletes a file of that
    /// size.
    pub(super) fn try_room(&self) -> io::Result<()> {
        let file = self.files.database.with_file_name(ROOM_FILE);
        let written = File::create(&file).and_then(|mut vacuum| {
            vacuum.write_all(&vec![1; ROOM]).and_then(|()| vacuum.sync_all())
        });
        // The file may not have been created.
        let _ = fs::remove_file(&file);
        written
    }

    async fn migrate(&self) -> Result<(), SqliteOpenError> {
        let options = self.connection_options().pragma(WRITER_CACHE.0, WRITER_CACHE.1);
        let opened = options.connect().await;
        let mut connection = opened.map_err(|source| self.files.explain(source))?;
        let checked = self.files.check_owner(&mut connection).await;
        let migrated = match checked {
            Ok(()) => self.run_migrations(&mut connection).await,
            Err(refused) => Err(refused),
        };
        let closed = connection.close().await;
        migrated.and_then(|()| closed.map_err(|source| self.files.explain(source)))
    }

    async fn run_migrations(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<(), SqliteOpenError> {
        let known = newest();
        let file = || self.files.database.clone();
        migrator(known).run_direct(None, connection, false).await.map_err(|error| match error {
            MigrateError::VersionMissing(found) if found > known => {
                SqliteOpenError::Newer { file: file(), found, known }
            }
            MigrateError::VersionMissing(format)
            | MigrateError::VersionMismatch(format)
            | MigrateError::Dirty(format) => SqliteOpenError::Unlike { file: file(), format },
            MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
                self.files.explain(source)
            }
            other => SqliteOpenError::Database {
                file: file(),
                source: Box::new(sqlx::Error::from(other)),
            },
        })
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        in_use::clear(&self.files.database);
    }
}

impl DatabaseFiles {
    /// True if nothing was written to the database yet.
    fn are_new(&self) -> bool {
        fs::metadata(&self.database).map_or(true, |file| file.len() == 0)
    }

    fn reader_options(&self) -> SqliteConnectOptions {
        let (name, value) = READER_CACHE;
        self.options().read_only(true).create_if_missing(false).pragma(name, value)
    }

    fn options(&self) -> SqliteConnectOptions {
        let options = SqliteConnectOptions::new()
            .filename(&self.database)
            .create_if_missing(true)
            .synchronous(self.synchronous)
            .foreign_keys(true)
            .statement_cache_capacity(256)
            .disable_statement_logging();
        PRAGMAS.iter().fold(options, |options, (name, value)| options.pragma(*name, *value))
    }

    async fn check_owner(&self, connection: &mut SqliteConnection) -> Result<(), SqliteOpenError> {
        let row = sqlx::query(
            "SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id",
        )
        .fetch_one(connection)
        .await
        .map_err(|source| self.explain(source))?;
        let (application, tables): (i32, i64) = (row.get(0), row.get(1));
        if application == APPLICATION_ID || (application == 0 && tables == 0) {
            return Ok(());
        }
        Err(SqliteOpenError::NotOurs { file: self.database.clone() })
    }

    fn explain(&self, source: impl Into<SqlFailure>) -> SqliteOpenError {
        let (file, source) = (self.database.clone(), source.into());
        match failure::primary_code(&source) {
            Some(failure::NOT_A_DATABASE) => SqliteOpenError::NotOurs { file },
            Some(failure::READ_ONLY | failure::CANNOT_OPEN) => SqliteOpenError::ReadOnly { file },
            Some(failure::FULL) => SqliteOpenError::Full { file },
            // The shared-memory file could not grow, or a write exceeded a quota.
            Some(failure::DISK) if !failure::is_final(&source) => SqliteOpenError::Full { file },
            Some(failure::CORRUPT | failure::DISK) => {
                SqliteOpenError::Damaged { file, source: source.into() }
            }

            _ => SqliteOpenError::Database { file, source: source.into() },
        }
    }
}

/// The migrations up to this format.
fn migrator(format: i64) -> Migrator {
    let known = MIGRATIONS.iter().filter(|(number, ..)| *number <= format);
    let migrations = known.map(|&(number, purpose, statements)| {
        Migration::new(
            number,
            purpose.into(),
            MigrationType::Simple,
            statements.into_sql_str(),
            false,
        )
    });
    Migrator::with_migrations(migrations.collect())
}

/// Interval and number of attempts to lock a directory.
const LOCK_ATTEMPTS: (Duration, u32) = (Duration::from_millis(10), 30);

/// Creates the directory and locks it for this process. Waits a moment if it is locked: a child
/// that another process has just forked holds the locks of that process until it runs its program.
pub(super) fn take(directory: &Path) -> Result<File, SqliteOpenError> {
    let (pause, attempts) = LOCK_ATTEMPTS;
    for _ in 1..attempts {
        match take_once(directory) {
            Err(SqliteOpenError::InUse { .. }) => std::thread::sleep(pause),
            taken => return taken,
        }
    }
    take_once(directory)
}

fn take_once(directory: &Path) -> Result<File, SqliteOpenError> {
    let refuse = |source| SqliteOpenError::Directory { directory: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(refuse)?;
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(directory.join(LOCK_FILE))
        .map_err(refuse)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = lock.read_to_string(&mut pid);
            return Err(SqliteOpenError::InUse {
                directory: directory.to_owned(),
                pid: pid.trim().parse().ok(),
            });
        }
        Err(TryLockError::Error(source)) => return Err(refuse(source)),
    }
    // The id is only a hint for the next start, and is omitted on a full disk.
    let written = lock.set_len(0).and_then(|()| lock.rewind());
    let _ = written.and_then(|()| writeln!(lock, "{}", std::process::id()));
    Ok(lock)
}

/// The error for opening this data directory, if another process has locked it. Does not change the
/// directory.
pub fn user_of(directory: &Path) -> Option<SqliteOpenError> {
    if !directory.join(LOCK_FILE).exists() {
        return None;
    }
    take(directory).err().filter(|error| matches!(error, SqliteOpenError::InUse { .. }))
}

fn owner(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
