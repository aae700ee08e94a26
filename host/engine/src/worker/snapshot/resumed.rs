//! Continues an instance from a snapshot.

use std::sync::{Arc, Mutex, PoisonError};

use segno_core::{
    id::Digest,
    invocation::{Outline, RecordBody},
};
use segno_guest::{GuestError, MemoryChange, Workflow};

use crate::{
    host::Host,
    worker::{
        commands::InvocationFacts,
        recording::{Recorder, RecorderPosition, SharedRecorder},
        replay::{ReplayFailure, Replayer, StoredJournal},
    },
};

/// The parameters of a restore.
pub(super) struct RestoreParameters<'a> {
    pub host: &'a Host,
    /// The module of the snapshot.
    pub module: Digest,
    pub identity: InvocationFacts,
    /// Number of stored lines of the log. `None` for a replay for a report.
    pub lines: Option<u32>,
    /// The place of the recorder in the snapshot.
    pub place: RecorderPosition,
    /// The saved memory.
    pub change: &'a MemoryChange,
}

/// An instance at the end of its journal.
pub(crate) struct ResumedInstance {
    pub instance: Box<dyn Workflow>,
    pub recorder: SharedRecorder,
    /// The outline of the whole journal.
    pub outline: Outline,
    /// Number of records that were replayed.
    pub replayed: u32,
}

impl RestoreParameters<'_> {
    /// Restores the instance, and replays the rest of `journal`. `told` is called after each event.
    ///
    /// # Errors
    /// [`ReplayFailure`].
    pub(super) async fn run(
        self,
        journal: &mut StoredJournal<'_>,
        told: impl Fn() + Send,
    ) -> Result<ResumedInstance, ReplayFailure> {
        let Self { host, module, identity, lines, place, change } = self;
        let Some(RecordBody::Started { function, seed, engine, .. }) =
            place.outline().started().map(|record| &record.body)
        else {
            return Err(GuestError::Host("the snapshot is of no invocation".into()).into());
        };
        let mut instance = host.guests.accessible(module, Some(*engine)).await?;
        instance.restore(function, &seed.0, change).await?;
        let kept = place.outline().head().len;
        let (outline, records) = journal.outline_after(place.outline().clone()).await?;
        let mut recorder = Recorder::resumed_at(identity, place, lines.is_none())
            .with_stored_lines(lines.unwrap_or_default());
        if !records.is_empty() {
            recorder.go_on(outline.clone());
            recorder.feed(records);
        }
        let recorder = Arc::new(Mutex::new(recorder));
        Replayer { recorder: &recorder, source: journal }.go_on(&mut *instance, told).await?;
        let replayed = outline.head().len - kept;
        Ok(ResumedInstance { instance, recorder, outline, replayed })
    }
}

impl ResumedInstance {
    /// The place of the recorder. `None` if the guest has issued an unrecorded command.
    pub(crate) fn place(&self) -> Option<RecorderPosition> {
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.place(self.outline.clone())
    }
}
