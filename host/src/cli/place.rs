//! Where a store is, for commands that look at it past any host.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use segno_core::config::Config;

use crate::{
    hub::Hub,
    runtime::Surroundings,
    store::{
        Scan, Store,
        archive::{ArchiveError, ArchiveSource},
        postgres::{PostgresConfig, PostgresImport, PostgresLook, PostgresStore},
        sqlite::{OpenError, SqliteConfig, SqliteImport, SqliteLook, SqliteStore},
    },
};

use super::{CliError, build::other};

/// Where the store is.
#[derive(Debug, Args)]
pub struct Place {
    /// The store: a data directory, or postgres://USER@HOST/DATABASE; ./segno-data if it is not given
    #[arg(long, value_name = "STORE", env = "SEGNO_STORE", hide_env_values = true)]
    store: Option<String>,
    /// The data directory, another way to say --store DIR
    #[arg(long, value_name = "DIR", env = "SEGNO_DATA", conflicts_with = "store")]
    data: Option<PathBuf>,
}

enum Where {
    Sqlite(PathBuf),
    Postgres(PostgresConfig),
}

/// A store that is being filled.
pub enum ImportedStore {
    /// A data directory.
    Sqlite(SqliteImport),
    /// A database.
    Postgres(PostgresImport),
}

/// A store that is only read.
pub enum Look {
    /// A data directory.
    Sqlite(SqliteLook),
    /// A database.
    Postgres(PostgresLook),
}

impl Place {
    /// As it may be shown.
    pub fn name(&self) -> String {
        match self.place() {
            Ok(Where::Sqlite(dir)) => dir.display().to_string(),
            Ok(Where::Postgres(config)) => config.shown().to_owned(),
            Err(_) => "the store".to_owned(),
        }
    }

    /// For reading only; hosts may run on it.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub async fn look(&self) -> Result<Look, CliError> {
        match self.place()? {
            Where::Sqlite(dir) => {
                Ok(Look::Sqlite(SqliteLook::at(&dir).await.map_err(|error| refused(&error))?))
            }
            Where::Postgres(config) => {
                let look = PostgresStore::look(&config, &Surroundings::system()).await;
                Ok(Look::Postgres(look.map_err(|error| other("not-opened", &error))?))
            }
        }
    }

    /// Fills it; it must be empty.
    ///
    /// # Errors
    /// Why it was not filled; it is as it was.
    pub async fn import(
        &self,
        from: &mut dyn ArchiveSource,
    ) -> Result<ImportedStore, ArchiveError> {
        let place = self.place().map_err(|error| ArchiveError::Place(error.to_string()))?;
        match place {
            Where::Sqlite(dir) => {
                Ok(ImportedStore::Sqlite(SqliteImport::from_source(&dir, from).await?))
            }
            Where::Postgres(config) => {
                let surroundings = Surroundings::system();
                let filled = PostgresImport::from_source(&config, &surroundings, from).await?;
                Ok(ImportedStore::Postgres(filled))
            }
        }
    }

    /// For writing. No host may run on a data directory; beside hosts on a database it is one more.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub async fn open(&self) -> Result<Arc<dyn Store>, CliError> {
        let (surroundings, hub) = (Surroundings::system(), Arc::new(Hub::default()));
        match self.place()? {
            Where::Sqlite(dir) => {
                // Nothing is made by looking in the wrong place.
                self.look().await?.close().await;
                let config = SqliteConfig::new(dir);
                let opened = SqliteStore::open(config, Config::default(), surroundings, hub).await;
                Ok(opened.map_err(|error| refused(&error))?)
            }
            Where::Postgres(config) => {
                let opened =
                    PostgresStore::open(config, Config::default(), surroundings, hub).await;
                Ok(opened.map_err(|error| other("not-opened", &error))?)
            }
        }
    }

    fn place(&self) -> Result<Where, CliError> {
        let store = match (&self.store, &self.data) {
            (Some(store), _) => store.as_str(),
            (None, Some(dir)) => return Ok(Where::Sqlite(dir.clone())),
            (None, None) => "segno-data",
        };
        if store.starts_with("postgres://") || store.starts_with("postgresql://") {
            let config = PostgresConfig::new(store);
            return Ok(Where::Postgres(
                config.map_err(|error| CliError::Usage(error.to_string()))?,
            ));
        }
        let dir = store.strip_prefix("sqlite:").unwrap_or(store);
        Ok(Where::Sqlite(Path::new(dir.strip_prefix("//").unwrap_or(dir)).to_owned()))
    }
}

impl ImportedStore {
    /// What has arrived.
    pub fn scan(&self) -> &dyn Scan {
        match self {
            Self::Sqlite(import) => import.scan(),
            Self::Postgres(import) => import,
        }
    }

    /// Keeps it.
    ///
    /// # Errors
    /// The disk or the database failed; nothing is kept.
    pub async fn keep(self) -> Result<(), ArchiveError> {
        match self {
            Self::Sqlite(import) => import.keep().await,
            Self::Postgres(import) => import.keep().await,
        }
    }
}

impl Look {
    /// What is in it.
    pub fn scan(&self) -> &dyn Scan {
        match self {
            Self::Sqlite(look) => look.scan(),
            Self::Postgres(look) => look.scan(),
        }
    }

    /// Ends looking.
    pub async fn close(self) {
        match self {
            Self::Sqlite(look) => look.close().await,
            Self::Postgres(look) => look.close().await,
        }
    }
}

fn refused(error: &OpenError) -> CliError {
    let code = match error {
        OpenError::InUse { .. } => "in-use",
        OpenError::Nothing { .. } => "no-store",
        _ => "not-opened",
    };
    other(code, error)
}
