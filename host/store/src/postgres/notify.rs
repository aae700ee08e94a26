//! Notifications between the hosts of one database, and the polling that replaces lost ones.
//!
//! Notifications are hints. They are sent after the commit, several commits per message, on a
//! separate connection (a commit with a notification waits for every other commit with one). A host
//! that misses some reads the tables a little later.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use segno_core::{
    address::is_internal,
    config::Config,
    effect::Effect,
    id::{Claim, PromiseId, StreamId, Version},
    promise::OutboxKey,
    time::Millis,
};
use segno_env::Env;
use serde::{Deserialize, Serialize};
use sqlx::{Acquire as _, Executor as _, postgres::PgListener};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    connection_pool::ConnectionPool,
    database_settings::DatabaseSettings,
    failure::{self, FailureClass},
    fields::escape,
    held::PrimaryConnection,
    primary::{MAX_AGE, Primary},
    statement::query,
};
use crate::{Hints, sql};

/// Time over which notifications are gathered into one message.
const GATHER: Millis = Millis(5);
/// Pause after a failure to send or listen.
const REST: Millis = Millis(1_000);
/// Maximum age of the polling connection. A short age reveals a former primary that still accepts
/// writes.
const LOOK_AGE: Millis = Millis(10_000);
/// Time limit of one poll.
const LOOK_TIMEOUT: Millis = Millis(25_000);
/// Maximum bytes of a payload; PostgreSQL accepts less than 8,000.
const LONGEST: usize = 7_500;
/// Watched promises per read.
const PAGE: usize = 1_000;

const NOTIFY: &str = "SELECT pg_notify($1, $2)";

const SETTLED: &str = "SELECT id FROM promises WHERE id = ANY($1::text[]) AND state <> 0";

/// One message, sent as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct NotifyMessage {
    /// Random id of the sender: a host receives its own messages too.
    from: u64,
    /// True if tasks are ready for a worker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ready: bool,
    /// True if the effects did not fit: the receiver reads the tables.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    settled: BTreeSet<PromiseId>,
    /// Invocations with a new cancellation request.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    cancelled: BTreeSet<PromiseId>,
    /// Outbox messages without a receiver at this host.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    wanted: BTreeSet<OutboxKey>,
    /// Streams with new data.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    streams: BTreeSet<StreamId>,
    /// Versions of the claims that their holders lost, by task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    interrupted: BTreeMap<PromiseId, u64>,
}

/// Effects of this host's commits that were not sent yet. It is empty while nothing is sent.
#[derive(Debug, Default)]
pub(super) struct Notifications {
    pending: Mutex<NotifyMessage>,
    changed: Notify,
    /// True while a task sends them.
    is_sent: AtomicBool,
}

