//! The databases that answer in time. Reads leave out the others until they answer again, so that
//! no work waits for them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use futures::stream::{FuturesUnordered, StreamExt as _};
use segno_core::{
    shard::DatabaseIndex,
    time::{Millis, Timestamp},
};
use segno_env::{BoxFuture, Env};

use crate::{Store, StoreError};

/// Time for which a database may answer later than another one.
const PATIENCE: Millis = Millis(1_000);
/// Interval between attempts to reach a database that did not answer.
const PROBE_PAUSE: Millis = Millis(250);

/// The presence of all databases of a store. Copies share it.
#[derive(Clone)]
pub(crate) struct DatabasePresence {
    env: Env,
    states: Arc<[PresenceState]>,
    members: Vec<Arc<dyn Store>>,
}

/// The presence of a database.
struct PresenceState {
    is_late: AtomicBool,
    /// [`PATIENCE`], or longer for a database that has been slow, in milliseconds.
    patience: AtomicI64,
}

impl DatabasePresence {
    pub(crate) fn new(members: Vec<Arc<dyn Store>>, env: Env) -> Self {
        let state = || PresenceState {
            is_late: AtomicBool::new(false),
            patience: AtomicI64::new(PATIENCE.0),
        };
        Self { env, states: members.iter().map(|_| state()).collect(), members }
    }

    /// The databases in the order in which they are best asked: those that answer first.
    pub(super) fn order(&self) -> Vec<DatabaseIndex> {
        let (late, here): (Vec<_>, Vec<_>) =
            (0..self.states.len()).partition(|database| self.is_left_out(*database));
        here.into_iter().chain(late).collect()
    }

    /// The databases that do not answer.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = DatabaseIndex> {
        (0..self.states.len()).filter(|database| self.is_left_out(*database))
    }

    /// Waits for an answer as long as others would wait for the database.
    pub(super) async fn patient<T>(
        &self,
        database: DatabaseIndex,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<Result<T, StoreError>> {
        let answer = self.env.within(self.patience(database), answer).await;
        if matches!(answer, None | Some(Err(StoreError::Away { .. }))) {
            self.leave_out(database);
        }
        answer
    }

    /// Reads from all databases at the same time, apart from those that are left out. `None` for one
    /// that does not answer in time. If all are left out, all are asked.
    pub(crate) async fn read<T, F>(
        &self,
        ask: impl Fn(DatabaseIndex) -> F,
    ) -> Vec<Option<Result<T, StoreError>>>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let all: Vec<_> = (0..self.states.len()).collect();
        let present = self.present(&all);
        self.answers(&present, present.clone(), ask).await
    }

    /// Sends a command to each of these databases. `None` for one that does not answer in time; the
    /// command may be executed there.
    pub(crate) async fn send<T, F>(
        &self,
        databases: &[DatabaseIndex],
        send: impl Fn(DatabaseIndex) -> F,
    ) -> Vec<Option<Result<T, StoreError>>>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.answers(databases, self.present(databases), send).await
    }

    /// Those of the databases that are not left out; all if none of them answers.
    fn present(&self, databases: &[DatabaseIndex]) -> Vec<DatabaseIndex> {
        let here = databases.iter().copied().filter(|database| !self.is_left_out(*database));
        let here: Vec<_> = here.collect();
        if here.is_empty() { databases.to_vec() } else { here }
    }

    /// Asks these databases at the same time, and waits for some of them.
    async fn answers<T, F>(
        &self,
        asked: &[DatabaseIndex],
        mut awaited: Vec<DatabaseIndex>,
        ask: impl Fn(DatabaseIndex) -> F,
    ) -> Vec<Option<Result<T, StoreError>>>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut answers: Vec<_> = (0..self.states.len()).map(|_| None).collect();
        let asked = asked.iter().map(|database| {
            let (database, answer) = (*database, ask(*database));
            async move { (database, answer.await) }
        });
        let mut asked: FuturesUnordered<_> = asked.collect();
        let mut patience: Option<BoxFuture<()>> = None;
        while !awaited.is_empty() {
            let (database, answer) = tokio::select! {
                biased;
                Some(answered) = asked.next() => answered,
                () = async { patience.as_mut().expect("it began").await }, if patience.is_some() => break,
            };
            awaited.retain(|other| *other != database);
            match &answer {
                Ok(_) if patience.is_none() => {
                    let longest = awaited.iter().map(|database| self.patience(*database)).max();
                    patience = longest.map(|longest| self.env.runtime.sleep(longest));
                }
                Err(StoreError::Away { .. }) => self.leave_out(database),
                _ => {}
            }
            answers[database] = Some(answer);
        }
        awaited.into_iter().for_each(|database| self.leave_out(database));
        answers
    }

    /// True if the database does not answer.
    pub(crate) fn is_left_out(&self, database: DatabaseIndex) -> bool {
        self.states.get(database).is_some_and(|state| state.is_late.load(Ordering::Relaxed))
    }

    fn patience(&self, database: DatabaseIndex) -> Millis {
        Millis(self.states[database].patience.load(Ordering::Relaxed))
    }

    /// Leaves out a database until it answers a read of its work.
    pub(crate) fn leave_out(&self, database: DatabaseIndex) {
        if self.states[database].is_late.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(
            database = database + 1,
            "a database does not answer in time; the work of the others goes on"
        );
        let (probed, member) = (self.clone(), self.members[database].clone());
        self.env.runtime.spawn("store presence", Box::pin(probed.probe(database, member)));
    }

    async fn probe(self, database: DatabaseIndex, member: Arc<dyn Store>) {
        let state = &self.states[database];
        // A read that was made without the database reports it as left out.
        self.env.runtime.sleep(PROBE_PAUSE).await;
        loop {
            let began = self.env.clock.elapsed();
            match member.work_queue().due(Timestamp(0), 1).await {
                Ok(_) => {
                    let took = self.env.clock.elapsed().saturating_sub(began).as_millis() as i64;
                    state.patience.store(PATIENCE.0.max(took * 2), Ordering::Relaxed);
                    state.is_late.store(false, Ordering::Relaxed);
                    tracing::info!(database = database + 1, "the database answers again");
                    return;
                }
                Err(StoreError::Closed) => return,
                Err(_) => self.env.runtime.sleep(PROBE_PAUSE).await,
            }
        }
    }
}
