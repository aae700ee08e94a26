//! Journals: their heads, and the requested records.

use super::View;
use crate::{
    delta::JournalAppend,
    id::PromiseId,
    invocation::{JournalHead, Record},
};

impl View {
    /// Head of this invocation's journal. The head of an empty journal if it has none.
    pub fn head(&self, invocation: &PromiseId) -> JournalHead {
        self.heads.get(invocation).copied().unwrap_or_default()
    }

    /// The loaded records of this journal: the last ones, up to its head.
    pub fn tail(&self, invocation: &PromiseId) -> &[Record] {
        self.tails.get(invocation).map_or(&[], Vec::as_slice)
    }

    pub fn heads(&self) -> impl Iterator<Item = (&PromiseId, &JournalHead)> {
        self.heads.iter()
    }

    pub fn put_head(&mut self, invocation: PromiseId, head: JournalHead) {
        self.heads.insert(invocation, head);
    }

    /// Sets the last records of a journal, up to its head.
    pub fn put_tail(&mut self, invocation: PromiseId, records: Vec<Record>) {
        self.tails.insert(invocation, records);
    }

    /// Appends further records to the loaded tail of a journal.
    pub fn extend_tail(&mut self, invocation: &PromiseId, records: Vec<Record>) {
        match self.tails.get_mut(invocation) {
            Some(tail) => tail.extend(records),
            None => self.put_tail(invocation.clone(), records),
        }
    }

    pub(super) fn drop_journal(&mut self, invocation: &PromiseId) {
        self.heads.remove(invocation);
        self.tails.remove(invocation);
    }

    pub(super) fn append(&mut self, append: &JournalAppend) {
        self.heads.insert(append.invocation.clone(), append.after);
        if let Some(tail) = self.tails.get_mut(&append.invocation) {
            tail.extend(append.records.iter().cloned());
        }
    }
}
