//! Finds out whether a pooler lends the sessions of the server, one for each transaction.
//!
//! With such a pooler (PgBouncer with `pool_mode = transaction`, and those built into services)
//! nothing of a session lasts longer than a transaction: settings, prepared statements, `LISTEN`.
//! The store then works without them: every statement runs in a transaction that begins with its
//! settings ([`super::config::SessionSettings`]), no statement is prepared for later
//! ([`super::statement`]), and hosts poll in place of `LISTEN` ([`super::notify`]).

use sqlx::{Connection as _, Executor as _, PgConnection, Row as _, postgres::PgConnectOptions};

use super::config::PostgresConfig;

/// Asks which process of the server answers, and for one of the settings.
const LOOK: &str =
    "SELECT pg_backend_pid()::bigint, current_setting('idle_in_transaction_session_timeout')";

/// SQLSTATEs of statements that are not prepared any more, or that another client has prepared;
/// and of a server that speaks less than the protocol.
pub(super) const LOST_STATEMENT: [&str; 2] = ["26000", "42P05"];

/// SQLSTATEs of a refused setting at the start of a session: protocol violation (PgBouncer),
/// unknown or invalid setting, not supported.
const REFUSED_SETTING: [&str; 4] = ["08P01", "42704", "22023", "0A000"];

/// Connects to a server, and records in `config` if a pooler lends its sessions.
///
/// # Errors
/// Fails if no connection can be made.
pub(super) async fn connect(
    config: &mut PostgresConfig,
    server: usize,
) -> Result<PgConnection, sqlx::Error> {
    if config.pooled().is_none() {
        let (connection, sign) = look(config.start().server(server)).await?;
        if let Some(sign) = sign {
            tracing::info!(
                address = config.shown(),
                "a pooler lends sessions for single transactions ({sign}): settings go with each transaction, and \
                 hosts poll instead of listening; `pgbouncer=false` in the address denies it"
            );
        }
        config.set_pooled(sign.is_some());
        if let (Some(connection), None) = (connection, sign) {
            return Ok(connection);
        }
    }
    PgConnection::connect_with(config.start().server(server)).await
}

/// Looks for a sign of a pooler. Returns a connection to the server itself.
async fn look(
    options: &PgConnectOptions,
) -> Result<(Option<PgConnection>, Option<&'static str>), sqlx::Error> {
    let mut one = match PgConnection::connect_with(options).await {
        Ok(one) => one,
        Err(error) if has_code(&error, &REFUSED_SETTING) => {
            return Ok((None, Some("it refuses settings of a session")));
        }
        Err(error) => return Err(error),
    };
    let first = match process(&mut one).await {
        Ok(first) => first,
        Err(error) if has_code(&error, &LOST_STATEMENT) => return Ok((None, Some(FORGETS))),
        Err(error) => return Err(error),
    };
    let Some(first) = first else {
        return Ok((None, Some("it ignores settings of a session")));
    };
    // Two sessions at the same time, and one process of the server.
    let Ok(mut two) = PgConnection::connect_with(options).await else {
        // There may be no room for a second session.
        return Ok((Some(one), None));
    };
    let sign = match (process(&mut two).await, process(&mut one).await) {
        (Ok(Some(other)), Ok(Some(again))) if other != first && again == first => None,
        (Ok(_), Ok(_)) => Some("one process of the server answers two sessions"),
        (Err(error), _) | (_, Err(error)) if has_code(&error, &LOST_STATEMENT) => Some(FORGETS),
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    // Nothing depends on how it ends.
    let _ = two.close().await;
    Ok((Some(one), sign))
}

const FORGETS: &str = "it forgets prepared statements";

/// The process of the server that answers, asked by a prepared statement; `None` if the session
/// does not have its settings.
async fn process(connection: &mut PgConnection) -> Result<Option<i64>, sqlx::Error> {
    let row = connection.fetch_one(sqlx::query(LOOK)).await?;
    let (process, setting): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
    Ok((setting != "0").then_some(process))
}

fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| codes.contains(&&*code))
}
