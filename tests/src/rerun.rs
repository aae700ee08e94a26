//! Runs a workflow again from a prefix of its journal, telling it the rest of the recorded events
//! at their recorded times: interrupting an execution at any place changes nothing.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use segno::{
    guest::{Completion, Event, GuestError, Guests, Outcome, Signal, Stop},
    target,
    values::journals,
    worker::{
        commands::Identity,
        recording::{Recorder, SharedRecorder},
        replay::{JournalSource, NotRead, ReplayStopped, Replayer, Start},
    },
};
use segno_core::{
    id::PromiseId,
    invocation::{Outcome as StoredOutcome, Outline, Record, RecordBody},
    promise::Promise,
    transition::turn_in,
};

/// The values that a journal left in promises.
pub type OwnValues<'a> = &'a (dyn Fn(&PromiseId) -> Outcome + Sync);

/// A journal whose records were all handed over.
struct InMemory<'a>(OwnValues<'a>);

#[async_trait]
impl JournalSource for InMemory<'_> {
    async fn fill(&self, _: &SharedRecorder) -> Result<(), NotRead> {
        Ok(())
    }

    async fn outcome(&self, id: &PromiseId) -> Result<Outcome, NotRead> {
        Ok(self.0(id))
    }
}

/// The journal that results when an execution is interrupted after `cut` records of `journal` and
/// goes on with the same outcomes at the same times.
///
/// # Errors
/// The guest diverged within the prefix or failed; the journal has no beginning.
pub async fn rerun(
    guests: &dyn Guests,
    promise: &Promise,
    journal: &[Record],
    cut: usize,
    own: OwnValues<'_>,
) -> anyhow::Result<Vec<Record>> {
    let id = promise.id().clone();
    let first = journal.first();
    let Some(Record { at, body: started @ RecordBody::Started { module, .. }, .. }) = first else {
        anyhow::bail!("the journal of `{id}` does not begin with `started`");
    };
    let start = first.and_then(|record| Start::recorded(promise, record));
    let start = start.expect("it is the record of a start");
    let (prefix, rest) = journal.split_at(cut);
    let identity = Identity {
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
    let recorder = Arc::new(Mutex::new(recorder));
    let lock = || recorder.lock().unwrap_or_else(PoisonError::into_inner);
    let mut instance = guests.instantiate(*module, facts).await?;
    let source = InMemory(own);
    let replayer = Replayer { recorder: &recorder, source: &source };
    replayer.run(&mut *instance, start, || {}).await.map_err(|stopped| match stopped {
        ReplayStopped::Guest(error) => anyhow::Error::from(error),
        ReplayStopped::Unread(not_read) => anyhow::anyhow!("{not_read:?}"),
    })?;
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
            let stop = Stop::Contract(message);
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
