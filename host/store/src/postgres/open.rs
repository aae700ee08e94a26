//! Opens a database: checks that it is reachable, usable and a segno database, and migrates it to
//! the current format.

use std::{borrow::Cow, fmt};

use segno_core::time::{Millis, Timestamp};
use segno_env::Env;
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _, SqlSafeStr as _,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::{config::PostgresConfig, failure, pooler, statement::query};
use crate::{
    error::BoxError,
    sql::{SqlFailure, table},
};

/// Reason why a database could not be opened. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum PostgresOpenError {
    /// No server answers at the address.
    #[error("no database answers at {address}: check the address and that it runs ({reason})")]
    Unreachable {
        /// The address without the password.
        address: String,
        /// The error of the connection attempt.
        reason: String,
    },
    /// The server rejects the role or its password.
    #[error("{address} refuses this user: check the role and its password ({reason})")]
    Credentials {
        address: String,
        /// PostgreSQL's error message.
        reason: String,
    },
    /// The database does not exist.
    #[error(
        "there is no such database at {address}: make it with createdb, or choose another ({reason})"
    )]
    NoDatabase {
        address: String,
        /// PostgreSQL's error message.
        reason: String,
    },
    /// The database is read-only.
    #[error(
        "{address} is read-only: a standby, or default_transaction_read_only is on; choose the primary"
    )]
    ReadOnly {
        /// The address without the password.
        address: String,
    },
    /// The role lacks privileges.
    #[error(
        "the role may not use the tables at {address} ({reason}): let it create them in its schema, or grant it \
         SELECT, INSERT, UPDATE and DELETE on them and USAGE on the sequence"
    )]
    Privileges {
        address: String,
        /// PostgreSQL's error message.
        reason: String,
    },
    /// The search path has no schema in which tables can be created.
    #[error(
        "the search path at {address} has no schema to make tables in: create the schema first ({reason})"
    )]
    NoSchema {
        address: String,
        /// PostgreSQL's error message.
        reason: String,
    },
    /// The tables belong to another program.
    #[error("the tables at {address} are another program's: choose another database or schema")]
    NotOurs {
        /// The address without the password.
        address: String,
    },
    /// The tables were created by a newer version of segno.
    #[error(
        "{address} has format {found}, and this segno knows formats up to {known}: use a newer segno"
    )]
    Newer {
        address: String,
        /// The format found.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// The tables were created by another build of the same format.
    #[error(
        "{address} has a format {format} unlike this segno's: it was made by an unreleased build"
    )]
    Unlike {
        address: String,
        /// Number of the migration that differs.
        format: i64,
    },
    /// PostgreSQL is too old.
    #[error(
        "PostgreSQL at {address} is version {found}, and at least version {OLDEST} is needed: upgrade it, or choose \
         another server"
    )]
    TooOld {
        address: String,
        /// The server's major version.
        found: i32,
    },
    /// The databases are not those of one store.
    #[error("{reason}")]
    Shards {
        /// What is wrong with them, and what to do.
        reason: String,
    },
    /// Any other error of PostgreSQL.
    #[error("the database at {address} cannot be opened")]
    Database {
        address: String,
        /// PostgreSQL's error.
        #[source]
        source: BoxError,
    },
}

impl PostgresOpenError {
    /// True if the cause may pass: no server answers, or none takes writes, as during a failover.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::ReadOnly { .. })
    }
}

/// The oldest supported major version of PostgreSQL.
const OLDEST: i32 = 13;

/// Time limit for connecting.
const CONNECT_TIMEOUT: Millis = Millis(10_000);
/// Pause before servers are tried again that are away or take no writes.
const RETRY: Millis = Millis(500);

/// Clock difference above which a warning is logged.
const SKEW: Millis = Millis(5_000);

