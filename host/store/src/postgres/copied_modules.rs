//! Modules and aliases, of which every database of a store has a copy.

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

/// Copies the modules and aliases of the first database to those that do not have them.
pub(super) async fn copy_modules(
    databases: &[(PostgresConfig, OpenedDatabase)],
) -> Result<(), PostgresOpenError> {
    let Some(((first, opened), others)) = databases.split_first() else { return Ok(()) };
    let mut source = shard_row::connect(first, opened).await?;
    for (config, opened) in others {
        let mut target = shard_row::connect(config, opened).await?;
        let mut reading = shard_row::begin(&mut source, first).await?;
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
