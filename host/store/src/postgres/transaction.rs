//! A transaction on a connection that its owner keeps.

use std::ops::{Deref, DerefMut};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Postgres, Transaction};

use super::config::SessionSettings;

/// A transaction on a session of one's own, or on one that a pooler lends for it. In the second
/// case the driver knows of it, so that [`super::statement`] prepares nothing.
pub(super) enum SessionTransaction<'a> {
    Own(&'a mut PgConnection),
    Lent(Transaction<'a, Postgres>),
}

impl<'a> SessionTransaction<'a> {
    pub(super) async fn begin(
        connection: &'a mut PgConnection,
        settings: &SessionSettings,
    ) -> Result<Self, sqlx::Error> {
        match settings.beginning("BEGIN") {
            None => {
                connection.execute("BEGIN").await?;
                Ok(Self::Own(connection))
            }
            Some(begin) => connection.begin_with(AssertSqlSafe(begin)).await.map(Self::Lent),
        }
    }

    pub(super) async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Own(connection) => connection.execute("COMMIT").await.map(drop),
            Self::Lent(transaction) => transaction.commit().await,
        }
    }

    /// Gives up the transaction after its session has prepared it.
    pub(super) async fn leave(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Lent(transaction) => transaction.rollback().await,
        }
    }

    pub(super) async fn rollback(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Own(connection) => connection.execute("ROLLBACK").await.map(drop),
            Self::Lent(transaction) => transaction.rollback().await,
        }
    }
}

impl Deref for SessionTransaction<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match self {
            Self::Own(connection) => connection,
            Self::Lent(transaction) => transaction,
        }
    }
}

impl DerefMut for SessionTransaction<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match self {
            Self::Own(connection) => connection,
            Self::Lent(transaction) => transaction,
        }
    }
}
