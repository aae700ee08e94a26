//! What has rows that are there and cannot be read.

use super::View;
use crate::{id::PromiseId, unreadable::Subject, value::Text};

impl View {
    /// Why the rows about this cannot be read, if they cannot.
    pub fn unreadable(&self, subject: &Subject) -> Option<&Text> {
        self.unreadable.get(subject)
    }

    /// Whether there is anything whose rows cannot be read.
    pub fn has_unreadable(&self) -> bool {
        !self.unreadable.is_empty()
    }

    /// Whether the rows of this promise, or of something else of its composite, cannot be read.
    pub fn is_unreadable(&self, id: &PromiseId) -> bool {
        self.has_unreadable() && self.unreadable.contains_key(&Subject::Promise(id.clone()))
    }

    /// The promises whose rows cannot be read.
    pub fn unreadable_promises(&self) -> impl Iterator<Item = &PromiseId> {
        self.unreadable.keys().filter_map(|subject| match subject {
            Subject::Promise(id) => Some(id),
            Subject::Schedule(_)
            | Subject::Message(_)
            | Subject::Resource(_)
            | Subject::Object(_)
            | Subject::Limit(_) => None,
        })
    }

    /// Says that a row about this is there and cannot be read.
    pub fn put_unreadable(&mut self, subject: Subject, why: Text) {
        self.unreadable.entry(subject).or_insert(why);
    }

    /// Whatever could not be read of this is not there any more.
    pub(super) fn readable(&mut self, subject: impl FnOnce() -> Subject) {
        if self.has_unreadable() {
            self.unreadable.remove(&subject());
        }
    }
}
