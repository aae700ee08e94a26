//! The way from the hosts to their database.

use std::{fmt, str::FromStr};

use throwaway_postgres::{Cluster, Pooler, StrictServer, Strictness};

/// What is between the hosts and PostgreSQL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DatabaseAccess {
    #[default]
    Direct,
    /// PgBouncer, which lends sessions for single transactions.
    Pooler,
    /// A server that knows less, fails a fifth of the commits, and serializes everything.
    Strict,
}

/// An open way. The way ends with it.
#[derive(Debug)]
pub enum OpenAccess {
    Direct,
    Pooler(Pooler),
    Strict(StrictServer),
}

impl DatabaseAccess {
    /// Opens the way to `cluster`. `None` if PgBouncer is not installed.
    pub fn open(self, cluster: &Cluster, database: &str) -> Option<OpenAccess> {
        Some(match self {
            Self::Direct => OpenAccess::Direct,
            Self::Pooler => {
                let few = ["default_pool_size = 8", "server_login_retry = 1"];
                OpenAccess::Pooler(Pooler::start(cluster, cluster.socket(), &few)?)
            }
            Self::Strict => {
                let level = "SET default_transaction_isolation = 'serializable'";
                cluster.sql("postgres", &format!("ALTER DATABASE {database} {level}"));
                let strictness = Strictness { keeps_sessions: false, conflicts: 20 };
                OpenAccess::Strict(StrictServer::before(cluster, strictness))
            }
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Pooler => "pooler",
            Self::Strict => "strict",
        }
    }
}

impl OpenAccess {
    /// URL of the database `name` of `cluster`.
    pub fn url(&self, cluster: &Cluster, name: &str) -> String {
        match self {
            Self::Direct => cluster.url(name),
            Self::Pooler(pooler) => pooler.url(name),
            Self::Strict(strict) => strict.url(cluster, name),
        }
    }

    /// The statements that the server refused because others would not know them.
    pub fn refused(&self) -> Vec<String> {
        match self {
            Self::Direct | Self::Pooler(_) => Vec::new(),
            Self::Strict(strict) => strict.refused(),
        }
    }
}

impl fmt::Display for DatabaseAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for DatabaseAccess {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::Direct, Self::Pooler, Self::Strict];
        let known = all.map(Self::name).join(", ");
        let found = all.into_iter().find(|access| access.name() == name);
        found.ok_or_else(|| format!("`{name}` is no way to a database; there are {known}"))
    }
}
