//! Configuration of the PostgreSQL store: address and use of the database.

use std::{fmt, str::FromStr as _};

use segno_core::time::Millis;
use sqlx::{ConnectOptions as _, postgres::PgConnectOptions};

/// Time limit of a statement. Statements take milliseconds; one that takes this long is stuck.
const STATEMENT_TIMEOUT: &str = "20s";
/// Time limit of an idle transaction: a host that stalls in the middle of one must not block the
/// others.
const IDLE_TIMEOUT: &str = "5s";

/// Address of the database, and this host's share of its resources.
#[derive(Clone)]
pub struct PostgresConfig {
    options: Box<PgConnectOptions>,
    /// The address without its password.
    shown: String,
    /// True if hosts notify each other of commits. Otherwise they find out by polling, a little
    /// later.
    pub notify: bool,
    /// Maximum number of batches committed concurrently.
    pub writers: usize,
    /// Maximum number of connections for reads.
    pub readers: u32,
    /// True if the database's clock is used. Debuggers and tests set the time themselves.
    pub server_time: bool,
    /// True if each host visits ready tasks in its own order, so that hosts do not compete for the
    /// same tasks.
    pub spread: bool,
}

/// The address cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{shown}` is not the address of a database: write postgres://USER@HOST:PORT/DATABASE ({reason})"
)]
pub struct PostgresAddressError {
    shown: String,
    reason: String,
}

impl PostgresConfig {
    /// Configuration for the database at `address`, such as
    /// `postgres://segno@db.example.com/segno`.
    ///
    /// # Errors
    /// [`PostgresAddressError`], which shows the address without the password.
    pub fn new(address: &str) -> Result<Self, PostgresAddressError> {
        let shown = without_password(address);
        let options = PgConnectOptions::from_str(address).map_err(|error| {
            PostgresAddressError { shown: shown.clone(), reason: error.to_string() }
        })?;
        Ok(Self {
            options: Box::new(options),
            shown,
            notify: true,
            writers: 8,
            readers: 8,
            server_time: true,
            spread: true,
        })
    }

    /// The address without its password.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Connection options shared by all connections.
    pub(super) fn connection(&self, purpose: &str) -> PgConnectOptions {
        PgConnectOptions::clone(&self.options)
            .application_name(&format!("segno {purpose}"))
            .statement_cache_capacity(512)
            .options([
                ("statement_timeout", STATEMENT_TIMEOUT),
                ("lock_timeout", STATEMENT_TIMEOUT),
                ("idle_in_transaction_session_timeout", IDLE_TIMEOUT),
                ("tcp_keepalives_idle", "10"),
                ("tcp_keepalives_interval", "5"),
                ("tcp_keepalives_count", "3"),
                ("client_min_messages", "warning"),
                ("jit", "off"),
            ])
            .disable_statement_logging()
    }

    /// Connection options for reads by API clients: short statement limits, and a new plan for
    /// every statement, fitted to the requested part of the table.
    pub(super) fn clients(&self, limit: Millis) -> PgConnectOptions {
        let limit = format!("{}ms", limit.0);
        self.connection("clients").options([
            ("statement_timeout", limit.as_str()),
            ("lock_timeout", limit.as_str()),
            ("plan_cache_mode", "force_custom_plan"),
            ("enable_seqscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
        ])
    }

    /// Connection options for the writer. Every writer statement names the rows it needs and has an
    /// index for them, so plans are made once and never scan a whole table: statistics cannot
    /// mislead the planner.
    pub(super) fn writer(&self) -> PgConnectOptions {
        self.connection("writer").options([
            ("plan_cache_mode", "force_generic_plan"),
            ("enable_seqscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
        ])
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("address", &self.shown)
            .field("notify", &self.notify)
            .field("writers", &self.writers)
            .field("readers", &self.readers)
            .finish_non_exhaustive()
    }
}

/// The address without its password, which may be in front of the host or among the parameters.
fn without_password(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let rest = match rest.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => rest.to_owned(),
    };
    let parameters: Vec<&str> = parameters
        .split('&')
        .filter(|parameter| !parameter.is_empty() && !parameter.starts_with("password="))
        .collect();
    let parameters = match parameters.is_empty() {
        true => String::new(),
        false => format!("?{}", parameters.join("&")),
    };
    match scheme {
        "" => format!("{rest}{parameters}"),
        scheme => format!("{scheme}://{rest}{parameters}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (address, shown) in [
            ("postgres://segno:secret@db/segno", "postgres://segno@db/segno"),
            (
                "postgres://segno:s:e@c@db:5433/segno?sslmode=require",
                "postgres://segno@db:5433/segno?sslmode=require",
            ),
            (
                "postgres://db/segno?user=a&password=secret&host=/run",
                "postgres://db/segno?user=a&host=/run",
            ),
            ("postgres://db/segno", "postgres://db/segno"),
        ] {
            assert_eq!(without_password(address), shown);
        }
        let config = PostgresConfig::new("postgres://segno:secret@db/segno").expect("an address");
        assert!(!format!("{config:?} {}", config.shown()).contains("secret"));
        let refused = PostgresConfig::new("postgres://segno:secret@db:port/segno");
        let refused = refused.expect_err("that is no port").to_string();
        assert!(
            refused.contains("postgres://segno@db:port/segno") && !refused.contains("secret"),
            "{refused}"
        );
    }
}
