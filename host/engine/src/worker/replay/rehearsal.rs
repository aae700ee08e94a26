//! A replay without a claim, which writes nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use segno_core::{
    address,
    id::{Digest, PromiseId},
    invocation::{EngineFacts, Outline, RecordBody},
    promise::{Note, Task},
};
use segno_guest::{FunctionDescription, FunctionKind, GuestError, Workflow};
use segno_store::PromiseRow;

use super::{JournalReadError, ReplayError, Replayer, StartParameters, StoredJournal};
use crate::{
    host::Host,
    target,
    values::{self, journals},
    worker::{
        commands::InvocationFacts,
        recording::{Recorder, SharedRecorder},
    },
};

/// A guest before its start, and the journal that it replays.
pub struct ReplaySetup<'a> {
    /// The invocation.
    pub row: PromiseRow,
    /// The module that is run.
    pub module: Digest,
    /// The module that wrote the journal.
    pub recorded_by: Digest,
    /// The outline of the replayed records.
    pub outline: Outline,
    /// The recorder that compares commands with records.
    pub recorder: SharedRecorder,
    pub instance: Box<dyn Workflow>,
    journal: StoredJournal<'a>,
    start: Option<StartParameters>,
}

impl<'a> ReplaySetup<'a> {
    /// Prepares a replay of `id`'s journal, or of its first `records`, on the module that runs the
    /// execution or on another one.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub async fn new(
        host: &'a Host,
        id: &'a PromiseId,
        module: Option<Digest>,
        records: Option<u32>,
    ) -> Result<Self, ReplayError> {
        let mut journal = match records {
            Some(records) => StoredJournal::new(&*host.store, id, records),
            None => StoredJournal::whole(&*host.store, id),
        };
        let outlined = journal.outline().await;
        // The journal is read before the promise: if the journal has its end by then, the promise
        // has the outcome as well.
        let row = host
            .store
            .read()
            .promise(id)
            .await?
            .ok_or_else(|| ReplayError::NotFound(id.clone()))?;
        let (outline, _) = outlined.map_err(|not_read| match (not_read, records) {
            (JournalReadError::Short { at }, Some(asked)) => {
                ReplayError::NoSuchRecord { id: id.clone(), asked, records: at }
            }
            (not_read, _) => ReplayError::unread(id, not_read),
        })?;
        let end = row.promise.settlement();
        let end = end.map(|settlement| journals::stored(&values::outcome(settlement), false));
        let journal = journal.ending(end);
        let no_journal = || ReplayError::NoJournal(id.clone(), why_not(&row));
        if target::is_service(&row.promise) {
            return Err(no_journal());
        }
        let started = outline.started().ok_or_else(no_journal)?;
        let RecordBody::Started { module: recorded_by, .. } = started.body else {
            return Err(no_journal());
        };
        let start =
            StartParameters::recorded(&row.promise, started).expect("it is the record of a start");
        // An execution that was moved is replayed on the module that continued it, which repeats
        // the earlier records.
        let own = row.task.as_ref().and_then(|task| task.module).unwrap_or(recorded_by);
        let module = module.unwrap_or(own);

        let failed = |error: GuestError| ReplayError::Guest { matched: 0, error };
        let functions = find_workflow(host, module, &start.function).await.map_err(failed)?;
        let module_name = target::module_of(&row.promise);
        let object = target::object_of(&row.promise).map(|object| (object, false));
        let identity = InvocationFacts {
            id: id.clone(),
            made_at: row.promise.spec.created_at,
            module: module_name,
            object,
            functions,
            outbound: None,
        };
        let recorder = Recorder::over(identity, outline.clone(), true);
        let instance =
            host.guests.instantiate(module, recorder.engine_facts()).await.map_err(failed)?;
        let (recorder, start) = (Arc::new(Mutex::new(recorder)), Some(start));
        Ok(Self { row, module, recorded_by, outline, recorder, instance, journal, start })
    }

    /// The engine settings with which the journal began.
    pub fn engine_facts(&self) -> Option<EngineFacts> {
        self.recorder().engine_facts()
    }

    /// The facts about the invocation that commands need.
    pub fn identity(&self) -> InvocationFacts {
        self.recorder().identity().clone()
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replays the journal. `told` is called after the start, and after each event.
    ///
    /// # Errors
    /// [`ReplayFailure`](super::ReplayFailure).
    ///
    /// # Panics
    /// If it was run before.
    pub async fn run(&mut self, told: impl Fn() + Send) -> Result<(), super::ReplayFailure> {
        let replayer = Replayer { recorder: &self.recorder, source: &self.journal };
        let start = self.start.take().expect("a rehearsal is run once");
        replayer.run(&mut *self.instance, start, told).await
    }
}

/// The functions of a module that has this workflow.
///
/// # Errors
/// The module is not stored, cannot be prepared, or has no such workflow.
pub(crate) async fn find_workflow(
    host: &Host,
    module: Digest,
    function: &str,
) -> Result<Arc<Vec<FunctionDescription>>, GuestError> {
    let functions = host.guests.describe(module).await?;
    let name = address::function_of(function);
    let is_there =
        |known: &FunctionDescription| known.name == name && known.kind == FunctionKind::Workflow;
    if functions.iter().any(is_there) {
        return Ok(functions);
    }
    let known: Vec<&str> = functions.iter().map(|known| known.name.as_str()).collect();
    let (kind, function, known) = ("workflow", function.to_owned(), known.join(", "));
    Err(GuestError::NoSuchFunction { kind, function, known })
}

/// The note of the last failed attempt. `None` if the invocation has ended or no attempt failed.
pub(super) fn failed_attempt(row: &PromiseRow) -> Option<&Note> {
    let task = row.task.as_ref().filter(|task| task.attempt > 0 && row.promise.is_pending())?;
    task.note.as_ref()
}

/// The reason why an invocation has no journal that can be replayed.
pub(crate) fn why_not(row: &PromiseRow) -> String {
    let removed = row.task.as_ref().and_then(Task::journal_removed);
    if let Some(note) = removed {
        return note.message.to_string();
    }
    let why = match &row.task {
        None => "it is a promise without a function",
        Some(_) if target::is_service(&row.promise) => {
            "it is one of a service, whose deployment compares the journal itself in every attempt"
        }
        Some(task) if task.module.is_none() => "it is not run by a module",
        Some(_) => "it has no record yet, or it is an activity: only workflows are replayed",
    };
    match failed_attempt(row) {
        Some(note) => format!("{why}; its last attempt failed: {}", note.message),
        None => why.to_owned(),
    }
}
