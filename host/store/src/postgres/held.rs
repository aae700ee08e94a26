//! A connection that one task keeps for a long time.

use std::time::Duration;

use segno_core::time::Millis;
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};

use super::primary::{MAX_AGE, Primary};
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
    /// # Errors
    /// Fails if no server answers in time, or if the server is not the primary.
    pub(super) async fn open(
        options: &PgConnectOptions,
        primary: &Primary,
    ) -> Result<Self, SqlFailure> {
        let env = primary.env();
        let connected = env.within(CONNECT_TIMEOUT, PgConnection::connect_with(options)).await;
        let mut connection = connected.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        let epoch = primary.examine(&mut connection).await?;
        Ok(Self { connection, epoch, made_at: env.clock.elapsed() })
    }

    /// True if the connection belongs to the current epoch and has not reached its maximum age.
    pub(super) fn is_current(&self, primary: &Primary) -> bool {
        let age = primary.env().clock.elapsed().saturating_sub(self.made_at);
        self.epoch == primary.epoch() && age < Duration::from_millis(MAX_AGE.0.unsigned_abs())
    }
}
