//! An instance that goes on from a snapshot.

use std::sync::{Arc, Mutex, PoisonError};

use segno_core::{
    id::Digest,
    invocation::{Outline, RecordBody},
};
use segno_guest::{GuestError, MemoryChange, Workflow};

use crate::{
    host::Host,
    worker::{
        commands::Identity,
        recording::{Place, Recorder, SharedRecorder},
        replay::{ReplayStopped, Replayer, StoredJournal},
    },
};

/// How it is resumed.
pub struct Resumption<'a> {
    /// The host.
    pub host: &'a Host,
    /// The module, which is that of the snapshot.
    pub module: Digest,
    /// The invocation.
    pub identity: Identity,
    /// Lines of its log that are stored; `None`: it is a replay for a report.
    pub lines: Option<u32>,
    /// Where it stood.
    pub place: Place,
    /// What it kept.
    pub change: &'a MemoryChange,
}

/// An instance at the end of its journal.
pub struct Resumed {
    /// The instance.
    pub instance: Box<dyn Workflow>,
    /// Its recorder.
    pub recorder: SharedRecorder,
    /// The outline of the whole journal.
    pub outline: Outline,
    /// Number of records that were replayed.
    pub replayed: u32,
}

impl Resumption<'_> {
    /// Resumes it, and replays the rest of `journal`. `told` is called after each event.
    ///
    /// # Errors
    /// [`ReplayStopped`].
    pub async fn run(
        self,
        journal: &mut StoredJournal<'_>,
        told: impl Fn() + Send,
    ) -> Result<Resumed, ReplayStopped> {
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
        Ok(Resumed { instance, recorder, outline, replayed })
    }
}

impl Resumed {
    /// Where it stands, and what it keeps beside a new instance; `None`: it asked for something that
    /// is not recorded.
    pub fn place(&self) -> Option<Place> {
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.place(self.outline.clone())
    }
}
