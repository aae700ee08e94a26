//! A module that repeats the records of a fork under the fork's own id, before the fork is stored.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    fork::{Fork, ForkedStream, KeptPromise},
    id::{CommandIndex, Digest, PromiseId},
    invocation::{Outcome as Stored, Outline, Record, RecordBody},
    promise::{NewPromise, Promise, module_named},
    tags,
    time::Timestamp,
    value::Tags,
};
use segno_guest::{Context, GuestError, StopReason, Workflow};

use super::{ForkError, ForkPrefix};
use crate::{
    host::Host,
    target,
    traces::TRACEPARENT,
    values::{self, journals},
    worker::{
        TrapReport,
        commands::InvocationFacts,
        recording::{CommandLedger, Recorder, SharedRecorder},
        replay::{
            CompleteJournal, JournalReadError, ReplayError, ReplayFailure, ReplayReport, Replayer,
            StartParameters, find_workflow,
        },
    },
};

/// The tags that mark a step of a saga.
const STEP: [&str; 4] = [tags::SAGA, tags::SEQ, tags::COMPENSATE, tags::UNKNOWN];

/// The new invocation of a fork.
#[derive(Debug)]
pub struct ForkedInvocation {
    /// The promise of the new invocation.
    pub new: NewPromise,
    /// The module of the new invocation.
    pub module: Digest,
}

impl ForkedInvocation {
    /// A new invocation `id` of the function of `promise`, with the same input, labels, rights,
    /// budget and time limit. It runs `module`, under the name `alias` if one is given.
    pub fn of(
        promise: &Promise,
        id: PromiseId,
        module: Digest,
        alias: Option<&str>,
        now: Timestamp,
    ) -> Self {
        let spec = &promise.spec;
        let is_kept = |name: &str| {
            name.starts_with(tags::LABEL_PREFIX) || [tags::RIGHTS, tags::BUDGET].contains(&name)
        };
        let kept = spec.tags.iter().filter(|(name, _)| is_kept(name));
        let mut new_tags: Tags = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        let name = alias.map_or_else(|| target::module_of(promise), str::to_owned);
        let name = if name.is_empty() { format!("sha256:{module}") } else { name };
        let path = target::path_of(promise);
        new_tags.insert(tags::TARGET.to_owned(), format!("wasm://{name}/{path}"));
        let mut param = spec.param.clone();
        param.headers.remove(TRACEPARENT);
        param.headers.remove(tags::MODULE_HEADER);
        let begun = tags::delay(&spec.tags).unwrap_or(spec.created_at).max(spec.created_at);
        let timeout_at = match spec.timeout_at < Timestamp::NEVER {
            true => (now + spec.timeout_at.since(begun)).min(Timestamp::NEVER),
            false => Timestamp::NEVER,
        };
        Self { new: NewPromise { id, param, tags: new_tags, timeout_at }, module }
    }
}

/// A guest that has reached the end of the records.
pub struct ReplayedFork {
    /// The new invocation.
    pub origin: ForkedInvocation,
    /// The records in the form of the new invocation.
    pub records: Vec<Record>,
    pub(super) instance: Box<dyn Workflow>,
    pub(super) recorder: SharedRecorder,
}

impl ReplayedFork {
    /// Makes the module of `origin` repeat the records of `prefix`. Nothing is stored, and no side
    /// effect happens.
    ///
    /// # Errors
    /// [`ForkError::Diverges`], [`ForkError::Replay`].
    pub async fn new(
        host: &Host,
        prefix: &ForkPrefix,
        origin: ForkedInvocation,
    ) -> Result<Self, ForkError> {
        let (own, old) = (&origin.new.id, prefix.row.promise.id());
        let failed = |matched| move |error| ReplayError::Guest { matched, error };
        let started = prefix.records.first();
        let Some(RecordBody::Started { function, input, seed, module: recorded_by, .. }) =
            started.map(|record| &record.body)
        else {
            let what = "the journal does not begin with `started`".to_owned();
            return Err(ReplayError::Damaged(old.clone(), what).into());
        };
        let functions = find_workflow(host, origin.module, function).await.map_err(failed(0))?;
        let outline = Outline::of(&prefix.records)
            .map_err(|refused| ReplayError::unread(old, JournalReadError::Refused(refused)))?;
        let records = outline.head().len;
        let identity = InvocationFacts {
            id: own.clone(),
            made_at: Timestamp::default(),
            module: module_named(&origin.new.tags).unwrap_or_default(),
            object: target::object_of(&prefix.row.promise).map(|object| (object, false)),
            functions,
            outbound: None,
        };
        let recorder = Recorder::over(identity, outline, true)
            .with_ledger(CommandLedger::new(own.clone(), old.clone()));
        let instance = host.guests.instantiate(origin.module, recorder.engine_facts()).await;
        let mut instance = instance.map_err(failed(0))?;
        let recorder = Arc::new(Mutex::new(recorder));
        let start = StartParameters {
            function: function.to_string(),
            input: journals::guest_payload(input),
            context: Context {
                invocation: own.as_str().to_owned(),
                parent: None,
                started_at_ms: started.map_or(0, |record| u64::try_from(record.at.0).unwrap_or(0)),
                seed: seed.0.to_vec(),
            },
        };
        let source = CompleteJournal(&prefix.records);
        let replayer = Replayer { recorder: &recorder, source: &source };
        let stopped = replayer.run(&mut *instance, start, || {}).await.err();
        let matched = locked(&recorder).matched();
        match stopped {
            None => {}
            Some(ReplayFailure::Unread(not_read)) => {
                return Err(ReplayError::unread(old, not_read).into());
            }
            Some(ReplayFailure::Guest(GuestError::Stopped {
                stop: StopReason::Divergence,
                backtrace,
            })) => {
                let report = ReplayReport {
                    module: origin.module,
                    recorded_by: *recorded_by,
                    records,
                    matched,
                    finished: false,
                    running: prefix.row.promise.is_pending(),
                    divergence: locked(&recorder).divergence().cloned(),
                    stack: TrapReport::new(backtrace.as_ref(), None),
                    recorded_stack: TrapReport::default(),
                    note: None,
                };
                return Err(ForkError::Diverges { id: old.clone(), report: Box::new(report) });
            }
            Some(ReplayFailure::Guest(error)) => return Err(failed(matched)(error).into()),
        }
        let records = under_own_id(&prefix.records, &locked(&recorder));
        Ok(Self { origin, records, instance, recorder })
    }

