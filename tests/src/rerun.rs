//! Replays a workflow from a prefix of its journal, and delivers the rest of the recorded events at
//! their recorded times. An interruption at any record must change nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use segno_core::{
    id::PromiseId,
    invocation::{Outcome as StoredOutcome, Outline, Record, RecordBody},
    promise::Promise,
    transition::turn_in,
};
use segno_engine::{
    target,
    values::journals,
    worker::{
        commands::InvocationFacts,
        recording::{Recorder, RecorderPosition, SharedRecorder},
        replay::{JournalReadError, JournalSource, ReplayFailure, Replayer, StartParameters},
    },
};
use segno_guest::{
    Completion, Event, GuestError, Guests, Memory, MemoryChange, Outcome, Signal, StopReason,
    Workflow,
};

/// Looks up the values of a journal that are stored in promises.
pub type OwnValues<'a> = &'a (dyn Fn(&PromiseId) -> Outcome + Sync);

/// A journal source whose records were all handed over.
struct InMemory<'a>(OwnValues<'a>);

#[async_trait]
impl JournalSource for InMemory<'_> {
    async fn fill(&self, _: &SharedRecorder) -> Result<(), JournalReadError> {
        Ok(())
    }

    async fn outcome(&self, id: &PromiseId) -> Result<Outcome, JournalReadError> {
        Ok(self.0(id))
    }
}

/// Another engine, in which an instance continues from a snapshot.
#[derive(Clone, Copy)]
pub struct NewEngine<'a> {
    /// Modules of that engine.
    pub guests: &'a dyn Guests,
    /// Memory of a new instance of the module.
    pub base: &'a Memory,
}