impl Notifications {
    pub(super) fn add(&self, effects: &[Effect]) {
        if !self.is_sent.load(Ordering::Relaxed) {
            return;
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for effect in effects {
            match effect {
                Effect::Ready { target, .. } => pending.ready |= is_internal(target),
                Effect::Settled { id } => drop(pending.settled.insert(id.clone())),
                Effect::CancelRequested { id } => drop(pending.cancelled.insert(id.clone())),
                Effect::Interrupt(claim) => {
                    pending.interrupted.insert(claim.id.clone(), claim.version.0);
                }
                Effect::Wanted(key) => drop(pending.wanted.insert(key.clone())),
                Effect::StreamChanged(id) => drop(pending.streams.insert(id.clone())),
                // Every host polls for due rows.
                Effect::TimerChanged { .. }
                | Effect::Outbox(_)
                | Effect::Unread { .. }
                | Effect::Skipped { .. }
                | Effect::OccurrenceFailed { .. }
                | Effect::Count(_) => {}
            }
        }
        if *pending != NotifyMessage::default() {
            self.changed.notify_one();
        }
    }

    /// Begins or ends to gather effects.
    fn set_sent(&self, is_sent: bool) {
        self.is_sent.store(is_sent, Ordering::Relaxed);
        if !is_sent {
            self.take();
        }
    }

    fn take(&self) -> NotifyMessage {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) struct Notifier {
    settings: Arc<DatabaseSettings>,
    /// True if hosts notify each other.
    notify: bool,
    primary: Arc<Primary>,
    env: Env,
    hints: Arc<dyn Hints>,
    notifications: Arc<Notifications>,
    own: u64,
    connections: ConnectionPool,
    scan_period: Millis,
    closed: CancellationToken,
}

impl Notifier {
    /// Creates a notifier of a database. Runs until `closed` is cancelled. Notifies other hosts if
    /// `notify` is true.
    pub(super) fn new(
        settings: Arc<DatabaseSettings>,
        notify: bool,
        engine: &Config,
        primary: Arc<Primary>,
        hints: Arc<dyn Hints>,
        closed: CancellationToken,
    ) -> Arc<Self> {
        let connections = ConnectionPool::to(&primary, settings.listener.clone(), 2, LOOK_AGE);
        let env = primary.env().clone();
        Arc::new(Self {
            settings,
            notify,
            primary,
            own: env.runtime.nonce(),
            env,
            hints,
            notifications: Arc::default(),
            connections,
            scan_period: engine.scan_period,
            closed,
        })
    }

    /// The queue to which commits add their effects.
    pub(super) fn notifications(&self) -> Arc<Notifications> {
        self.notifications.clone()
    }

    /// Starts polling, and also sending and listening if the configuration enables them.
    pub(super) fn start(self: &Arc<Self>) {
        let runtime = self.env.runtime.clone();
        runtime.spawn("store look", Box::pin(self.clone().look()));
        if self.notify {
            runtime.spawn("store tell", Box::pin(self.clone().tell()));
            runtime.spawn("store listen", Box::pin(self.clone().listen()));
        }
    }

    /// Waits until the database has been opened. Returns true if hosts can notify each other there.
    /// A session that a pooler lends for a transaction receives no notifications.
    async fn may_notify(&self) -> bool {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => false,
            () = self.primary.admitted() => !self.settings.listener.is_lent(),
        }
    }

    /// Sends the gathered notifications.
    async fn tell(self: Arc<Self>) {
        if !self.may_notify().await {
            return;
        }
        self.notifications.set_sent(true);
        let mut held: Option<PrimaryConnection> = None;
        loop {
            tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                () = self.notifications.changed.notified() => {}
            }
            self.env.runtime.sleep(GATHER).await;
            let text = self.written(self.notifications.take());
            held = held.filter(|held| held.is_current(&self.primary));
            if held.is_none() {
                held = PrimaryConnection::open(&self.settings.messenger, &self.primary).await.ok();
            }
            let telling = async {
                let Some(held) = held.as_mut() else { return Ok(false) };
                let query = sqlx::query(NOTIFY).bind(self.settings.channel()).bind(text);
                held.connection.execute(query).await.map(|_| true)
            };
            let sent = match self.env.within(LOOK_TIMEOUT, telling).await {
                Some(Err(error)) if self.is_refused("NOTIFY", &error) => {
                    return self.notifications.set_sent(false);
                }
                sent => matches!(sent, Some(Ok(true))),
            };
            if !sent {
                held = None;
                self.env.runtime.sleep(REST).await;
            }
        }
    }

    /// True if the server does not know such a statement: then hosts poll, and a line of the log
    /// says so.
    fn is_refused(&self, statement: &str, error: &sqlx::Error) -> bool {
        let refused = match failure::cause_of(error) {
            FailureClass::Refused => true,
            // Not supported; elsewhere, the sign of a schema that changed.
            FailureClass::Race => failure::code_of(error).is_some_and(|code| code == "0A000"),
            FailureClass::Away | FailureClass::ReadOnly => false,
        };
        if refused {
            tracing::info!(
                %error,
                milliseconds = self.scan_period.0,
                "the database refuses {statement}: this host polls instead"
            );
        }
        refused
    }

    /// Serialises a message; if it is too long, keeps only `ready` and sets `more`.
    fn written(&self, message: NotifyMessage) -> String {
        let message = NotifyMessage { from: self.own, ..message };
        let text = serde_json::to_string(&message).expect("texts and numbers are JSON");
        if text.len() <= LONGEST {
            return text;
        }
        let short = NotifyMessage {
            from: self.own,
            ready: message.ready,
            more: true,
            ..NotifyMessage::default()
        };
        serde_json::to_string(&short).expect("texts and numbers are JSON")
    }

