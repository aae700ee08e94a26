//! Evaluation of promise filters.

use segno_core::{
    promise::{Promise, Task},
    tags,
};

use super::{PromiseFilter, PromiseStateFilter};

/// True if the filter matches every promise in its index range. Otherwise rows are examined that do
/// not match.
pub(super) fn finds_all(filter: &PromiseFilter) -> bool {
    filter.standing.is_none() && filter.tags.is_empty() && !filter.tasks && filter.status.is_none()
}

/// True if `filter` matches this promise. Ignores the cursor and the limit.
pub(super) fn finds(filter: &PromiseFilter, promise: &Promise, task: Option<&Task>) -> bool {
    let spec = &promise.spec;
    let stands = |standing| match (standing, promise.settlement()) {
        (PromiseStateFilter::Pending, settlement) => settlement.is_none(),
        (PromiseStateFilter::Settled(verdict), settlement) => {
            settlement.is_some_and(|settlement| settlement.verdict == verdict)
        }
    };
    let in_branch =
        |branch: &String| spec.made_by.is_none() && spec.tags.get(tags::BRANCH) == Some(branch);
    filter.branch.as_ref().is_none_or(in_branch)
        && filter.standing.is_none_or(stands)
        && filter.tags.iter().all(|(name, value)| spec.tags.get(name) == Some(value))
        && (!filter.tasks || task.is_some())
        && filter.prefix.as_ref().is_none_or(|prefix| spec.id.as_str().starts_with(prefix))
        && filter.status.is_none_or(|status| task.is_some_and(|task| task.status() == status))
}

/// Bytes that a promise adds to a page.
pub(super) fn page_bytes(promise: &Promise) -> usize {
    let value = promise.settlement().and_then(|settlement| settlement.value.as_ref());
    promise.spec.param.data.len() + value.map_or(0, |value| value.data.len())
}

/// A tag as it appears in tags written as JSON.
pub(super) fn tag_pair(name: &str, value: &str) -> String {
    let (name, value) = (serde_json::Value::from(name), serde_json::Value::from(value));
    format!("{name}:{value}")
}
