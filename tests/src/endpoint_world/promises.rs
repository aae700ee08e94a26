//! The promises of workflows: each is settled once, and there for whoever asks later.

use std::collections::BTreeMap;

use segno_restate::immutable::NotificationResult;

/// A workflow: its service and key.
pub(super) type Place = (String, String);
/// Who waits for a promise: an invocation, and the completion id under which it is told.
pub(super) type Waiter = (String, u32);

/// The promises of all workflows, by their names.
#[derive(Default)]
pub(super) struct Promises(BTreeMap<(Place, String), Promise>);

enum Promise {
    Pending(Vec<Waiter>),
    Settled(NotificationResult),
}

impl Promises {
    /// The result of a promise; none: the waiter is one of those that wait for it now.
    pub(super) fn wait(
        &mut self,
        place: Place,
        name: String,
        waiter: Waiter,
    ) -> Option<NotificationResult> {
        let promise = self.0.entry((place, name)).or_insert(Promise::Pending(Vec::new()));
        match promise {
            Promise::Pending(waiters) => {
                waiters.push(waiter);
                None
            }
            Promise::Settled(result) => Some(result.clone()),
        }
    }

    /// How a promise stands; nothing: nobody has settled it.
    pub(super) fn peek(&self, place: Place, name: String) -> NotificationResult {
        match self.0.get(&(place, name)) {
            Some(Promise::Settled(result)) => result.clone(),
            Some(Promise::Pending(_)) | None => NotificationResult::Void,
        }
    }

    /// Settles a promise, and answers who waits for it. None: it was settled before.
    pub(super) fn settle(
        &mut self,
        place: Place,
        name: String,
        result: NotificationResult,
    ) -> Option<Vec<Waiter>> {
        let promise = self.0.entry((place, name)).or_insert(Promise::Pending(Vec::new()));
        match promise {
            Promise::Pending(waiters) => {
                let waiters = std::mem::take(waiters);
                *promise = Promise::Settled(result);
                Some(waiters)
            }
            Promise::Settled(_) => None,
        }
    }
}
