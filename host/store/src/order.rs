//! Orderings shared by all stores: of new promises, messages and texts.

use segno_core::{delta::Delta, id::PromiseId, promise::OutboxKey};

/// The unnumbered promises of a decision, in the order in which they receive numbers: owners before
/// the promises they make, and command 2 before command 10.
pub(super) fn unnumbered(
    delta: &Delta,
    is_numbered: impl Fn(&PromiseId) -> bool,
) -> Vec<PromiseId> {
    let mut fresh: Vec<_> = delta.promises.keys().filter(|id| !is_numbered(id)).cloned().collect();
    fresh.sort_by(|left, right| (left.as_str().len(), left).cmp(&(right.as_str().len(), right)));
    fresh
}

/// The sort key of messages about one promise.
pub(super) fn outbox_order(key: &OutboxKey) -> (i64, String) {
    match key {
        OutboxKey::Execute(_) => (1, String::new()),
        OutboxKey::Unblock(_, address) => (2, address.to_string()),
        OutboxKey::Event(_, index) => (3, index.to_string()),
        OutboxKey::CancelChildren(_) => (4, String::new()),
        OutboxKey::LeaveLimit(_, limit) => (5, limit.to_string()),
    }
}

/// The smallest text that sorts after all texts with this prefix. `None` if there is none.
pub(super) fn end_of_prefix(prefix: &str) -> Option<String> {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        let behind = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(behind) = behind {
            end.push(behind);
            return Some(end.into_iter().collect());
        }
    }
    None
}
