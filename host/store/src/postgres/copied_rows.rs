//! Modules, aliases and the incarnations of hosts, of which every database of a store has a copy.

use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use super::{
    PostgresConfig, PostgresOpenError,
    open::{OpenedDatabase, explain},
    shard_row,
};

/// The rows of modules that a database needs before tasks of it can name them.
const MODULES: &str = "
    SELECT digest, created_at, description, component, shared, limits, runs, runtime FROM modules
     WHERE digest <> ALL($1::bytea[]) ORDER BY runtime IS NOT NULL, n";

const PUT_MODULE: &str = "
    INSERT INTO modules (digest, created_at, description, component, shared, limits, runs, runtime)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";

const ALIASES: &str =
    "SELECT aliases.name, modules.digest FROM aliases JOIN modules ON modules.n = aliases.module";

const PUT_ALIAS: &str = "
    INSERT INTO aliases (name, module) SELECT $1, n FROM modules WHERE digest = $2
    ON CONFLICT DO NOTHING";

/// The incarnations of hosts. One only grows.
const HOSTS: &str = "SELECT node, incarnation FROM hosts";

const PUT_HOST: &str = "
    INSERT INTO hosts (node, incarnation) VALUES ($1, $2)
    ON CONFLICT (node) DO UPDATE SET incarnation = excluded.incarnation
     WHERE hosts.incarnation < excluded.incarnation";

/// A database that was opened.
type Opened = (PostgresConfig, OpenedDatabase);

/// Copies the modules and aliases of the first of `sources` that answers to those of `targets` that
/// do not have them.
pub(super) async fn copy_modules(
    sources: &[Opened],
    targets: &[Opened],
) -> Result<(), PostgresOpenError> {
    let (mut source, from) = first_of(sources).await?;
    for (config, opened) in targets {
        let mut target = shard_row::connect(config, opened).await?;
        let mut reading = shard_row::begin(&mut source, from).await?;
        let mut writing = shard_row::begin(&mut target, config).await?;
        let copied = copy_between(&mut reading, &mut writing).await;
        copied.map_err(|source| explain(config.shown(), source))?;
        for transaction in [reading, writing] {
            transaction.commit().await.map_err(|source| explain(config.shown(), source))?;
        }
        // The copied rows stay, however the connection ends.
        let _ = target.close().await;
    }
    let _ = source.close().await;
    Ok(())
}

/// A connection to the first database that answers.
async fn first_of(
    sources: &[Opened],
) -> Result<(PgConnection, &PostgresConfig), PostgresOpenError> {
    let mut refused = None;
    for (config, opened) in sources {
        match shard_row::connect(config, opened).await {
            Ok(connection) => return Ok((connection, config)),
            Err(error) => drop(refused.get_or_insert(error)),
        }
    }
    Err(refused.expect("a store has a database"))
}

/// Copies the incarnations of hosts of all `sources` that answer to `target`.
pub(super) async fn copy_hosts(
    sources: &[Opened],
    target: &Opened,
) -> Result<(), PostgresOpenError> {
    let (config, opened) = target;
    let failed = |source| explain(config.shown(), source);
    let mut connection = shard_row::connect(config, opened).await?;
    for (from, opened) in sources {
        let Ok(mut source) = shard_row::connect(from, opened).await else { continue };
        let mut reading = shard_row::begin(&mut source, from).await?;
        let rows = reading.fetch_all(sqlx::query(HOSTS).persistent(false)).await;
        let rows = rows.map_err(|source| explain(from.shown(), source))?;
        reading.commit().await.map_err(|source| explain(from.shown(), source))?;
        let mut writing = shard_row::begin(&mut connection, config).await?;
        for row in rows {
            let put = sqlx::query(PUT_HOST)
                .persistent(false)
                .bind(row.try_get::<String, _>(0).map_err(failed)?)
                .bind(row.try_get::<i64, _>(1).map_err(failed)?);
            writing.execute(put).await.map_err(failed)?;
        }
        writing.commit().await.map_err(failed)?;
        // The rows have been read, however the connection ends.
        let _ = source.close().await;
    }
    // The copied rows stay, however the connection ends.
    let _ = connection.close().await;
    Ok(())
}

async fn copy_between(
    source: &mut PgConnection,
    target: &mut PgConnection,
) -> Result<(), sqlx::Error> {
    let known = target.fetch_all("SELECT digest FROM modules").await?;
    let known: Vec<Vec<u8>> =
        known.iter().map(|row| row.try_get(0)).collect::<Result<_, sqlx::Error>>()?;
    for row in source.fetch_all(sqlx::query(MODULES).bind(known).persistent(false)).await? {
        let put = sqlx::query(PUT_MODULE)
            .persistent(false)
            .bind(row.try_get::<Vec<u8>, _>(0)?)
            .bind(row.try_get::<i64, _>(1)?)
            .bind(row.try_get::<String, _>(2)?)
            .bind(row.try_get::<Vec<u8>, _>(3)?)
            .bind(row.try_get::<String, _>(4)?)
            .bind(row.try_get::<String, _>(5)?)
            .bind(row.try_get::<String, _>(6)?)
            .bind(row.try_get::<Option<Vec<u8>>, _>(7)?);
        target.execute(put).await?;
    }
    for row in source.fetch_all(sqlx::query(ALIASES).persistent(false)).await? {
        let put = sqlx::query(PUT_ALIAS)
            .persistent(false)
            .bind(row.try_get::<String, _>(0)?)
            .bind(row.try_get::<Vec<u8>, _>(1)?);
        target.execute(put).await?;
    }
    Ok(())
}
