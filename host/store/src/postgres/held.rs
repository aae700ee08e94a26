//! A connection that one task keeps for a long time.

use std::time::Duration;

use segno_core::time::Millis;
use sqlx::{Connection as _, PgConnection};

use super::{
    config::SessionSettings,
    database_settings::LateSettings,
    primary::{MAX_AGE, Primary},
};
use crate::sql::SqlFailure;

/// Time limit for connecting.
const CONNECT_TIMEOUT: Millis = Millis(3_000);

/// A connection to the primary, valid while it is current.
pub(super) struct PrimaryConnection {
    pub(super) connection: PgConnection,
    /// The epoch in which the connection was made.
    pub(super) epoch: u64,
    made_at: Duration,
}

impl PrimaryConnection {
    /// Connects to the primary: to the server where it was last, or else to the next ones of the
    /// address.
    ///
    /// # Errors
    /// Fails if no server answers in time, or if none is the primary.
    pub(super) async fn open(
        settings: &LateSettings,
        primary: &Primary,
    ) -> Result<Self, SqlFailure> {
        primary.check_admitted()?;
        let last = primary.server();
        let mut refused = None;
        for server in (0..settings.servers().len()).map(|step| last + step) {
            match Self::open_at(settings, primary, server).await {
                Ok(open) => return Ok(open),
                Err(error) => drop(refused.get_or_insert(error)),
            }
        }
        Err(refused.unwrap_or(SqlFailure::Driver(sqlx::Error::PoolTimedOut)))
    }

    async fn open_at(
        settings: &SessionSettings,
        primary: &Primary,
        server: usize,
    ) -> Result<Self, SqlFailure> {
        let env = primary.env();
        let connecting = PgConnection::connect_with(settings.server(server));
        let connected = env.within(CONNECT_TIMEOUT, connecting).await;
        let mut connection = connected.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        let examined = primary.examine(&mut connection).await?;
        let epoch = primary.is_at(server % settings.servers().len()).unwrap_or(examined);
        Ok(Self { connection, epoch, made_at: env.clock.elapsed() })
    }

    /// True if the connection belongs to the current epoch and has not reached its maximum age.
    pub(super) fn is_current(&self, primary: &Primary) -> bool {
        let age = primary.env().clock.elapsed().saturating_sub(self.made_at);
        self.epoch == primary.epoch() && age < Duration::from_millis(MAX_AGE.0.unsigned_abs())
    }
}
