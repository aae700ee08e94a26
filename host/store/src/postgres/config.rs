//! Configuration of the PostgreSQL store: address and use of the database.

use std::fmt;

use segno_core::time::Millis;
use sqlx::{ConnectOptions as _, postgres::PgConnectOptions};

use super::address::{PostgresAddressError, ServerAddress, without_password};

/// Time limit of a statement. Statements take milliseconds; one that takes this long is stuck.
const STATEMENT_TIMEOUT: &str = "20s";
/// Time limit of an idle transaction: a host that stalls in the middle of one must not block the
/// others.
const IDLE_TIMEOUT: &str = "5s";

/// Settings of every connection.
const SETTINGS: [(&str, &str); 5] = [
    ("statement_timeout", STATEMENT_TIMEOUT),
    ("lock_timeout", STATEMENT_TIMEOUT),
    ("idle_in_transaction_session_timeout", IDLE_TIMEOUT),
    ("client_min_messages", "warning"),
    ("jit", "off"),
];

/// Settings of a connection that leads to the server itself.
const KEEPALIVES: [(&str, &str); 3] = [
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
];

/// Settings of connections whose statements find their rows by an index.
const BY_INDEX: [(&str, &str); 3] =
    [("enable_seqscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off")];

/// Address of the database, and this host's share of its resources.
#[derive(Clone)]
pub struct PostgresConfig {
    address: Box<ServerAddress>,
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
    /// Maximum time for which opening waits for a server that takes writes.
    pub start_wait: Millis,
    /// True if a store of several databases may be opened while this one is away.
    pub may_be_late: bool,
}

/// The settings of the connections for one purpose.
#[derive(Debug, Clone)]
pub(super) struct SessionSettings {
    /// The options of a connection to each server of the address; never empty.
    servers: Vec<PgConnectOptions>,
    /// The statement that makes the settings for one transaction; `None` if sessions have them
    /// from the start.
    local: Option<String>,
}

impl SessionSettings {
    /// The options of each server, in the order of the address.
    pub(super) fn servers(&self) -> &[PgConnectOptions] {
        &self.servers
    }

    /// The options of a server, by its place in the address.
    pub(super) fn server(&self, place: usize) -> &PgConnectOptions {
        &self.servers[place % self.servers.len()]
    }

    /// True if a pooler lends a session to each transaction.
    pub(super) fn is_lent(&self) -> bool {
        self.local.is_some()
    }

    /// The statements that begin a transaction, `begin` first; `None` if `begin` is all.
    pub(super) fn beginning(&self, begin: &str) -> Option<String> {
        self.local.as_ref().map(|local| format!("{begin}; {local}"))
    }
}

impl PostgresConfig {
    /// Configuration for the database at `address`, such as
    /// `postgres://segno@db.example.com/segno`.
    ///
    /// # Errors
    /// [`PostgresAddressError`], which shows the address without the password.
    pub fn new(address: &str) -> Result<Self, PostgresAddressError> {
        Ok(Self {
            address: Box::new(ServerAddress::of(address)?),
            shown: without_password(address),
            notify: true,
            writers: 8,
            readers: 8,
            server_time: true,
            spread: true,
            start_wait: Millis::ZERO,
            may_be_late: false,
        })
    }

    /// The address without its password.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// True if a pooler lends a session to each transaction, so that nothing of a session lasts.
    /// `None` until the database is opened, which finds out ([`super::pooler`]).
    pub(super) fn pooled(&self) -> Option<bool> {
        self.address.pooled
    }

    /// Records the answer.
    pub(super) fn set_pooled(&mut self, pooled: bool) {
        self.address.pooled = Some(pooled);
    }

    /// Adds a setting of sessions to those of the address.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.address.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Settings shared by all connections.
    pub(super) fn connection(&self, purpose: &str) -> SessionSettings {
        self.settings(purpose, &[])
    }

    /// Settings of a start, without time limits: for creating tables, and for waiting for another
    /// host that creates them.
    pub(super) fn start(&self) -> SessionSettings {
        self.settings("start", &[("statement_timeout", "0"), ("lock_timeout", "0")])
    }

    /// Settings for reads by API clients: short statement limits, and a new plan for every
    /// statement, fitted to the requested part of the table.
    pub(super) fn clients(&self, limit: Millis) -> SessionSettings {
        let limit = format!("{}ms", limit.0);
        let limits = [("statement_timeout", limit.as_str()), ("lock_timeout", limit.as_str())];
        let plans = [("plan_cache_mode", "force_custom_plan")];
        self.settings("clients", &[&limits[..], &plans, &BY_INDEX].concat())
    }

    /// Settings for the writer. Every writer statement names the rows it needs and has an index for
    /// them, so plans are made once and never scan a whole table: statistics cannot mislead the
    /// planner.
    pub(super) fn writer(&self) -> SessionSettings {
        let plans = [("plan_cache_mode", "force_generic_plan")];
        self.settings("writer", &[&plans[..], &BY_INDEX].concat())
    }

    /// The settings of the address, those of every connection, and then `more`.
    fn settings(&self, purpose: &str, more: &[(&str, &str)]) -> SessionSettings {
        let name = format!("segno {purpose}");
        let own = self.address.settings.iter().map(|(name, value)| (&**name, &**value));
        let settings: Vec<(&str, &str)> = own.chain(SETTINGS).chain(more.iter().copied()).collect();
        let is_pooled = self.pooled() == Some(true);
        let servers = self.address.servers.iter().map(|server| {
            let server = server.clone().application_name(&name).disable_statement_logging();
            match is_pooled {
                // Poolers refuse settings at the start of a session, also harmless ones.
                true => server.extra_float_digits(None),
                false => {
                    let all = settings.iter().copied().chain(KEEPALIVES);
                    server.statement_cache_capacity(512).options(all)
                }
            }
        });
        let local = is_pooled.then(|| {
            // Unlike `SET LOCAL`, it takes a list in one text, as an option does.
            let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
            let set = |(name, value): &(&str, &str)| {
                format!("set_config({}, {}, true)", quoted(name), quoted(value))
            };
            format!("SELECT {}", settings.iter().map(set).collect::<Vec<_>>().join(", "))
        });
        SessionSettings { servers: servers.collect(), local }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_shown_without_its_password() {
        let config = PostgresConfig::new("postgres://segno:secret@db/segno").expect("an address");
        assert!(!format!("{config:?} {}", config.shown()).contains("secret"));
    }

    #[test]
    fn a_pooler_gets_no_options_and_every_transaction_sets_them() {
        let address = "postgres://segno@db/segno?options[search_path]=it's&pgbouncer=true";
        let mut config = PostgresConfig::new(address).expect("an address");
        let writer = config.writer();
        assert_eq!(writer.server(0).get_options(), None);
        let begin = writer.beginning("BEGIN").expect("it sets more");
        assert!(
            begin
                .starts_with("BEGIN; SELECT set_config('search_path', 'it''s', true), set_config("),
            "{begin}"
        );
        assert!(begin.contains("'plan_cache_mode', 'force_generic_plan', true)"), "{begin}");
        config.set_pooled(false);
        let writer = config.writer();
        assert_eq!(writer.beginning("BEGIN"), None);
        let options = writer.server(0).get_options().expect("options");
        assert!(options.contains("-c search_path=it's"), "{options}");
    }
}
