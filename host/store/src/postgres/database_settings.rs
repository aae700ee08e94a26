//! The settings of the connections to a database, which are known when it has been opened.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use super::{
    config::{PostgresConfig, SessionSettings},
    open::OpenedDatabase,
};
use crate::limits;

/// The settings of the connections to a database, for each purpose.
#[derive(Debug, Default)]
pub(super) struct DatabaseSettings {
    pub(super) writer: LateSettings,
    pub(super) reader: LateSettings,
    pub(super) clients: LateSettings,
    pub(super) listener: LateSettings,
    pub(super) messenger: LateSettings,
    /// The channel of the notifications between hosts.
    channel: OnceLock<String>,
}

/// Settings that are known later than the parts of a host that use them. Copies share them. Only a
/// connection that [`Primary`](super::primary::Primary) has admitted needs them.
#[derive(Debug, Clone, Default)]
pub(super) struct LateSettings(Arc<OnceLock<SessionSettings>>);

impl DatabaseSettings {
    /// The settings of a database that has been opened.
    pub(super) fn of(config: &PostgresConfig, opened: &OpenedDatabase) -> Self {
        let settings = Self::default();
        settings.set(config, opened);
        settings
    }

    /// Sets them, once.
    pub(super) fn set(&self, config: &PostgresConfig, opened: &OpenedDatabase) {
        self.writer.set(config.writer());
        self.reader.set(config.connection("reader"));
        self.clients.set(config.clients(limits::CLIENT_READ));
        self.listener.set(config.connection("listener"));
        self.messenger.set(config.connection("messenger"));
        self.channel.get_or_init(|| channel(&opened.schema));
    }

    pub(super) fn channel(&self) -> &str {
        self.channel.get().expect(OPENED)
    }
}

impl LateSettings {
    fn set(&self, settings: SessionSettings) {
        self.0.get_or_init(|| settings);
    }

    /// The settings, if the database has been opened.
    pub(super) fn get(&self) -> Option<&SessionSettings> {
        self.0.get()
    }
}

const OPENED: &str = "no connection is made before the database has been opened";

impl Deref for LateSettings {
    type Target = SessionSettings;

    fn deref(&self) -> &SessionSettings {
        self.get().expect(OPENED)
    }
}

impl From<SessionSettings> for LateSettings {
    fn from(settings: SessionSettings) -> Self {
        Self(Arc::new(OnceLock::from(settings)))
    }
}

/// The channel of a schema. PostgreSQL allows names of up to 63 bytes.
fn channel(schema: &str) -> String {
    let name: String =
        schema.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("segno_{}", &name[..name.len().min(50)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_named_after_its_schema() {
        assert_eq!(channel("public"), "segno_public");
        assert_eq!(channel("a\"; DROP"), "segno_a___DROP");
        assert!(channel(&"x".repeat(200)).len() < 64);
    }
}