    /// The fork that begins here.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn into_fork(self, host: &Host, prefix: &ForkPrefix) -> Result<Fork, ForkError> {
        let Self { origin: ForkedInvocation { new, module }, records, recorder, .. } = self;
        let kept = kept(host, prefix, &new.id, &records, &recorder).await?;
        let of = prefix.row.promise.id().clone();
        let set = prefix.set.iter().copied().collect();
        let owner = prefix.stream_owner();
        let streams = host.store.read().streams_of(&owner).await?;
        let mut appends = appends(prefix, &locked(&recorder));
        let streams = streams.into_iter().map(|stream| ForkedStream {
            appends: appends.remove(stream.id.name()).unwrap_or_default(),
            id: stream.id,
        });
        let (module, copied, streams) = (Some(module), prefix.at, streams.collect());
        Ok(Fork { new, module, of, set, records, copied, kept, streams })
    }
}

/// The appends of the copied records, by stream: the number of the record, and the number of
/// positions.
fn appends(prefix: &ForkPrefix, recorder: &Recorder) -> BTreeMap<String, Vec<(u32, u64)>> {
    let items = recorder.ledger().map_or(&[][..], CommandLedger::stream_items);
    let mut items = items.iter().peekable();
    let mut appends: BTreeMap<String, Vec<(u32, u64)>> = BTreeMap::new();
    for record in prefix.records.iter().take(prefix.at as usize) {
        let RecordBody::Command { index, .. } = &record.body else { continue };
        if let Some((_, item)) = items.next_if(|(command, _)| command == index) {
            let of_stream = appends.entry(item.name.to_string()).or_default();
            of_stream.push((record.seq, item.items.count));
        }
    }
    appends
}

/// The settled promises that the guest may refer to later: those with names, and those of sagas.
async fn kept(
    host: &Host,
    prefix: &ForkPrefix,
    own: &PromiseId,
    records: &[Record],
    recorder: &SharedRecorder,
) -> Result<Vec<KeptPromise>, ForkError> {
    let old = prefix.row.promise.id();
    let mut seen = BTreeSet::new();
    let mut found: Vec<(CommandIndex, &Stored, PromiseId)> = Vec::new();
    {
        let recorder = locked(recorder);
        let steps = steps(records);
        for record in records {
            let RecordBody::Notified { index, outcome } = &record.body else { continue };
            let id = recorder.promise_of(index.0);
            let is_kept = id != own.command(*index) || steps.contains(index);
            if is_kept && id.is_minted_by(own) && seen.insert(id.clone()) {
                found.push((*index, outcome, id));
            }
        }
    }
    let theirs = |id: &PromiseId| {
        let below = &id.as_str()[own.as_str().len()..];
        PromiseId::new(format!("{old}{below}"))
    };
    let ids: Vec<PromiseId> = found.iter().map(|(.., id)| theirs(id)).collect();
    let rows = host.store.read().promises(&ids).await?;
    let kept = found.into_iter().zip(rows).filter_map(|((index, outcome, id), row)| {
        let promise = row.map(|row| row.promise);
        let all = promise.iter().flat_map(|promise| &promise.spec.tags);
        let step = all.filter(|(name, _)| STEP.contains(&name.as_str()));
        let tags: Tags = step.map(|(name, value)| (name.clone(), value.clone())).collect();
        let known = promise.as_ref().and_then(Promise::settlement);
        let (verdict, value) = match (known, outcome) {
            (Some(known), _) if !prefix.set.contains(&index) => {
                (known.verdict, known.value.clone())
            }
            (_, Stored::Inline(result)) => {
                let (verdict, value) = values::verdict(&journals::recorded(result));
                (verdict, Some(value))
            }
            (_, Stored::Own) => return None,
        };
        Some(KeptPromise { id, tags, verdict, value })
    });
    Ok(kept.collect())
}

/// The commands that are steps of sagas.
fn steps(records: &[Record]) -> BTreeSet<CommandIndex> {
    let declares = |record: &Record| match &record.body {
        RecordBody::Command { index, request, .. } => {
            let fields = request.fields().unwrap_or_default();
            fields.iter().any(|field| field.name.as_str() == "saga").then_some(*index)
        }
        _ => None,
    };
    records.iter().filter_map(declares).collect()
}

/// The records, with the commands in the form in which the guest issued them under its own id.
fn under_own_id(records: &[Record], recorder: &Recorder) -> Vec<Record> {
    let asked = recorder.ledger().map_or(&[][..], CommandLedger::asked);
    let own = |record: &Record| {
        let mut record = record.clone();
        if let RecordBody::Command { index, name, request, .. } = &mut record.body
            && let Some(asked) = asked.get(index.0 as usize)
        {
            (*name, *request) = (asked.name.clone(), asked.request.clone());
        }
        record
    };
    records.iter().map(own).collect()
}

pub(super) fn locked(recorder: &SharedRecorder) -> MutexGuard<'_, Recorder> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}