/// All migrations, by number; never edited once released.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "engine", include_str!("../../migrations/postgres/0001_engine.sql")),
    (2, "readers", include_str!("../../migrations/postgres/0002_readers.sql")),
    (3, "schedules", include_str!("../../migrations/postgres/0003_schedules.sql")),
    (4, "resources, sagas", include_str!("../../migrations/postgres/0004_resources_sagas.sql")),
    (5, "branches", include_str!("../../migrations/postgres/0005_branches.sql")),
    (6, "retention", include_str!("../../migrations/postgres/0006_retention.sql")),
    (7, "lineage", include_str!("../../migrations/postgres/0007_lineage.sql")),
    (8, "keys", include_str!("../../migrations/postgres/0008_keys.sql")),
    (9, "recent", include_str!("../../migrations/postgres/0009_recent.sql")),
    (10, "first version", include_str!("../../migrations/postgres/0010_first_version.sql")),
    (11, "graph nodes", include_str!("../../migrations/postgres/0011_graph_nodes.sql")),
    (12, "objects", include_str!("../../migrations/postgres/0012_objects.sql")),
    (13, "limits", include_str!("../../migrations/postgres/0013_limits.sql")),
    (14, "runs", include_str!("../../migrations/postgres/0014_runs.sql")),
    (17, "counts of trees", include_str!("../../migrations/postgres/0017_tree_counts.sql")),
    (19, "zones", include_str!("../../migrations/postgres/0019_zones.sql")),
    (22, "graph facts", include_str!("../../migrations/postgres/0022_graph_facts.sql")),
    (23, "claims of facts", include_str!("../../migrations/postgres/0023_claims_of_facts.sql")),
    (24, "runtimes", include_str!("../../migrations/postgres/0024_runtimes.sql")),
    (25, "streams", include_str!("../../migrations/postgres/0025_streams.sql")),
    (26, "stamps", include_str!("../../migrations/postgres/0026_stamps.sql")),
    (27, "large values", include_str!("../../migrations/postgres/0027_large_values.sql")),
    (28, "budgets", include_str!("../../migrations/postgres/0028_budgets.sql")),
    (29, "databases", include_str!("../../migrations/postgres/0029_databases.sql")),
];

/// Serialises hosts that migrate together. The first migration of an empty database makes the
/// table: hosts that do so at the same time meet at its name instead, and all but one are refused.
const ONE_BY_ONE: &str = "SELECT FROM _sqlx_migrations ORDER BY version LIMIT 1 FOR UPDATE";

/// SQLSTATEs of a lost race for the tables: a row, table or other object that exists since, a
/// serialization failure, a deadlock, a row that was changed concurrently.
const RACES: [&str; 6] = ["23505", "42P07", "42710", "40001", "40P01", "XX000"];
/// Number of attempts at a start that loses such races, and the pause before each.
const ATTEMPTS: u32 = 100;
const REST: Millis = Millis(100);

