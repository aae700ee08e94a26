//! The journal of an execution that is replayed: read in pages, so that its length costs time and no memory.

use std::sync::{Mutex, PoisonError};

use segno_core::{
    id::PromiseId,
    invocation::{AppendRefused, Outcome as Stored, Outline, Record, RecordBody},
};

use super::recorder::Recorder;
use segno_store::{Store, StoreError};

/// Records read at a time.
const PAGE: u32 = 2_048;

/// A journal in a store.
pub struct Pages<'a> {
    store: &'a dyn Store,
    id: &'a PromiseId,
    /// Its length, if that is known: under a claim it grows by that claim only. Otherwise it is the length it had when it
    /// was looked over; what is appended later is not read.
    len: Option<u32>,
    /// What the last record left in its promise, if that is to be put back.
    end: Option<Stored>,
}

/// Why a journal could not be read.
#[derive(Debug)]
pub enum NotRead {
    /// It ends before its end.
    Short {
        /// Where.
        at: u32,
    },
    /// It is no journal.
    Refused(AppendRefused),
    /// The store did not answer.
    Store(StoreError),
}

impl<'a> Pages<'a> {
    /// The journal of `id`, which is `len` records long.
    pub fn new(store: &'a dyn Store, id: &'a PromiseId, len: u32) -> Self {
        Self { store, id, len: Some(len), end: None }
    }

    /// The journal of `id`, as long as it is when it is looked over, whoever appends to it meanwhile.
    pub fn whole(store: &'a dyn Store, id: &'a PromiseId) -> Self {
        Self { store, id, len: None, end: None }
    }

    /// Puts `end` into the last record if that left it in its promise.
    pub fn ending(mut self, end: Option<Stored>) -> Self {
        self.end = end;
        self
    }

    /// Looks over all of it. Answers its outline and its first page.
    pub async fn outline(&mut self) -> Result<(Outline, Vec<Record>), NotRead> {
        let mut outline = Outline::default();
        let mut first = Vec::new();
        while self.len.is_none_or(|len| outline.head().len < len) {
            let from = outline.head().len;
            let page = self.page(from).await?;
            if page.is_empty() && self.len.is_some() {
                return Err(NotRead::Short { at: from });
            }
            outline.add(&page).map_err(NotRead::Refused)?;
            let is_last = page.len() < PAGE as usize;
            if from == 0 {
                first = page;
            }
            if is_last && self.len.is_none() {
                break;
            }
        }
        self.len = Some(outline.head().len);
        Ok((outline, first))
    }

    /// Hands over what the next poll needs.
    pub async fn fill(&self, recorder: &Mutex<Recorder>) -> Result<(), NotRead> {
        let recorder = || recorder.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(from) = recorder().lacks() else { return Ok(()) };
            let page = self.page(from).await?;
            if recorder().feed(page) == 0 {
                return Err(NotRead::Short { at: from });
            }
        }
    }

    async fn page(&self, from: u32) -> Result<Vec<Record>, NotRead> {
        let limit = self.len.map_or(PAGE, |len| PAGE.min(len.saturating_sub(from)));
        let mut page =
            self.store.read().journal(self.id, from, limit).await.map_err(NotRead::Store)?;
        if let Some(Record { body: RecordBody::Finished { outcome }, .. }) = page.last_mut()
            && *outcome == Stored::Own
            && let Some(end) = &self.end
        {
            *outcome = end.clone();
        }
        Ok(page)
    }
}
