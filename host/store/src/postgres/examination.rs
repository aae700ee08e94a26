//! Examines the server of a user: its settings, what it knows, and if it answers the conformance
//! scripts like the model. Uses a schema of its own, which it removes.

use std::sync::Arc;

use segno_core::config::Config;
use segno_env::{Env, HandClock, SystemRuntime};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use super::{PostgresConfig, PostgresOpenError, PostgresStore, open, pooler};
use crate::{
    Store as _,
    conformance::{UnheardHints, compare_with_model},
};

/// One result of an examination.
#[derive(Debug, Clone)]
pub struct ServerFinding {
    /// Subject of the check.
    pub check: &'static str,
    pub verdict: ServerVerdict,
    /// The value found, or the reason.
    pub detail: String,
}

/// Consequence of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerVerdict {
    /// As it should be.
    Works,
    /// Not there, and not needed: `detail` says what takes its place.
    Absent,
    /// Hosts work, but something should be changed.
    Risky,
    /// Hosts cannot work.
    Fails,
}

/// Settings that are only reported.
const SETTINGS: [(&str, &str); 6] = [
    ("version", "SELECT version()"),
    ("default isolation", "SELECT current_setting('default_transaction_isolation')"),
    ("connections", "SELECT current_setting('max_connections')"),
    ("prepared transactions", "SELECT current_setting('max_prepared_transactions')"),
    ("durability of commits", "SELECT current_setting('synchronous_commit')"),
    ("durability of the log", "SELECT current_setting('fsync')"),
];

/// Abilities of a server that a host uses if they exist: the name, a statement that needs it, and
/// the behaviour of hosts without it.
const ABILITIES: [(&str, &str, &str); 3] = [
    (
        "identity",
        "SELECT system_identifier::text FROM pg_control_system()",
        "after a failover, a host only checks that the server takes writes",
    ),
    ("NOTIFY", "SELECT pg_notify('segno_doctor', '')::text", "hosts poll twice a second"),
    ("LISTEN", "LISTEN segno_doctor", "hosts poll twice a second"),
];

/// Levels at which the scripts run: that of the database, and the strictest.
const LEVELS: [(&str, Option<&str>); 2] =
    [("scripts", None), ("scripts, serializable", Some("serializable"))];

/// Seed of the scripts.
const SEED: u64 = 21;

/// Examines the server at the address of `config` with scripts of `steps` commands. `progress`
/// hears each check as it begins.
///
/// # Errors
/// [`PostgresOpenError`] if there is no such server.
pub async fn examine_server(
    mut config: PostgresConfig,
    steps: usize,
    env: &Env,
    progress: impl Fn(&str),
) -> Result<Vec<ServerFinding>, PostgresOpenError> {
    let address = config.shown().to_owned();
    let explained = |error| open::explain(&address, error);
    progress("connecting");
    let mut connection = pooler::connect(&mut config, 0).await.map_err(explained)?;
    let is_lent = config.pooled() == Some(true);
    let mut findings = Vec::new();
    for (check, question) in SETTINGS {
        let (verdict, detail) = match ask(&mut connection, question).await {
            Ok(value) if value == "off" => {
                let risk =
                    "off: a crash of the server loses commits that were answered; set it to on";
                (ServerVerdict::Risky, risk.to_owned())
            }
            Ok(value) => (ServerVerdict::Works, value),
            Err(error) => (ServerVerdict::Absent, format!("not known ({error})")),
        };
        findings.push(ServerFinding { check, verdict, detail });
    }
    findings.push(match is_lent {
        true => ServerFinding {
            check: "sessions",
            verdict: ServerVerdict::Absent,
            detail: "a pooler lends them for single transactions: nothing is prepared, hosts poll"
                .to_owned(),
        },
        false => ServerFinding {
            check: "sessions",
            verdict: ServerVerdict::Works,
            detail: "they last: statements are prepared once".to_owned(),
        },
    });
    for (check, question, otherwise) in ABILITIES {
        let finding = match ask(&mut connection, question).await {
            Ok(_) if is_lent && check == "LISTEN" => {
                (ServerVerdict::Absent, format!("not with this pooler: {otherwise}"))
            }
            Ok(_) => (ServerVerdict::Works, "used".to_owned()),
            Err(error) => (ServerVerdict::Absent, format!("{otherwise} ({error})")),
        };
        findings.push(ServerFinding { check, verdict: finding.0, detail: finding.1 });
    }
    for (check, level) in LEVELS {
        progress(check);
        let schema = format!("segno_doctor_{:x}", env.runtime.nonce());
        let made = connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).await;
        made.map_err(explained)?;
        let mut own = config.clone();
        (own.server_time, own.spread) = (false, false);
        own.set("search_path", &schema);
        if let Some(level) = level {
            own.set("default_transaction_isolation", level);
        }
        let (verdict, detail) = match run(own, steps).await {
            Ok(()) => (ServerVerdict::Works, format!("{steps} commands, answered like the model")),
            Err(reason) => (ServerVerdict::Fails, reason),
        };
        findings.push(ServerFinding { check, verdict, detail });
        let dropped = format!("DROP SCHEMA {schema} CASCADE");
        if let Err(error) = connection.execute(AssertSqlSafe(dropped)).await {
            let detail = format!("`{schema}` is left behind: drop it ({error})");
            findings.push(ServerFinding { check: "schema", verdict: ServerVerdict::Risky, detail });
        }
    }
    // The findings stand, however the connection ends.
    let _ = connection.close().await;
    Ok(findings)
}

async fn ask(connection: &mut PgConnection, question: &'static str) -> Result<String, sqlx::Error> {
    let row = connection.fetch_optional(question).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
}

/// Runs a script on a store in a schema of its own.
async fn run(config: PostgresConfig, steps: usize) -> Result<(), String> {
    let (clock, engine) = (HandClock::new(), Config::default());
    let env = Env { clock: clock.clone(), runtime: Arc::new(SystemRuntime) };
    let opened = PostgresStore::open(config, engine.clone(), env, Arc::new(UnheardHints)).await;
    let store = opened.map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
    let compared = compare_with_model(&*store, &clock, &engine, SEED, steps).await;
    store.close().await;
    compared.map_err(|difference| difference.to_string())
}