/// A statement that waited sees what the other transaction committed, whatever the default.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// The first query on a database. The comment on the table `hosts` identifies a database of segno.
const LOOK: &str = "
    SELECT current_setting('server_version_num')::int / 10000,
           pg_is_in_recovery() OR current_setting('transaction_read_only')::bool,
           to_regclass('_sqlx_migrations') IS NOT NULL,
           to_regclass('promises') IS NOT NULL OR to_regclass('tasks') IS NOT NULL OR to_regclass('journal') IS NOT NULL,
           coalesce(obj_description(to_regclass('hosts'), 'pg_class'), '') LIKE 'Segno:%',
           (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
           coalesce(current_schema(), '')";

/// The tables whose rows belong to no promise.
const GLOBALS: [&str; 7] =
    ["hosts", "modules", "aliases", "first_version", "shards", "crossings", "decisions"];

/// The tables, of those listed, for which this role lacks a privilege.
const PRIVILEGES: &str = "
    SELECT coalesce(string_agg(tables.name, ', '), '')
      FROM unnest(string_to_array($1, ' ')) AS tables (name)
     WHERE NOT (has_table_privilege(tables.name, 'SELECT') AND has_table_privilege(tables.name, 'INSERT')
                AND has_table_privilege(tables.name, 'UPDATE') AND has_table_privilege(tables.name, 'DELETE'))";

/// Result of opening a database.
#[derive(Debug, Clone)]
pub(super) struct OpenedDatabase {
    /// The schema with the tables.
    pub(super) schema: String,
    /// The server's time.
    pub(super) now: Timestamp,
    /// The place of the server in the address.
    pub(super) server: usize,
}

/// Reason why an attempt to open a database ended.
enum FailedAttempt {
    /// Another host was faster: a further attempt helps.
    Raced(PostgresOpenError),
    Refused(PostgresOpenError),
}

impl From<PostgresOpenError> for FailedAttempt {
    fn from(refused: PostgresOpenError) -> Self {
        Self::Refused(refused)
    }
}

/// Checks the database and migrates it to the current format. Records in `config` if a pooler is
/// in front of it. Of several servers, opens the first one that takes writes, and waits for one if
/// there is none.
pub(super) async fn open(
    config: &mut PostgresConfig,
    env: &Env,
) -> Result<OpenedDatabase, PostgresOpenError> {
    let began = env.clock.now();
    let mut is_told = false;
    loop {
        let refused = match open_once(config, env).await {
            Ok(opened) => return Ok(opened),
            Err(refused) => refused,
        };
        if !refused.may_pass() || env.clock.now().since(began) >= config.start_wait {
            return Err(refused);
        }
        if !is_told {
            let seconds = config.start_wait.0 / 1_000;
            tracing::warn!("{refused}; it is asked again for {seconds} s (--store-wait)");
            is_told = true;
        }
        env.runtime.sleep(RETRY).await;
    }
}

/// Like [`open`], without waiting.
pub(super) async fn open_once(
    config: &mut PostgresConfig,
    env: &Env,
) -> Result<OpenedDatabase, PostgresOpenError> {
    let mut refused = Vec::new();
    for server in 0..config.start().servers().len() {
        match open_at(config, env, server).await {
            Ok(opened) => {
                if config.server_time
                    && let Some(skew) = ClockSkew::between(env.clock.now(), opened.now)
                {
                    tracing::warn!("{skew}");
                }
                return Ok(opened);
            }
            // A standby may not have the database yet.
            Err(error) => refused.push(error),
        }
    }
    let telling = refused.iter().position(|error| !error.may_pass()).unwrap_or(0);
    Err(refused.swap_remove(telling))
}

async fn open_at(
    config: &mut PostgresConfig,
    env: &Env,
    server: usize,
) -> Result<OpenedDatabase, PostgresOpenError> {
    let address = config.shown().to_owned();
    let mut attempts = 0;
    loop {
        let connecting = pooler::connect(config, server);
        let mut connection = match env.within(CONNECT_TIMEOUT, connecting).await {
            Some(connected) => connected.map_err(|source| explain(&address, source))?,
            None => {
                let reason = format!("no answer in {} s", CONNECT_TIMEOUT.0 / 1_000);
                return Err(PostgresOpenError::Unreachable { address, reason });
            }
        };
        let opened = prepare(&mut connection, config, &address, server).await;
        // The result stands, however the connection ends.
        let _ = connection.close().await;
        attempts += 1;
        match opened {
            Ok(opened) => return Ok(opened),
            Err(FailedAttempt::Raced(_)) if attempts < ATTEMPTS => {
                env.runtime.sleep(REST).await;
            }
            Err(FailedAttempt::Raced(error) | FailedAttempt::Refused(error)) => return Err(error),
        }
    }
}

/// A clock difference large enough to warn about.
#[derive(Debug)]
pub(crate) struct ClockSkew {
    /// Time by which this machine's clock is behind.
    behind: Millis,
}

impl ClockSkew {
    /// The difference between this machine and the database; `None` if it is too small to warn
    /// about.
    pub(crate) fn between(here: Timestamp, there: Timestamp) -> Option<Self> {
        // Not `since`, which is never negative: this machine may be ahead.
        let behind = Millis(there.0.saturating_sub(here.0));
        (behind.0.saturating_abs() > SKEW.0).then_some(Self { behind })
    }
}

impl fmt::Display for ClockSkew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.behind > Millis::ZERO { "behind" } else { "ahead of" };
        let seconds = self.behind.0.saturating_abs() as f64 / 1e3;
        write!(
            f,
            "this machine's clock is {seconds:.1} s {side} the database's, which counts for all hosts: set it right, \
             by NTP for example, or log lines and the times that clients name will not fit what the host does"
        )
    }
}

/// Checks that the server's version is supported.
pub(crate) fn check_version(address: &str, found: i32) -> Result<(), PostgresOpenError> {
    match found < OLDEST {
        true => Err(PostgresOpenError::TooOld { address: address.to_owned(), found }),
        false => Ok(()),
    }
}

