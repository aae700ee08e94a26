//! Tracks the primary, the server that accepts writes.
//!
//! After a failover, a host's sessions may still lead to the former primary, which is read-only by
//! then, or was isolated and does not know it. The answer has a single owner: every connection is
//! examined before use, and finding another primary raises the epoch. All users drop connections of
//! an earlier epoch: reads, batches, the listener and the notification sender.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use segno_core::time::Millis;
use segno_env::Env;
use sqlx::{Executor as _, PgConnection, Row as _, postgres::PgRow};
use tokio::sync::watch;

use super::failure::{self, FailureClass};
use crate::{StoreError, sql::SqlFailure};

/// Maximum age of a connection, so that connections follow the address when it changes.
pub(super) const MAX_AGE: Millis = Millis(300_000);
/// Time limit of an examination.
const LOOK_TIMEOUT: Millis = Millis(3_000);

/// Run outside of transactions, or at the start of read-only ones, so the session's default
/// read-only setting counts. A primary keeps its timeline; a promotion starts a new one.
const LOOK: &str = "
    SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool,
           (SELECT system_identifier FROM pg_control_system()),
           CASE WHEN NOT pg_is_in_recovery()
                THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END";

/// Like [`LOOK`], for servers that do not reveal their identity to this role.
const LOOK_UNIDENTIFIED: &str = "
    SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool, NULL::bigint, NULL::bigint";

const READ_ONLY: &str = "it is read-only at the moment: a standby, or a server that takes no writes; it is asked again \
                         until the address leads to the primary";

const WITHHELD: &str =
    "it was away when this host started, and has not answered since; it is asked every second";

/// State of the primary; see the module documentation.
pub(super) struct Primary {
    env: Env,
    /// True if a pooler lends a session to each transaction.
    is_lent: AtomicBool,
    /// True until the database has been opened: it was away when the host started.
    is_withheld: AtomicBool,
    epoch: watch::Sender<u64>,
    known: Mutex<KnownPrimary>,
}

#[derive(Debug, Default)]
struct KnownPrimary {
    /// The primary that last accepted writes when examined.
    server: Option<ServerIdentity>,
    /// The reason why the last connection was refused; cleared when a connection is accepted.
    trouble: Option<String>,
    /// True if the server does not reveal its identity to this role.
    unidentified: bool,
    /// Its place among the servers of the address.
    place: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ServerIdentity {
    /// The system identifier, which a cluster shares with its standbys.
    system: i64,
    timeline: i64,
}

/// Result of an examination.
#[derive(Debug, Clone, Copy)]
struct ServerExamination {
    read_only: bool,
    server: Option<ServerIdentity>,
}

impl Primary {
    /// Starts with the place of the primary among the servers of the address.
    pub(super) fn new(env: Env, is_lent: bool, place: usize) -> Self {
        let known = Mutex::new(KnownPrimary { place, ..KnownPrimary::default() });
        Self {
            env,
            is_lent: AtomicBool::new(is_lent),
            is_withheld: AtomicBool::new(false),
            epoch: watch::Sender::new(0),
            known,
        }
    }

    /// The primary of a database that has not been opened.
    pub(super) fn withheld(env: Env) -> Self {
        let primary = Self::new(env, false, 0);
        primary.is_withheld.store(true, Ordering::Release);
        primary
    }

    /// Records that the database has been opened, and where.
    pub(super) fn admit(&self, is_lent: bool, place: usize) {
        self.is_lent.store(is_lent, Ordering::Relaxed);
        self.known().place = place;
        self.is_withheld.store(false, Ordering::Release);
        self.epoch.send_modify(|epoch| *epoch += 1);
    }

    /// True if the database has not been opened.
    pub(super) fn is_withheld(&self) -> bool {
        self.is_withheld.load(Ordering::Acquire)
    }

    /// Checks that the database has been opened. Connections are made after that.
    ///
    /// # Errors
    /// Fails if it was away when the host started, and has not answered since.
    pub(super) fn check_admitted(&self) -> Result<(), SqlFailure> {
        match self.is_withheld() {
            true => Err(SqlFailure::NotPrimary(WITHHELD.to_owned())),
            false => Ok(()),
        }
    }

    /// Waits until the database has been opened.
    pub(super) async fn admitted(&self) {
        let mut epoch = self.epoch.subscribe();
        // `self` owns the sender, so this cannot fail.
        let _ = epoch.wait_for(|_| !self.is_withheld()).await;
    }

    /// The place of the primary among the servers of the address.
    pub(super) fn server(&self) -> usize {
        self.known().place
    }

    /// Records that the primary was found at `place`. Returns the new epoch if it was elsewhere.
    pub(super) fn is_at(&self, place: usize) -> Option<u64> {
        let mut known = self.known();
        if known.place == place {
            return None;
        }
        known.place = place;
        self.raise("another server of the address is the primary now");
        Some(self.epoch())
    }

    /// The current epoch. Connections made in an earlier epoch are dropped.
    pub(super) fn epoch(&self) -> u64 {
        *self.epoch.borrow()
    }

    /// Completes when the epoch differs from `epoch`.
    pub(super) async fn left(&self, epoch: u64) {
        // `self` owns the sender, so this cannot fail.
        let _ = self.epoch.subscribe().wait_for(|now| *now != epoch).await;
    }

    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    /// Examines the server behind a connection. Returns the epoch to which the connection belongs.
    ///
    /// # Errors
    /// Fails if the server does not answer, is read-only, or is a former primary: the connection
    /// must be dropped.
    pub(super) async fn examine(&self, connection: &mut PgConnection) -> Result<u64, SqlFailure> {
        let seen = self.env.within(LOOK_TIMEOUT, self.look(connection)).await;
        let seen = seen.unwrap_or(Err(SqlFailure::Driver(sqlx::Error::PoolTimedOut)))?;
        self.judge(seen).map_err(SqlFailure::NotPrimary)
    }

