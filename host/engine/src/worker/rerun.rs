//! Runs a workflow again from a prefix of its journal, telling it the rest of the recorded events at their recorded
//! times: a test that interrupting at any place changes nothing.

use std::sync::{Arc, Mutex, PoisonError};

use segno_core::{
    id::{Digest, PromiseId},
    invocation::{Outcome as Stored, Record, RecordBody},
    promise::Promise,
};

use super::{
    execution, outcome,
    recorder::{Identity, Recorder, StoredEvent},
    replay::ReplayError,
};
use segno_guest::{Completion, Event, GuestError, Guests, Outcome, Signal, Stop};

/// The journal that results when an execution is interrupted after `cut` records of `journal` and goes on with the same
/// outcomes at the same times. `own` gives the values that the journal left in promises.
///
/// # Errors
/// The guest diverged within the prefix or failed; the journal has no beginning.
pub async fn rerun(
    guests: &dyn Guests,
    promise: &Promise,
    journal: &[Record],
    cut: usize,
    own: &(dyn Fn(&PromiseId) -> Outcome + Sync),
) -> Result<Vec<Record>, ReplayError> {
    let id = promise.id().clone();
    let Some(Record {
        at,
        body: started @ RecordBody::Started { function, input, module, seed, .. },
        ..
    }) = journal.first()
    else {
        return Err(ReplayError::NoJournal(id, "it does not begin with `started`"));
    };
    let (prefix, rest) = journal.split_at(cut);
    let mut written = prefix.to_vec();
    let functions = describe(guests, *module).await?;
    let identity =
        Identity { id: id.clone(), module: super::module_name(promise), functions, outbound: None };
    let recorder = Recorder::new(identity, prefix.to_vec(), *at, false)
        .map_err(|refused| ReplayError::Damaged(id.clone(), refused.to_string()))?;
    let facts = recorder.engine_facts();
    let recorder = Arc::new(Mutex::new(recorder));
    let lock = || recorder.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = |error: GuestError| ReplayError::Guest { matched: lock().matched(), error };
    if prefix.is_empty() {
        lock().started(started.clone(), *at);
    }
    let mut instance = guests.instantiate(*module, facts).await.map_err(failed)?;
    let context = execution::context(promise, *at, *seed);
    instance
        .start(recorder.clone(), function, outcome::guest_payload(input), context)
        .await
        .map_err(failed)?;
    loop {
        let stored = lock().next_stored();
        let event = match stored {
            Err(stop) => return Err(failed(GuestError::Stopped { stop, backtrace: None })),
            Ok(None) => break,
            Ok(Some(StoredEvent::Whole(event))) => event,
            Ok(Some(StoredEvent::Completed { index, outcome, promise })) => {
                Event::Completed(Completion {
                    command: index,
                    outcome: told(&outcome, &promise, own),
                })
            }
        };
        instance.resume(recorder.clone(), event).await.map_err(failed)?;
    }
    for record in rest {
        let event = match &record.body {
            RecordBody::Notified { index, outcome } => {
                let result = lock().next_result(record.at);
                if let Some(event) = result {
                    instance.resume(recorder.clone(), event).await.map_err(failed)?;
                    continue;
                }
                let promise = lock().open().get(index.0).and_then(|open| open.promise.clone());
                let promise = promise.unwrap_or_else(|| id.command(*index));
                Event::Completed(Completion {
                    command: index.0,
                    outcome: told(outcome, &promise, own),
                })
            }
            RecordBody::Signal { name, payload } => Event::Signal(Signal {
                name: name.to_string(),
                payload: outcome::guest_payload(payload),
            }),
            RecordBody::Cancelled => Event::Cancelled,
            RecordBody::Started { .. }
            | RecordBody::Command { .. }
            | RecordBody::Finished { .. } => continue,
        };
        let admitted = lock().admit(event, record.at);
        let Some(event) = admitted else {
            let stop = Stop::Contract(format!("nobody waits for what record {} says", record.seq));
            return Err(failed(GuestError::Stopped { stop, backtrace: None }));
        };
        instance.resume(recorder.clone(), event).await.map_err(failed)?;
    }
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

async fn describe(
    guests: &dyn Guests,
    module: Digest,
) -> Result<Arc<Vec<segno_guest::FunctionDescription>>, ReplayError> {
    guests.describe(module).await.map_err(|error| ReplayError::Guest { matched: 0, error })
}

fn told(
    stored: &Stored,
    promise: &PromiseId,
    own: &(dyn Fn(&PromiseId) -> Outcome + Sync),
) -> Outcome {
    match stored {
        Stored::Inline(result) => outcome::recorded(result),
        Stored::Own => own(promise),
    }
}
