//! The replay of a shadow, and its answers.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use segno_core::id::PromiseId;
use segno_guest::{GuestError, Outcome, Payload, StopReason};

use super::{AskError, Question, QuestionAnswer, listener::QuestionJournal, replica::QueryReplica};
use crate::{
    host::Host,
    worker::{
        ReplayError,
        replay::{ReplayFailure, ReplaySetup, Replayer, StoredJournal},
    },
};

impl QueryReplica {
    /// A shadow of `id` at the end of its journal, or after its first `at` records. If the code
    /// fails earlier, the shadow stops before that event.
    ///
    /// # Errors
    /// [`ReplayError`]. An error of the guest is returned only if it fails at its start.
    pub(super) async fn new(
        host: &Host,
        id: &PromiseId,
        at: Option<u32>,
    ) -> Result<Self, ReplayError> {
        let (mut len, mut of) = (at, None);
        loop {
            let mut rehearsal = ReplaySetup::new(host, id, None, len).await?;
            let records = rehearsal.outline.head().len;
            let of = *of.get_or_insert(records);
            let (stopped, matched) = match replayed(&mut rehearsal).await {
                Ok(()) => return Ok(Self::of(rehearsal, of)),
                Err(stopped) => stopped,
            };
            match stopped {
                ReplayFailure::Unread(not_read) => return Err(ReplayError::unread(id, not_read)),
                ReplayFailure::Guest(GuestError::Stopped {
                    stop: StopReason::Damaged(what),
                    ..
                }) => {
                    return Err(ReplayError::Damaged(id.clone(), what));
                }
                // The next replay ends before the event at which this one failed.
                ReplayFailure::Guest(error)
                    if error.is_of_guest() && (1..records).contains(&matched) =>
                {
                    len = Some(matched);
                }
                ReplayFailure::Guest(error) => return Err(ReplayError::Guest { matched, error }),
            }
        }
    }

    fn of(rehearsal: ReplaySetup<'_>, of: u32) -> Self {
        let ReplaySetup { instance, recorder, outline, module, .. } = rehearsal;
        Self { instance, recorder, outline, of, module }
    }

    /// The shadow at the current end of the journal. Builds another shadow if this one cannot
    /// continue.
    ///
    /// # Errors
    /// As [`QueryReplica::new`].
    pub(super) async fn now(mut self, host: &Host, id: &PromiseId) -> Result<Self, ReplayError> {
        let task = host.store.read().promise(id).await?.and_then(|row| row.task);
        let is_same = task.is_some_and(|task| task.module == Some(self.module));
        match is_same && self.go_on(host, id).await.is_ok() {
            true => Ok(self),
            false => Self::new(host, id, None).await,
        }
    }

    async fn go_on(&mut self, host: &Host, id: &PromiseId) -> Result<(), ReplayFailure> {
        let mut journal = StoredJournal::whole(&*host.store, id);
        let (outline, first) = journal.outline_after(self.outline.clone()).await?;
        if first.is_empty() {
            return Ok(());
        }
        {
            let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
            recorder.go_on(outline.clone());
            recorder.feed(first);
        }
        self.of = outline.head().len;
        self.outline = outline;
        let replayer = Replayer { recorder: &self.recorder, source: &journal };
        replayer.go_on(&mut *self.instance, || {}).await
    }

    /// Asks the workflow.
    ///
    /// # Errors
    /// [`AskError::NoHandlers`], [`AskError::Guest`]: the shadow must not be asked again then.
    pub(super) async fn answer(&mut self, question: Question) -> Result<QuestionAnswer, AskError> {
        let Question { validates, name, input } = question;
        let kind = if validates { "validator of the update" } else { "query" };
        let listener =
            QuestionJournal { what: format!("the {kind} `{name}`"), now: self.outline.head().at };
        let listener = Arc::new(Mutex::new(listener));
        let outcome = match validates {
            false => self.instance.query(listener, &name, input).await?,
            true => {
                let refused = self.instance.validate(listener, &name, input).await?;
                refused.map(|refused| match refused {
                    Some(failure) => Outcome::Failure(failure),
                    None => Outcome::Success(Payload::Json("null".to_owned())),
                })
            }
        };
        let outcome = outcome.ok_or(AskError::NoHandlers(self.module))?;
        let (records, signals) = (self.outline.head().len, self.outline.signals());
        Ok(QuestionAnswer { outcome, records, of: self.of, signals, module: self.module })
    }
}

/// Replays the journal. An error comes with the number of records that the guest had matched when
/// it received the event at which it failed.
async fn replayed(rehearsal: &mut ReplaySetup<'_>) -> Result<(), (ReplayFailure, u32)> {
    let matched = AtomicU32::new(0);
    let recorder = rehearsal.recorder.clone();
    let told = || {
        let recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        matched.store(recorder.matched(), Ordering::Relaxed);
    };
    rehearsal.run(told).await.map_err(|stopped| (stopped, matched.load(Ordering::Relaxed)))
}
