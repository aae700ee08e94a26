//! The promises of workflows. Each is settled once, and later readers get the same result.

use std::collections::BTreeMap;

use segno_restate::immutable::NotificationResult;

/// Service and key of a workflow.
pub(super) type Place = (String, String);
/// An invocation that waits for a promise, and the completion id for the result.
pub(super) type Waiter = (String, u32);

/// Promises of all workflows, by workflow and name.
#[derive(Default)]
pub(super) struct Promises(BTreeMap<(Place, String), Promise>);

enum Promise {
    Pending(Vec<Waiter>),
    Settled(NotificationResult),
}

impl Promises {
    /// Result of a promise. If there is none yet, returns `None` and registers the waiter.
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

    /// Result of a promise. `Void` if it is not settled.
    pub(super) fn peek(&self, place: Place, name: String) -> NotificationResult {
        match self.0.get(&(place, name)) {
            Some(Promise::Settled(result)) => result.clone(),
            Some(Promise::Pending(_)) | None => NotificationResult::Void,
        }
    }

    /// Settles a promise, and returns its waiters. `None` if it was already settled.
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
