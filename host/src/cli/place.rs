//! The address of a store, for commands that read it without a host.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use segno_core::config::Config;
use segno_engine::notifier::CommitNotifier;
use segno_env::Env;
use segno_store::{
    Scan, Store,
    archive::{ArchiveError, ArchiveSource},
    postgres::{
        PostgresConfig, PostgresImport, PostgresReader, PostgresStore, ShardedImport, ShardedStore,
    },
    sqlite::{SqliteConfig, SqliteImport, SqliteOpenError, SqliteReader, SqliteStore},
};

use super::{CliError, build::other};

/// The options that name a store.
#[derive(Debug, Args)]
pub(super) struct StoreOptions {
    /// Store: a data directory, or postgres://USER@HOST/DATABASE, once for each database of the
    /// store (default: ./segno-data)
    #[arg(long, value_name = "STORE", env = "SEGNO_STORE", hide_env_values = true)]
    store: Vec<String>,
    /// Data directory; the same as --store DIR
    #[arg(long, value_name = "DIR", env = "SEGNO_DATA", conflicts_with = "store")]
    data: Option<PathBuf>,
}

enum StoreLocation {
    Sqlite(PathBuf),
    Postgres(PostgresConfig),
    Sharded(Vec<PostgresConfig>),
}

/// A store that is being filled.
pub(super) enum ImportedStore {
    /// A data directory.
    Sqlite(SqliteImport),
    /// A database.
    Postgres(PostgresImport),
    /// Several databases.
    Sharded(ShardedImport),
}

/// A store opened read-only.
#[expect(clippy::large_enum_variant, reason = "there is one, and it lives as long as the command")]
pub(super) enum ReadOnlyStore {
    /// A data directory.
    Sqlite(SqliteReader),
    /// A database.
    Postgres(PostgresReader),
    /// Several databases.
    Sharded(Arc<ShardedStore>),
}

impl StoreOptions {
    /// The address without its password.
    pub(super) fn name(&self) -> String {
        match self.place() {
            Ok(StoreLocation::Sqlite(dir)) => dir.display().to_string(),
            Ok(StoreLocation::Postgres(config)) => config.shown().to_owned(),
            Ok(StoreLocation::Sharded(configs)) => {
                configs.iter().map(PostgresConfig::shown).collect::<Vec<_>>().join(" ")
            }
            Err(_) => "the store".to_owned(),
        }
    }

    /// Opens the store read-only; hosts may run on it.
    ///
    /// # Errors
    /// The reason that the store cannot be read.
    pub(super) async fn look(&self) -> Result<ReadOnlyStore, CliError> {
        match self.place()? {
            StoreLocation::Sqlite(dir) => Ok(ReadOnlyStore::Sqlite(
                SqliteReader::at(&dir).await.map_err(|error| refused(&error))?,
            )),
            StoreLocation::Postgres(config) => {
                let look = PostgresStore::look(&config, &Env::system()).await;
                Ok(ReadOnlyStore::Postgres(look.map_err(|error| other("not-opened", &error))?))
            }
            StoreLocation::Sharded(configs) => Ok(ReadOnlyStore::Sharded(sharded(configs).await?)),
        }
    }

    /// Imports an archive into the store, which must be empty.
    ///
    /// # Errors
    /// The reason of the failure; the store is unchanged.
    pub(super) async fn import(
        &self,
        from: &mut dyn ArchiveSource,
    ) -> Result<ImportedStore, ArchiveError> {
        let place = self.place().map_err(|error| ArchiveError::Place(error.to_string()))?;
        match place {
            StoreLocation::Sqlite(dir) => {
                Ok(ImportedStore::Sqlite(SqliteImport::from_source(&dir, from).await?))
            }
            StoreLocation::Postgres(config) => {
                let env = Env::system();
                let filled = PostgresImport::from_source(&config, &env, from).await?;
                Ok(ImportedStore::Postgres(filled))
            }
            StoreLocation::Sharded(configs) => {
                let env = Env::system();
                let filled = ShardedImport::from_source(configs, &env, from).await?;
                Ok(ImportedStore::Sharded(filled))
            }
        }
    }

    /// Opens the store for writing. No host may run on a data directory; hosts may run on a
    /// database.
    ///
    /// # Errors
    /// The reason that the store cannot be written.
    pub(super) async fn open(&self) -> Result<Arc<dyn Store>, CliError> {
        let (env, notifier) = (Env::system(), Arc::new(CommitNotifier::default()));
        match self.place()? {
            StoreLocation::Sqlite(dir) => {
                // A wrong path must not create a new store.
                self.look().await?.close().await;
                let config = SqliteConfig::new(dir);
                let opened = SqliteStore::open(config, Config::default(), env, notifier).await;
                Ok(opened.map_err(|error| refused(&error))?)
            }
            StoreLocation::Postgres(config) => {
                let opened = PostgresStore::open(config, Config::default(), env, notifier).await;
                Ok(opened.map_err(|error| other("not-opened", &error))?)
            }
            StoreLocation::Sharded(configs) => Ok(sharded(configs).await?),
        }
    }