    /// Listens, on a session that is replaced when the primary changes, and at its maximum age.
    async fn listen(self: Arc<Self>) {
        if !self.may_notify().await {
            return;
        }
        loop {
            let epoch = self.primary.epoch();
            tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                () = self.primary.left(epoch) => continue,
                () = self.env.runtime.sleep(MAX_AGE) => continue,
                refused = self.receive() => if refused { return },
            }
            tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                () = self.env.runtime.sleep(REST) => {}
            }
        }
    }

    /// Receives notifications until the session ends. Returns true if the server refuses to send
    /// any.
    async fn receive(&self) -> bool {
        let (_, pool) = self.connections.pool();
        let Ok(mut listener) = PgListener::connect_with(&pool).await else { return false };
        let Ok(connection) = listener.acquire().await else { return false };
        if self.primary.examine(connection).await.is_err() {
            return false;
        }
        if let Err(error) = listener.listen(self.settings.channel()).await {
            return self.is_refused("LISTEN", &error);
        }
        // Notifications sent before the session began were missed.
        self.hear(NotifyMessage { ready: true, more: true, ..NotifyMessage::default() }).await;
        while let Ok(Some(told)) = listener.try_recv().await {
            match serde_json::from_str::<NotifyMessage>(told.payload()) {
                Ok(message) if message.from == self.own => {}
                Ok(message) => self.hear(message).await,
                Err(error) => tracing::debug!(%error, "a message of another kind"),
            }
        }
        false
    }

    async fn hear(&self, message: NotifyMessage) {
        let settled = message.settled.into_iter().map(|id| Effect::Settled { id });
        let cancelled = message.cancelled.into_iter().map(|id| Effect::CancelRequested { id });
        let interrupted = message
            .interrupted
            .into_iter()
            .map(|(id, version)| Effect::Interrupt(Claim { id, version: Version(version) }));
        let wanted = message.wanted.into_iter().map(Effect::Wanted);
        let streams = message.streams.into_iter().map(Effect::StreamChanged);
        let effects: Vec<Effect> =
            settled.chain(cancelled).chain(interrupted).chain(wanted).chain(streams).collect();
        self.hints.heard(&effects);
        if message.ready {
            self.hints.work_elsewhere();
        }
        if message.more {
            self.look_once().await;
        }
    }

    /// Polls for promises that other hosts settled, and for a change of the primary.
    async fn look(self: Arc<Self>) {
        loop {
            tokio::select! {
                biased;
                () = self.closed.cancelled() => break,
                () = self.env.runtime.sleep(self.scan_period) => {}
            }
            self.look_once().await;
        }
        self.connections.close().await;
    }

    async fn look_once(&self) {
        // Checks the primary even if no promise is watched.
        let mut connection = match self.connections.acquire().await {
            Ok(connection) => connection,
            Err(error) => return self.primary.is_away(&error),
        };
        let watched = self.hints.watched();
        for page in watched.chunks(PAGE) {
            let ids: Vec<_> = page.iter().map(|id| escape(id.as_str()).into_owned()).collect();
            // On failure, the next poll is soon.
            let query = query(&connection, SETTLED).bind(ids);
            let found = connection.fetch_all(query);
            let Some(Ok(found)) = self.env.within(LOOK_TIMEOUT, found).await else {
                connection.give_up();
                return;
            };
            let settled = found.iter().filter_map(|row| sql::id(row, 0).ok());
            let settled: Vec<_> = settled.map(|id| Effect::Settled { id }).collect();
            self.hints.heard(&settled);
        }
        // A transaction of a pooler ends here, and not when its connection is replaced.
        let _ = connection.finish().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_happened_and_nothing_else() {
        let notifications = Notifications::default();
        notifications.add(&[Effect::Settled { id: "before".into() }]);
        notifications.set_sent(true);
        notifications.add(&[
            Effect::Ready {
                id: "a".into(),
                version: Version(1),
                target: "poll://w".into(),
                module: "".into(),
            },
            Effect::Settled { id: "б\0".into() },
            Effect::Interrupt(Claim { id: "c".into(), version: Version(7) }),
            Effect::Wanted(OutboxKey::Execute("d".into())),
        ]);
        let message = notifications.take();
        assert!(!message.ready, "no host executes that itself");
        let text = serde_json::to_string(&message).expect("it is JSON");
        assert_eq!(
            text,
            r#"{"from":0,"settled":["б\u0000"],"wanted":[{"Execute":"d"}],"interrupted":{"c":7}}"#
        );
        assert_eq!(serde_json::from_str::<NotifyMessage>(&text).expect("it is ours"), message);
        assert_eq!(notifications.take(), NotifyMessage::default());
        notifications.add(&[Effect::Settled { id: "last".into() }]);
        notifications.set_sent(false);
        notifications.add(&[Effect::Settled { id: "after".into() }]);
        assert_eq!(
            notifications.take(),
            NotifyMessage::default(),
            "effects without a sender are not gathered"
        );
    }
}
