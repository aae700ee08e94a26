//! Opening a data directory: who owns it, whether the database in it is ours, and bringing it to today's format.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqlSafeStr as _, SqliteConnection,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::{SqliteConfig, failure};

/// Why a data directory could not be opened. Nothing of it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory cannot be made or written to.
    #[error("the data directory `{}` cannot be used: make it writable, or choose another", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process has it open.
    #[error("the data directory `{}` is in use by {}: stop that one first, or talk to it", directory.display(), owner(*.pid))]
    InUse {
        /// The directory.
        directory: PathBuf,
        /// The other process, if it wrote its number.
        pid: Option<u32>,
    },
    /// The file is no SQLite database, or one of another program.
    #[error("`{}` is not a database of segno: move it away, or choose another data directory", file.display())]
    NotOurs {
        /// The file.
        file: PathBuf,
    },
    /// A newer version of segno wrote it.
    #[error("`{}` has format {found}, and this segno knows formats up to {known}: use a newer segno", file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// Its tables were made by another build of the same format.
    #[error("`{}` has a format {format} unlike this segno's: it was made by an unreleased build", file.display())]
    Unlike {
        /// The file.
        file: PathBuf,
        /// The migration that differs.
        format: i64,
    },
    /// The database may only be read.
    #[error("`{}` is read-only: make it and its directory writable", file.display())]
    ReadOnly {
        /// The file.
        file: PathBuf,
    },
    /// No space is left.
    #[error("no space is left for `{}`: free some and start again", file.display())]
    Full {
        /// The file.
        file: PathBuf,
    },
    /// The database is damaged, or the disk is.
    #[error("`{}` cannot be read as it should: restore it from a backup, and check the disk", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// SQLite's answer.
        #[source]
        source: sqlx::Error,
    },
    /// Anything else that SQLite said.
    #[error("`{}` cannot be opened", file.display())]
    Database {
        /// The file.
        file: PathBuf,
        /// SQLite's answer.
        #[source]
        source: sqlx::Error,
    },
}

/// "Segn": how a database of ours is told from others.
const APPLICATION_ID: i32 = 0x5365_676e;
const DATABASE_FILE: &str = "segno.db";
const LOCK_FILE: &str = "segno.lock";

/// Each migration once, by number; never edited once released.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "engine", include_str!("../../../migrations/sqlite/0001_engine.sql")),
    (2, "readers", include_str!("../../../migrations/sqlite/0002_readers.sql")),
    (3, "schedules", include_str!("../../../migrations/sqlite/0003_schedules.sql")),
    (4, "resources, sagas", include_str!("../../../migrations/sqlite/0004_resources_sagas.sql")),
    (5, "branches", include_str!("../../../migrations/sqlite/0005_branches.sql")),
];

/// A data directory that belongs to this process until this is dropped.
#[derive(Debug)]
pub(super) struct DataDirectory {
    database: PathBuf,
    synchronous: SqliteSynchronous,
    // The lock goes with the file: the system gives it up when the process ends, however it ends.
    _lock: File,
}

impl DataDirectory {
    /// Takes the directory, made if it is missing, and brings its database to today's format.
    pub(super) async fn open(config: &SqliteConfig) -> Result<Self, OpenError> {
        let lock = take(&config.dir)?;
        let synchronous =
            if config.relaxed { SqliteSynchronous::Normal } else { SqliteSynchronous::Full };
        let opened = Self { database: config.dir.join(DATABASE_FILE), synchronous, _lock: lock };
        opened.migrate().await?;
        Ok(opened)
    }

    /// A connection for the writer.
    pub(super) async fn connect(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.options()
            .journal_mode(SqliteJournalMode::Wal)
            // The background checkpoints when nothing waits; this is for a writer that never rests.
            .pragma("wal_autocheckpoint", "16000")
            .pragma("cache_size", "-65536")
            .connect()
            .await
    }

    /// How connections that only read are made.
    pub(super) fn reader_options(&self) -> SqliteConnectOptions {
        self.options().read_only(true).create_if_missing(false).pragma("cache_size", "-16384")
    }

    fn options(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.database)
            .create_if_missing(true)
            .synchronous(self.synchronous)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(5))
            .pragma("temp_store", "memory")
            .pragma("journal_size_limit", "67108864")
            .statement_cache_capacity(256)
            .disable_statement_logging()
    }

    async fn migrate(&self) -> Result<(), OpenError> {
        let mut connection = self.connect().await.map_err(|source| self.explain(source))?;
        let checked = self.check_owner(&mut connection).await;
        let migrated = match checked {
            Ok(()) => self.run_migrations(&mut connection).await,
            Err(refused) => Err(refused),
        };
        let closed = connection.close().await;
        migrated.and_then(|()| closed.map_err(|source| self.explain(source)))
    }

    async fn check_owner(&self, connection: &mut SqliteConnection) -> Result<(), OpenError> {
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
        Err(OpenError::NotOurs { file: self.database.clone() })
    }

    async fn run_migrations(&self, connection: &mut SqliteConnection) -> Result<(), OpenError> {
        let known = MIGRATIONS.iter().map(|(number, ..)| *number).max().unwrap_or_default();
        let file = || self.database.clone();
        migrator().run_direct(None, connection, false).await.map_err(|error| match error {
            MigrateError::VersionMissing(found) if found > known => {
                OpenError::Newer { file: file(), found, known }
            }
            MigrateError::VersionMissing(format)
            | MigrateError::VersionMismatch(format)
            | MigrateError::Dirty(format) => OpenError::Unlike { file: file(), format },
            MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
                self.explain(source)
            }
            other => OpenError::Database { file: file(), source: other.into() },
        })
    }

    fn explain(&self, source: sqlx::Error) -> OpenError {
        let file = self.database.clone();
        match failure::primary_code(&source) {
            Some(failure::NOT_A_DATABASE) => OpenError::NotOurs { file },
            Some(failure::READ_ONLY | failure::CANNOT_OPEN) => OpenError::ReadOnly { file },
            Some(failure::FULL) => OpenError::Full { file },
            Some(failure::CORRUPT | failure::DISK) => OpenError::Damaged { file, source },
            _ => OpenError::Database { file, source },
        }
    }
}

fn migrator() -> Migrator {
    let migrations = MIGRATIONS.iter().map(|&(number, purpose, statements)| {
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

/// Makes the directory and locks it for this process.
fn take(directory: &Path) -> Result<File, OpenError> {
    let refuse = |source| OpenError::Directory { directory: directory.to_owned(), source };
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
            return Err(OpenError::InUse {
                directory: directory.to_owned(),
                pid: pid.trim().parse().ok(),
            });
        }
        Err(TryLockError::Error(source)) => return Err(refuse(source)),
    }
    let written = lock.set_len(0).and_then(|()| lock.rewind());
    written.and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(refuse)?;
    Ok(lock)
}

fn owner(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