    /// Opens a store in several databases; hosts may run on it.
    ///
    /// # Errors
    /// The reason that it cannot be opened.
    pub(super) async fn sharded(&self) -> Result<Arc<ShardedStore>, CliError> {
        sharded(self.several()?).await
    }

    /// Like [`sharded`](Self::sharded), without the databases that do not answer.
    pub(super) async fn sharded_present(&self) -> Result<Arc<ShardedStore>, CliError> {
        let mut configs = self.several()?;
        configs.iter_mut().for_each(|config| config.may_be_late = true);
        sharded(configs).await
    }

    /// The databases of a store of several.
    fn several(&self) -> Result<Vec<PostgresConfig>, CliError> {
        match self.place()? {
            StoreLocation::Sharded(configs) => Ok(configs),
            StoreLocation::Sqlite(_) | StoreLocation::Postgres(_) => Err(CliError::Usage(
                "only a store in several databases has shards: name each of them with --store postgres://USER@HOST/DATABASE"
                    .to_owned(),
            )),
        }
    }

    fn place(&self) -> Result<StoreLocation, CliError> {
        let named: Vec<&str> = match (self.store.as_slice(), &self.data) {
            ([], Some(dir)) => return Ok(StoreLocation::Sqlite(dir.clone())),
            ([], None) => vec!["segno-data"],
            // Databases may be named with spaces in between.
            ([one], _) if is_postgres(one) => one.split_whitespace().collect(),
            (several, _) => several.iter().map(String::as_str).collect(),
        };
        let database = |address: &str| {
            PostgresConfig::new(address).map_err(|error| CliError::Usage(error.to_string()))
        };
        match named.as_slice() {
            [one] if is_postgres(one) => Ok(StoreLocation::Postgres(database(one)?)),
            [one] => {
                let dir = one.strip_prefix("sqlite:").unwrap_or(one);
                let dir = dir.strip_prefix("//").unwrap_or(dir);
                Ok(StoreLocation::Sqlite(Path::new(dir).to_owned()))
            }
            several if several.iter().all(|store| is_postgres(store)) => {
                let configs = several.iter().map(|address| database(address));
                Ok(StoreLocation::Sharded(configs.collect::<Result<_, _>>()?))
            }
            _ => Err(CliError::Usage(
                "a store of several databases has them in PostgreSQL: name a data directory alone"
                    .to_owned(),
            )),
        }
    }
}

fn is_postgres(store: &str) -> bool {
    store.starts_with("postgres://") || store.starts_with("postgresql://")
}

async fn sharded(configs: Vec<PostgresConfig>) -> Result<Arc<ShardedStore>, CliError> {
    let (env, notifier) = (Env::system(), Arc::new(CommitNotifier::default()));
    let opened = ShardedStore::open(configs, Config::default(), env, notifier).await;
    opened.map_err(|error| other("not-opened", &error))
}

impl ImportedStore {
    /// The data imported so far.
    pub(super) fn scan(&self) -> &dyn Scan {
        match self {
            Self::Sqlite(import) => import.scan(),
            Self::Postgres(import) => import,
            Self::Sharded(import) => import.scan(),
        }
    }

    /// Commits the imported store.
    ///
    /// # Errors
    /// The disk or the database failed; nothing is kept.
    pub(super) async fn keep(self) -> Result<(), ArchiveError> {
        match self {
            Self::Sqlite(import) => import.keep().await,
            Self::Postgres(import) => import.keep().await,
            Self::Sharded(import) => {
                import.keep(Env::system(), Arc::new(CommitNotifier::default())).await
            }
        }
    }
}

impl ReadOnlyStore {
    /// The data of the store.
    pub(super) fn scan(&self) -> &dyn Scan {
        match self {
            Self::Sqlite(look) => look.scan(),
            Self::Postgres(look) => look.scan(),
            Self::Sharded(store) => store.scan(),
        }
    }

    /// Closes the store.
    pub(super) async fn close(self) {
        match self {
            Self::Sqlite(look) => look.close().await,
            Self::Postgres(look) => look.close().await,
            Self::Sharded(store) => Store::close(&*store).await,
        }
    }
}

fn refused(error: &SqliteOpenError) -> CliError {
    let code = match error {
        SqliteOpenError::InUse { .. } => "in-use",
        SqliteOpenError::Nothing { .. } => {
            let message = format!(
                "{error}. Name the store by --data or --store (SEGNO_DATA, SEGNO_STORE): this command reads the store itself, and asks no host (--server, SEGNO_SERVER)"
            );
            return CliError::Other { code: "no-store", message };
        }
        _ => "not-opened",
    };
    other(code, error)
}
