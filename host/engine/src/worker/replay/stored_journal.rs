//! A journal in a store, read in pages, so that the memory of a long replay stays bounded.

use std::sync::PoisonError;

use async_trait::async_trait;
use segno_core::{
    id::PromiseId,
    invocation::{AppendRefusal, Outcome as StoredOutcome, Outline, Record, RecordBody},
};
use segno_guest::Outcome;
use segno_store::{Store, StoreError};

use super::JournalSource;
use crate::{values, worker::recording::SharedRecorder};

/// Maximum number of records in one page.
const PAGE: u32 = 2_048;

/// The first `most` records of a journal, or all if it is shorter.
pub async fn first_records(
    store: &dyn Store,
    id: &PromiseId,
    most: u32,
) -> Result<Vec<Record>, StoreError> {
    let mut records = Vec::new();
    loop {
        let from = records.len() as u32;
        let limit = PAGE.min(most - from);
        let page = match limit {
            0 => Vec::new(),
            limit => store.read().journal(id, from, limit).await?,
        };
        if page.is_empty() {
            return Ok(records);
        }
        records.extend(page);
    }
}

/// The journal of one invocation.
pub struct StoredJournal<'a> {
    store: &'a dyn Store,
    id: &'a PromiseId,
    /// The length of the journal, if known. Under a claim, nothing else appends to it. Otherwise
    /// the length at the time of the outline. Records that are appended later are not read.
    len: Option<u32>,
    /// The outcome of the invocation, if it must be inserted into the last record.
    end: Option<StoredOutcome>,
}

/// The reason why a journal could not be read.
#[derive(Debug)]
pub enum JournalReadError {
    /// Records are missing at the end.
    Short {
        /// The index of the first missing record.
        at: u32,
    },
    /// The records are not a valid journal.
    Refused(AppendRefusal),
    /// The journal refers to the value of this promise, which has none.
    NoValue(PromiseId),
    /// The store did not answer.
    Store(StoreError),
}

impl<'a> StoredJournal<'a> {
    /// The journal of `id`, which is `len` records long.
    pub fn new(store: &'a dyn Store, id: &'a PromiseId, len: u32) -> Self {
        Self { store, id, len: Some(len), end: None }
    }

    /// The journal of `id`, with the length at the time of the outline.
    pub fn whole(store: &'a dyn Store, id: &'a PromiseId) -> Self {
        Self { store, id, len: None, end: None }
    }

    /// Inserts `end` into the last record, if that record refers to the promise for its outcome.
    pub fn ending(mut self, end: Option<StoredOutcome>) -> Self {
        self.end = end;
        self
    }

    /// Reads the whole journal once. Returns its outline and its first page.
    pub async fn outline(&mut self) -> Result<(Outline, Vec<Record>), JournalReadError> {
        self.outline_after(Outline::default()).await
    }

    /// Reads the records after `outline` once. Returns the outline of the whole journal, and the
    /// first page of the records that were read.
    pub async fn outline_after(
        &mut self,
        mut outline: Outline,
    ) -> Result<(Outline, Vec<Record>), JournalReadError> {
        let known = outline.head().len;
        let mut first = Vec::new();
        while self.len.is_none_or(|len| outline.head().len < len) {
            let from = outline.head().len;
            let page = self.page(from).await?;
            if page.is_empty() && self.len.is_some() {
                return Err(JournalReadError::Short { at: from });
            }
            outline.add(&page).map_err(JournalReadError::Refused)?;
            let is_last = page.len() < PAGE as usize;
            if from == known {
                first = page;
            }
            if is_last && self.len.is_none() {
                break;
            }
        }
        self.len = Some(outline.head().len);
        Ok((outline, first))
    }

    async fn page(&self, from: u32) -> Result<Vec<Record>, JournalReadError> {
        let limit = self.len.map_or(PAGE, |len| PAGE.min(len.saturating_sub(from)));
        let mut page = self
            .store
            .read()
            .journal(self.id, from, limit)
            .await
            .map_err(JournalReadError::Store)?;
        if let Some(Record { body: RecordBody::Finished { outcome }, .. }) = page.last_mut()
            && *outcome == StoredOutcome::Own
            && let Some(end) = &self.end
        {
            *outcome = end.clone();
        }
        Ok(page)
    }
}

#[async_trait]
impl JournalSource for StoredJournal<'_> {
    async fn fill(&self, recorder: &SharedRecorder) -> Result<(), JournalReadError> {
        let recorder = || recorder.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(from) = recorder().lacks() else { return Ok(()) };
            let page = self.page(from).await?;
            if recorder().feed(page) == 0 {
                return Err(JournalReadError::Short { at: from });
            }
        }
    }

    async fn outcome(&self, id: &PromiseId) -> Result<Outcome, JournalReadError> {
        let row = self.store.read().promise(id).await.map_err(JournalReadError::Store)?;
        let told = row.as_ref().and_then(|row| values::told(&row.promise));
        told.ok_or_else(|| JournalReadError::NoValue(id.clone()))
    }
}
