//! Subjects with unreadable rows.

use super::View;
use crate::{id::PromiseId, unreadable::Subject, value::Text};

impl View {
    /// The defect of this subject's rows, if they cannot be read.
    pub fn unreadable(&self, subject: &Subject) -> Option<&Text> {
        self.unreadable.get(subject)
    }

    /// True if there are any unreadable rows.
    pub fn has_unreadable(&self) -> bool {
        !self.unreadable.is_empty()
    }

    /// True if a row of this promise's composite cannot be read.
    pub fn is_unreadable(&self, id: &PromiseId) -> bool {
        self.has_unreadable() && self.unreadable.contains_key(&Subject::Promise(id.clone()))
    }

    /// The promises with unreadable rows.
    pub fn unreadable_promises(&self) -> impl Iterator<Item = &PromiseId> {
        self.unreadable.keys().filter_map(|subject| match subject {
            Subject::Promise(id) => Some(id),
            Subject::Schedule(_)
            | Subject::Message(_)
            | Subject::Resource(_)
            | Subject::Object(_)
            | Subject::Limit(_)
            | Subject::Stream(_) => None,
        })
    }

    /// Marks a subject as having a row that cannot be read.
    pub fn put_unreadable(&mut self, subject: Subject, why: Text) {
        self.unreadable.entry(subject).or_insert(why);
    }

    /// Removes the mark: the unreadable rows of this subject were replaced or deleted.
    pub(super) fn readable(&mut self, subject: impl FnOnce() -> Subject) {
        if self.has_unreadable() {
            self.unreadable.remove(&subject());
        }
    }
}
