//! The server that takes writes, as this host knows it.
//!
//! After a switch-over the sessions of a host may still lead to the former primary, which is
//! read-only by then, or was left behind and does not know it. So there is one owner of the answer:
//! every connection is examined before it is used, and a finding that the primary is another server
//! raises the epoch. Connections of an earlier epoch are left by everybody: reads, batches, the
//! listener and the messenger.

use std::sync::{Mutex, MutexGuard, PoisonError};

use segno_core::time::Millis;
use segno_env::Env;
use sqlx::{Executor as _, PgConnection, Row as _};
use tokio::sync::watch;

use super::failure::{self, Cause};
use crate::{StoreError, sql::Failure};

/// The age at which a connection is replaced, so that each leads to where the address leads today.
pub(super) const MAX_AGE: Millis = Millis(300_000);
/// How long a server may take to say what it is.
const LOOK_TIMEOUT: Millis = Millis(3_000);

/// Asked outside of transactions and at the beginning of those that only read: so the default of
/// the session counts. A primary keeps its timeline; a promotion begins a new one.
const LOOK: &str = "
    SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool,
           (SELECT system_identifier FROM pg_control_system()),
           CASE WHEN NOT pg_is_in_recovery()
                THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END";

/// As [`LOOK`], for servers that keep their identity from this role.
const LOOK_UNIDENTIFIED: &str = "
    SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool, NULL::bigint, NULL::bigint";

const READ_ONLY: &str = "it is read-only at the moment: a standby, or a server that takes no writes; it is asked again \
                         until the address leads to the primary";

/// See the module.
pub(super) struct Primary {
    env: Env,
    epoch: watch::Sender<u64>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The server that took writes when it was asked last.
    server: Option<Server>,
    /// Why the last connection was refused, until one is taken.
    trouble: Option<String>,
    /// The server does not tell this role what tells servers apart.
    unidentified: bool,
}

/// The identity of a primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Server {
    /// The number that a cluster shares with its standbys.
    system: i64,
    timeline: i64,
}

/// The answer of a server that was asked what it is.
#[derive(Debug, Clone, Copy)]
struct Seen {
    read_only: bool,
    server: Option<Server>,
}

impl Primary {
    /// No server is known.
    pub(super) fn new(env: Env) -> Self {
        Self { env, epoch: watch::Sender::new(0), known: Mutex::default() }
    }

    /// The present epoch: connections that were made in an earlier one are left.
    pub(super) fn epoch(&self) -> u64 {
        *self.epoch.borrow()
    }

    /// Completes when the epoch is another than `epoch`.
    pub(super) async fn left(&self, epoch: u64) {
        // The sender is here, so waiting does not fail.
        let _ = self.epoch.subscribe().wait_for(|now| *now != epoch).await;
    }

    /// The clock and the runtime of the host.
    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    /// Asks the server behind a connection what it is. Returns the epoch that the connection
    /// belongs to.
    ///
    /// # Errors
    /// It does not answer, it takes no writes, or it was left behind: the connection is of no use.
    pub(super) async fn examine(&self, connection: &mut PgConnection) -> Result<u64, Failure> {
        let seen = self.env.within(LOOK_TIMEOUT, self.look(connection)).await;
        let seen = seen.unwrap_or(Err(Failure::Driver(sqlx::Error::PoolTimedOut)))?;
        self.judge(seen).map_err(Failure::NotPrimary)
    }

    /// Takes note that a statement over a connection of this epoch was refused because the server
    /// is read-only.
    pub(super) fn refused_writes(&self, epoch: u64) {
        let mut known = self.known();
        if epoch == self.epoch() {
            known.trouble = Some(READ_ONLY.to_owned());
            self.raise(READ_ONLY);
        }
    }

    /// Takes note that no connection could be made.
    pub(super) fn is_away(&self, reason: &Failure) {
        self.known().trouble.get_or_insert_with(|| reason.to_string());
    }

    /// Checks that the last connection that was examined leads to the primary.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match &self.known().trouble {
            Some(reason) => Err(StoreError::Away { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    async fn look(&self, connection: &mut PgConnection) -> Result<Seen, Failure> {
        let unidentified = self.known().unidentified;
        let look = if unidentified { LOOK_UNIDENTIFIED } else { LOOK };
        let row = match connection.fetch_one(sqlx::query(look)).await {
            Err(error) if !unidentified => {
                let error = Failure::from(error);
                if failure::cause(&error) == Cause::Away {
                    return Err(error);
                }
                let row = connection.fetch_one(sqlx::query(LOOK_UNIDENTIFIED)).await?;
                self.known().unidentified = true;
                tracing::debug!(%error, "the database does not say which server it is");
                row
            }
            row => row?,
        };
        let (system, timeline): (Option<i64>, Option<i64>) = (row.try_get(1)?, row.try_get(2)?);
        let server = system.zip(timeline).map(|(system, timeline)| Server { system, timeline });
        Ok(Seen { read_only: row.try_get(0)?, server })
    }

    fn judge(&self, seen: Seen) -> Result<u64, String> {
        let mut known = self.known();
        let refused = if seen.read_only {
            // Once: while no server takes writes, there is nowhere to go.
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

    /// The caller holds the lock of what is known, so that one finding raises it once.
    fn raise(&self, reason: &str) {
        tracing::warn!(reason, "all connections to the database are made anew");
        self.epoch.send_modify(|epoch| *epoch += 1);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_left_behind_is_refused_and_a_newer_one_moves_everybody() {
        let primary = Primary::new(Env::system());
        let seen = |read_only, system, timeline| {
            primary.judge(Seen { read_only, server: Some(Server { system, timeline }) })
        };
        let unknown = |read_only| primary.judge(Seen { read_only, server: None });
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
