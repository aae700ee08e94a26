//! The loop of every replay: starts the guest, then delivers one recorded event after the other,
//! until the end of the journal.

use std::sync::PoisonError;

use async_trait::async_trait;
use segno_core::{
    id::PromiseId,
    invocation::{Outcome as StoredOutcome, Record, RecordBody, Seed},
    promise::Promise,
    tags,
    time::Timestamp,
};
use segno_guest::{Completion, Context, Event, GuestError, Outcome, Payload, Workflow};

use super::JournalReadError;
use crate::{
    values::journals,
    worker::recording::{SharedRecorder, StoredEvent},
};

/// The source of a replay's records and of the values stored beside them.
#[async_trait]
pub trait JournalSource: Send + Sync {
    /// Supplies the records that the next poll needs.
    async fn fill(&self, recorder: &SharedRecorder) -> Result<(), JournalReadError>;

    /// The outcome that is stored only in the promise `id`.
    async fn outcome(&self, id: &PromiseId) -> Result<Outcome, JournalReadError>;
}

/// The parameters with which a function is started. They are the same in every replay.
pub struct StartParameters {
    /// The name of the function.
    pub function: String,
    /// The input of the function.
    pub input: Payload,
    /// The guest's view of its own invocation.
    pub context: Context,
}

impl StartParameters {
    /// The start of `promise`'s function at the logical instant `at`.
    pub fn new(
        promise: &Promise,
        function: &str,
        input: Payload,
        at: Timestamp,
        seed: Seed,
    ) -> Self {
        let context = Context {
            invocation: promise.id().as_str().to_owned(),
            parent: promise.spec.tags.get(tags::PARENT).cloned(),
            started_at_ms: u64::try_from(at.0).unwrap_or(0),
            seed: seed.0.to_vec(),
        };
        Self { function: function.to_owned(), input, context }
    }

    /// The start in the first record of a journal. `None` if the record has another kind.
    pub fn recorded(promise: &Promise, record: &Record) -> Option<Self> {
        let RecordBody::Started { function, input, seed, .. } = &record.body else { return None };
        Some(Self::new(promise, function, journals::guest_payload(input), record.at, *seed))
    }

    /// Starts the guest.
    ///
    /// # Errors
    /// The guest failed, or diverged from its journal.
    pub async fn run(
        self,
        instance: &mut dyn Workflow,
        recorder: &SharedRecorder,
    ) -> Result<(), GuestError> {
        instance.start(recorder.clone(), &self.function, self.input, self.context).await
    }
}

/// A replay of one journal.
pub struct Replayer<'a> {
    /// The recorder that compares commands with records.
    pub recorder: &'a SharedRecorder,
    /// The source of the records.
    pub source: &'a dyn JournalSource,
}

/// The reason why a replay did not reach the end of its journal.
#[derive(Debug)]
pub enum ReplayFailure {
    /// The journal could not be read.
    Unread(JournalReadError),
    /// The guest failed, or diverged from its journal.
    Guest(GuestError),
}

impl Replayer<'_> {
    /// Starts the guest and replays the journal to its end. `told` is called after the start, and
    /// after each event.
    ///
    /// # Errors
    /// [`ReplayFailure`].
    pub async fn run(
        &self,
        instance: &mut dyn Workflow,
        start: StartParameters,
        told: impl Fn() + Send,
    ) -> Result<(), ReplayFailure> {
        self.source.fill(self.recorder).await?;
        start.run(instance, self.recorder).await?;
        told();
        self.go_on(instance, told).await
    }

    /// Replays the journal to its end, for a guest that was started. `told` is called after each
    /// event.
    ///
    /// # Errors
    /// [`ReplayFailure`].
    pub async fn go_on(
        &self,
        instance: &mut dyn Workflow,
        told: impl Fn() + Send,
    ) -> Result<(), ReplayFailure> {
        while let Some(event) = self.next().await? {
            instance.resume(self.recorder.clone(), event).await?;
            told();
        }
        Ok(())
    }

    async fn next(&self) -> Result<Option<Event>, ReplayFailure> {
        self.source.fill(self.recorder).await?;
        let stored = self.recorder.lock().unwrap_or_else(PoisonError::into_inner).next_stored();
        let stored = stored.map_err(|stop| GuestError::Stopped { stop, backtrace: None })?;
        Ok(match stored {
            None => None,
            Some(StoredEvent::Whole(event)) => Some(event),
            Some(StoredEvent::Completed { index, outcome, promise }) => {
                let outcome = match outcome {
                    StoredOutcome::Inline(result) => journals::recorded(&result),
                    StoredOutcome::Own => self.source.outcome(&promise).await?,
                };
                Some(Event::Completed(Completion { command: index, outcome }))
            }
        })
    }
}

impl From<JournalReadError> for ReplayFailure {
    fn from(not_read: JournalReadError) -> Self {
        Self::Unread(not_read)
    }
}

impl From<GuestError> for ReplayFailure {
    fn from(error: GuestError) -> Self {
        Self::Guest(error)
    }
}
