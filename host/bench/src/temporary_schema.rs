//! A schema of a PostgreSQL database for one run of a scenario.

use std::fs;

use anyhow::Context as _;
use segno_store::postgres::PostgresConfig;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use super::{context::BenchContext, measure};

/// A temporary schema for this run.
pub(super) struct TemporarySchema {
    /// The database address with this schema.
    pub address: String,
    pub name: String,
    owner: PgConnection,
}

impl TemporarySchema {
    /// Creates a schema in the database of `--postgres`, the first one if there are several.
    ///
    /// # Errors
    /// Fails if no database is named or none answers, or the role may not create a schema.
    pub(super) async fn new(context: &BenchContext) -> anyhow::Result<Self> {
        Self::at(context, 0).await
    }

    /// Creates a schema in the database at this place of `--postgres`, whose addresses are taken in
    /// turn.
    ///
    /// # Errors
    /// As [`TemporarySchema::new`].
    pub(super) async fn at(context: &BenchContext, place: usize) -> anyhow::Result<Self> {
        let addresses = context.postgres.as_deref().unwrap_or_default().split_whitespace();
        let address = addresses.clone().cycle().nth(place);
        let address = address.context("say which database with --postgres")?;
        let name = format!("segno_bench_{:x}", context.env.runtime.nonce());
        // Parsed first: the address may contain a password, which no error message may show.
        let shown = PostgresConfig::new(address)?.shown().to_owned();
        let connected = PgConnection::connect(address).await;
        let mut owner = connected.with_context(|| format!("no database answers at {shown}"))?;
        owner
            .execute(AssertSqlSafe(format!(
                "CREATE SCHEMA {name}; CREATE TABLE {name}.single_rows (n BIGSERIAL PRIMARY KEY, record BYTEA); \
                 CREATE TABLE {name}.shared_rows (journal BIGINT, at BIGINT, record BYTEA, PRIMARY KEY (journal, at))"
            )))
            .await
            .context("no schema can be made for the benchmark")?;
        let sign = if address.contains('?') { '&' } else { '?' };
        Ok(Self { address: format!("{address}{sign}options[search_path]={name}"), name, owner })
    }

    /// The sync settings of the database: if commits do not wait for the disk, all figures have a
    /// different meaning.
    pub(super) async fn commits(&mut self) -> anyhow::Result<String> {
        let row = self.owner.fetch_one(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('server_version')",
        );
        let row = row.await.context("cannot read the settings of the database")?;
        let (fsync, waits, version): (String, String, String) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let durable = match fsync == "on" && waits != "off" {
            true => "commits are on the disk when they are answered",
            false => {
                "commits do NOT wait for the disk, so these figures say nothing of a real database"
            }
        };
        Ok(format!("PostgreSQL {version}, fsync {fsync}, synchronous_commit {waits}: {durable}"))
    }

    /// CPU time of the processes of the server so far, in microseconds, without those that have
    /// ended. `None` if it runs on another machine, or does not tell: the figure is then left out.
    pub(super) async fn server_cpu_us(&mut self) -> Option<f64> {
        let rows = self.owner.fetch_all("SELECT pid FROM pg_stat_activity").await.ok()?;
        let pids = rows.iter().filter_map(|row| u32::try_from(row.try_get::<i32, _>(0).ok()?).ok());
        let is_server = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with("postgres"))
        };
        let spent: Vec<f64> =
            pids.filter(is_server).filter_map(|pid| measure::cpu_of_us(pid).ok()).collect();
        (!spent.is_empty()).then(|| spent.iter().sum())
    }

    /// Removes the schema and everything in it.
    ///
    /// # Errors
    /// Fails if the database refuses it.
    pub(super) async fn drop(mut self) -> anyhow::Result<()> {
        let statement = format!("DROP SCHEMA {} CASCADE", self.name);
        self.owner.execute(AssertSqlSafe(statement)).await.context("the schema stays behind")?;
        Ok(())
    }
}