    /// Records that a statement on a connection of this epoch was refused because the server is
    /// read-only.
    pub(super) fn refused_writes(&self, epoch: u64) {
        let mut known = self.known();
        if epoch == self.epoch() {
            known.trouble = Some(READ_ONLY.to_owned());
            self.raise(READ_ONLY);
        }
    }

    /// Records that no connection could be made.
    pub(super) fn is_away(&self, reason: &SqlFailure) {
        self.known().trouble.get_or_insert_with(|| reason.to_string());
    }

    /// Checks that the last examined connection leads to the primary.
    ///
    /// # Errors
    /// [`StoreError::Away`], with the reason why it does not.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.is_withheld() {
            return Err(StoreError::Away { reason: WITHHELD.to_owned() });
        }
        match &self.known().trouble {
            Some(reason) => Err(StoreError::Away { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    async fn look(&self, connection: &mut PgConnection) -> Result<ServerExamination, SqlFailure> {
        let unidentified = self.known().unidentified;
        let look = if unidentified { LOOK_UNIDENTIFIED } else { LOOK };
        let row = match self.ask(connection, look).await {
            Err(error) if !unidentified => {
                let error = SqlFailure::from(error);
                if failure::cause(&error) == FailureClass::Away {
                    return Err(error);
                }
                let row = self.ask(connection, LOOK_UNIDENTIFIED).await?;
                self.known().unidentified = true;
                tracing::debug!(%error, "the database does not say which server it is");
                row
            }
            row => row?,
        };
        let (system, timeline): (Option<i64>, Option<i64>) = (row.try_get(1)?, row.try_get(2)?);
        let server =
            system.zip(timeline).map(|(system, timeline)| ServerIdentity { system, timeline });
        Ok(ServerExamination { read_only: row.try_get(0)?, server })
    }

    /// A session that is lent does not keep a prepared statement.
    async fn ask(
        &self,
        connection: &mut PgConnection,
        look: &'static str,
    ) -> Result<PgRow, sqlx::Error> {
        match self.is_lent.load(Ordering::Relaxed) {
            true => connection.fetch_one(look).await,
            false => connection.fetch_one(sqlx::query(look)).await,
        }
    }

    fn judge(&self, seen: ServerExamination) -> Result<u64, String> {
        let mut known = self.known();
        let refused = if seen.read_only {
            // Raise the epoch only once: until a server accepts writes, new connections do not
            // help.
            if known.trouble.is_none() {
                self.raise(READ_ONLY);
            }
            Some(READ_ONLY.to_owned())
        } else {
            let older = known.server.zip(seen.server).filter(|(known, seen)| {
                known.system == seen.system && seen.timeline < known.timeline
            });
            older.map(|(known, seen)| {
                format!(
                    "the address leads to a former primary (timeline {}), and another server was promoted since \
                     (timeline {}): stop the former one",
                    seen.timeline, known.timeline
                )
            })
        };
        if let Some(reason) = refused {
            known.trouble = Some(reason.clone());
            return Err(reason);
        }
        if let (Some(before), Some(now)) = (known.server, seen.server)
            && before != now
        {
            self.raise("another server is the primary now");
        }
        known.server = seen.server.or(known.server);
        known.trouble = None;
        Ok(self.epoch())
    }

    /// Raises the epoch. The caller holds the lock on `known`, so that one finding raises it once.
    fn raise(&self, reason: &str) {
        tracing::warn!(reason, "all connections to the database are made anew");
        self.epoch.send_modify(|epoch| *epoch += 1);
    }

    fn known(&self) -> MutexGuard<'_, KnownPrimary> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_left_behind_is_refused_and_a_newer_one_moves_everybody() {
        let primary = Primary::new(Env::system(), false, 0);
        let seen = |read_only, system, timeline| {
            primary.judge(ServerExamination {
                read_only,
                server: Some(ServerIdentity { system, timeline }),
            })
        };
        let unknown = |read_only| primary.judge(ServerExamination { read_only, server: None });
        assert_eq!(seen(false, 7, 1), Ok(0), "the first server moves nobody");
        assert_eq!(seen(false, 7, 1), Ok(0));
        assert!(seen(true, 7, 1).expect_err("it takes no writes").contains("read-only"));
        assert!(primary.check().is_err(), "it is not ready");
        assert!(seen(true, 7, 1).is_err() && primary.epoch() == 1, "one finding, one move");
        assert_eq!(seen(false, 7, 2), Ok(2), "a promotion");
        assert!(primary.check().is_ok());
        let refused = seen(false, 7, 1).expect_err("it does not know of its successor");
        assert!(refused.contains("timeline 1") && refused.contains("timeline 2"), "{refused}");
        assert_eq!((primary.epoch(), primary.check().is_err()), (2, true));
        assert_eq!(seen(false, 8, 1), Ok(3), "another cluster counts its own timelines");
        assert_eq!(unknown(false), Ok(3), "no identity, no judgement");
        primary.refused_writes(1);
        assert_eq!(primary.epoch(), 3, "that connection was left before");
        primary.refused_writes(3);
        assert!(primary.epoch() == 4 && primary.check().is_err());
        assert!(unknown(true).is_err() && primary.epoch() == 4);
        assert_eq!(unknown(false), Ok(4));
    }
}