/// Reason why an execution could not be resumed from a snapshot.
#[derive(Debug)]
pub enum NotResumed {
    /// The guest is not idle at this record.
    Busy,
    /// The instance holds something that cannot be read.
    Refused(GuestError),
    /// The resumed execution diverged.
    Wrong(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for NotResumed {
    fn from(error: E) -> Self {
        Self::Wrong(error.into())
    }
}

/// Journal of an execution that is interrupted after `cut` records of `journal`, and continues with
/// the same outcomes at the same times.
///
/// # Errors
/// The guest diverged within the prefix or failed, or the journal lacks its first record.
pub async fn rerun(
    guests: &dyn Guests,
    promise: &Promise,
    journal: &[Record],
    cut: usize,
    own: OwnValues<'_>,
) -> anyhow::Result<Vec<Record>> {
    match resumed(guests, promise, journal, cut, own, None).await {
        Ok(journal) => Ok(journal),
        Err(NotResumed::Wrong(error)) => Err(error),
        Err(other) => anyhow::bail!("nothing was to be saved: {other:?}"),
    }
}

/// Does the same, but continues with an instance of `new`, restored from a snapshot after `cut`
/// records. `cut` is at least 1.
///
/// # Errors
/// [`NotResumed`].
pub async fn rerun_in_new_engine(
    guests: &dyn Guests,
    new: NewEngine<'_>,
    promise: &Promise,
    journal: &[Record],
    cut: usize,
    own: OwnValues<'_>,
) -> Result<Vec<Record>, NotResumed> {
    resumed(guests, promise, journal, cut, own, Some(new)).await
}

async fn resumed(
    guests: &dyn Guests,
    promise: &Promise,
    journal: &[Record],
    cut: usize,
    own: OwnValues<'_>,
    new: Option<NewEngine<'_>>,
) -> Result<Vec<Record>, NotResumed> {
    let id = promise.id().clone();
    let first = journal.first();
    let Some(Record { at, body: started @ RecordBody::Started { module, .. }, .. }) = first else {
        return Err(anyhow::anyhow!("the journal of `{id}` does not begin with `started`").into());
    };
    let start = first.and_then(|record| StartParameters::recorded(promise, record));
    let start = start.expect("it is the record of a start");
    let (prefix, rest) = journal.split_at(cut);
    let identity = InvocationFacts {
        id: id.clone(),
        made_at: promise.spec.created_at,
        module: target::module_of(promise),
        object: target::object_of(promise).map(|object| (object, turn_in(promise).is_some())),
        functions: guests.describe(*module).await?,
        outbound: None,
    };
    let recorder = match cut {
        0 => {
            let mut recorder = Recorder::begin(identity, *at);
            recorder.started(started.clone(), *at);
            recorder
        }
        _ => {
            let mut recorder = Recorder::over(identity, Outline::of(prefix)?, false);
            recorder.feed(prefix.to_vec());
            recorder
        }
    };
    let facts = recorder.engine_facts();
    let identity = recorder.identity().clone();
    let mut recorder = Arc::new(Mutex::new(recorder));
    let mut instance = match new {
        None => guests.instantiate(*module, facts).await?,
        Some(_) => guests.accessible(*module, facts).await.map_err(NotResumed::Refused)?,
    };
    let source = InMemory(own);
    let replayer = Replayer { recorder: &recorder, source: &source };
    replayer.run(&mut *instance, start, || {}).await.map_err(|stopped| match stopped {
        ReplayFailure::Guest(error) => anyhow::Error::from(error),
        ReplayFailure::Unread(not_read) => anyhow::anyhow!("{not_read:?}"),
    })?;
    if let Some(new) = new {
        let place = lock(&recorder).place(Outline::of(prefix)?).ok_or(NotResumed::Busy)?;
        let (restored, place) = moved(new, &mut *instance, place).await?;
        instance = restored;
        recorder = Arc::new(Mutex::new(Recorder::resumed_at(identity, place, false)));
    }
    let lock = || lock(&recorder);
    for record in rest {
        let event = match &record.body {
            RecordBody::Notified { index, outcome } => {
                let result = lock().next_result(record.at);
                if let Some(event) = result {
                    instance.resume(recorder.clone(), event).await?;
                    continue;
                }
                let promise =
                    lock().open().get(index.0).and_then(|open| open.completion.promise().cloned());
                let promise = promise.unwrap_or_else(|| id.command(*index));
                let outcome = match outcome {
                    StoredOutcome::Inline(result) => journals::recorded(result),
                    StoredOutcome::Own => own(&promise),
                };
                Event::Completed(Completion { command: index.0, outcome })
            }
            RecordBody::Signal { name, payload } => Event::Signal(Signal {
                name: name.to_string(),
                payload: journals::guest_payload(payload),
            }),
            RecordBody::Cancelled => Event::Cancelled,
            RecordBody::Started { .. }
            | RecordBody::Command { .. }
            | RecordBody::Finished { .. } => continue,
        };
        let admitted = lock().admit(event, record.at);
        let Some(event) = admitted else {
            let message = format!("nothing waits for what record {} says", record.seq);
            let stop = StopReason::Contract(message);
            return Err(GuestError::Stopped { stop, backtrace: None }.into());
        };
        instance.resume(recorder.clone(), event).await?;
    }
    let mut written = prefix.to_vec();
    let closed = lock().close();
    match closed {
        Some((batch, finished, _)) => {
            written.extend(batch.records);
            if cut < journal.len() {
                written.push(finished);
            }
        }
        None => written.extend(lock().take_batch().records),
    }
    Ok(written)
}

fn lock(recorder: &Mutex<Recorder>) -> MutexGuard<'_, Recorder> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves an instance and its place in the journal to another engine. Both are serialized and read
/// back.
async fn moved(
    new: NewEngine<'_>,
    instance: &mut dyn Workflow,
    place: RecorderPosition,
) -> Result<(Box<dyn Workflow>, RecorderPosition), NotResumed> {
    let kept = instance.save().await.map_err(NotResumed::Refused)?;
    let bytes = postcard::to_stdvec(&(place, kept.since(new.base)))?;
    let (place, change): (RecorderPosition, MemoryChange) = postcard::from_bytes(&bytes)?;
    let started = place.outline().started().map(|record| record.body.clone());
    let Some(RecordBody::Started { function, seed, module, engine, .. }) = started else {
        return Err(anyhow::anyhow!("the snapshot is of no invocation").into());
    };
    let mut restored = new.guests.accessible(module, Some(engine)).await?;
    restored.restore(&function, &seed.0, &change).await?;
    let same = restored.save().await? == kept;
    let differs = || anyhow::anyhow!("what was put back is not what was read");
    same.then_some((restored, place)).ok_or_else(|| differs().into())
}