/// Looks at the database and migrates it, in one transaction: no host sees half-created tables.
async fn prepare(
    connection: &mut PgConnection,
    config: &PostgresConfig,
    address: &str,
    server: usize,
) -> Result<OpenedDatabase, FailedAttempt> {
    let explained = |source| attempt(address, source);
    let begin = config.start().beginning(BEGIN).unwrap_or_else(|| BEGIN.to_owned());
    let begun = connection.begin_with(AssertSqlSafe(begin)).await;
    let mut transaction = begun.map_err(explained)?;
    // Migrations are prepared by name: not beside what others left, and nothing is left for others.
    let forget = config.start().is_lent().then_some("DEALLOCATE ALL");
    if let Some(forget) = forget {
        transaction.execute(forget).await.map_err(explained)?;
    }
    let row = transaction.fetch_one(LOOK).await.map_err(explained)?;
    let version: i32 = row.try_get(0).map_err(explained)?;
    let flag = |column: usize| row.try_get::<bool, _>(column).map_err(explained);
    let (read_only, migrated, taken, ours) = (flag(1)?, flag(2)?, flag(3)?, flag(4)?);
    let opened = OpenedDatabase {
        now: Timestamp(row.try_get(5).map_err(explained)?),
        schema: row.try_get(6).map_err(explained)?,
        server,
    };
    let owned = || address.to_owned();
    check_version(address, version)?;
    if read_only {
        return Err(PostgresOpenError::ReadOnly { address: owned() }.into());
    }
    if !ours && (migrated || taken) {
        return Err(PostgresOpenError::NotOurs { address: owned() }.into());
    }
    if !ours || !is_todays(&mut transaction).await.map_err(explained)? {
        if ours {
            transaction.execute(ONE_BY_ONE).await.map_err(explained)?;
        }
        migrate(&mut transaction, address).await?;
    }
    let tables = table::all().chain(GLOBALS).collect::<Vec<_>>().join(" ");
    let question = query(&transaction, PRIVILEGES).bind(tables);
    let row = transaction.fetch_one(question).await;
    let lacking: String = row.and_then(|row| row.try_get(0)).map_err(explained)?;
    if !lacking.is_empty() {
        let reason = format!("something is missing on {lacking}");
        return Err(PostgresOpenError::Privileges { address: owned(), reason }.into());
    }
    if let Some(forget) = forget {
        transaction.execute(forget).await.map_err(explained)?;
    }
    transaction.commit().await.map_err(explained)?;
    Ok(opened)
}

/// True if all migrations are applied: then a role without the right to create tables suffices.
async fn is_todays(transaction: &mut PgConnection) -> Result<bool, sqlx::Error> {
    // A role may not read them; the transaction goes on.
    let mut looking = transaction.begin().await?;
    let applied = looking
        .fetch_all("SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version")
        .await
        .unwrap_or_default();
    looking.rollback().await?;
    let applied: Vec<(i64, Vec<u8>)> = applied
        .iter()
        .filter_map(|row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?)))
        .collect();
    let known = migrator();
    let known = known.iter().map(|migration| (migration.version, migration.checksum.to_vec()));
    Ok(applied == known.collect::<Vec<_>>())
}

async fn migrate(connection: &mut PgConnection, address: &str) -> Result<(), FailedAttempt> {
    let known = MIGRATIONS.iter().map(|(number, ..)| *number).max().unwrap_or_default();
    let owned = || address.to_owned();
    migrator().run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(found) if found > known => {
            PostgresOpenError::Newer { address: owned(), found, known }.into()
        }
        MigrateError::VersionMissing(format)
        | MigrateError::VersionMismatch(format)
        | MigrateError::Dirty(format) => {
            PostgresOpenError::Unlike { address: owned(), format }.into()
        }
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
            attempt(address, source)
        }
        other => attempt(address, sqlx::Error::from(other)),
    })
}

/// Explains an error, and tells if it is a lost race.
fn attempt(address: &str, source: sqlx::Error) -> FailedAttempt {
    let source = SqlFailure::from(source);
    let raced = failure::code(&source).is_some_and(|code| RACES.contains(&code.as_str()));
    let explained = explain(address, source);
    if raced { FailedAttempt::Raced(explained) } else { FailedAttempt::Refused(explained) }
}

/// The reason why a database cannot be opened.
pub(super) fn explain(address: &str, source: impl Into<SqlFailure>) -> PostgresOpenError {
    let (address, source) = (address.to_owned(), source.into());
    let reason = source.to_string();
    let Some(code) = failure::code(&source) else {
        return match failure::cause(&source) {
            failure::FailureClass::Away => PostgresOpenError::Unreachable { address, reason },
            _ => PostgresOpenError::Database { address, source: source.into() },
        };
    };
    match code.as_str() {
        "28000" | "28P01" => PostgresOpenError::Credentials { address, reason },
        "3D000" => PostgresOpenError::NoDatabase { address, reason },
        "25006" => PostgresOpenError::ReadOnly { address },
        "42501" => PostgresOpenError::Privileges { address, reason },
        "3F000" => PostgresOpenError::NoSchema { address, reason },
        code if code.starts_with("57P") || code.starts_with("53") => {
            PostgresOpenError::Unreachable { address, reason }
        }
        _ => PostgresOpenError::Database { address, source: source.into() },
    }
}

fn migrator() -> Migrator {
    let migrations = MIGRATIONS.iter().map(|&(number, purpose, statements)| {
        Migration::new(
            number,
            Cow::Borrowed(purpose),
            MigrationType::Simple,
            statements.into_sql_str(),
            false,
        )
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // The transaction and `ONE_BY_ONE` are enough; its own lock is one of a session.
    migrator.set_locking(false);
    migrator
}
