//! Evaluation of invocation filters: matching, the index that a database searches, and the order of
//! a page.

use segno_core::{
    id::Holder,
    promise::{Promise, PromiseState, Task, TaskStatus, Verdict},
    tags,
};

use super::{
    InvocationFilter, InvocationRow, Page, StoreError, UnreadableEntity, promise_filter::tag_pair,
};

/// An invocation state that listings filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListedState {
    /// The promise is pending and its task has this status.
    Open(TaskStatus),
    /// The promise settled with this verdict.
    Settled(Verdict),
}

impl ListedState {
    /// The state with this name; an error if there is none.
    pub(super) fn named(name: &str) -> Result<Self, StoreError> {
        Ok(match name {
            "pending" => Self::Open(TaskStatus::Pending),
            "acquired" => Self::Open(TaskStatus::Acquired),
            "suspended" => Self::Open(TaskStatus::Suspended),
            "halted" => Self::Open(TaskStatus::Halted),
            "resolved" => Self::Settled(Verdict::Resolved),
            "rejected" => Self::Settled(Verdict::Rejected),
            "cancelled" => Self::Settled(Verdict::Canceled),
            "timed-out" => Self::Settled(Verdict::TimedOut),
            other => {
                return Err(StoreError::Filter(format!(
                    "`{other}` is no state; there are pending, acquired, suspended, halted, resolved, rejected, \
                     cancelled and timed-out"
                )));
            }
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Open(TaskStatus::Pending | TaskStatus::Fulfilled) => "pending",
            Self::Open(TaskStatus::Acquired) => "acquired",
            Self::Open(TaskStatus::Suspended) => "suspended",
            Self::Open(TaskStatus::Halted) => "halted",
            Self::Settled(Verdict::Resolved) => "resolved",
            Self::Settled(Verdict::Rejected) => "rejected",
            Self::Settled(Verdict::Canceled) => "cancelled",
            Self::Settled(Verdict::TimedOut) => "timed-out",
        }
    }

    pub(super) fn of(promise: &Promise, task: &Task) -> Self {
        match promise.settlement() {
            None => Self::Open(task.status()),
            Some(settlement) => Self::Settled(settlement.verdict),
        }
    }

    fn takes(self, promise: &Promise, task: &Task) -> bool {
        match (self, &promise.state) {
            (Self::Open(status), PromiseState::Pending) => task.status() == status,
            (Self::Settled(verdict), PromiseState::Settled(settled)) => settled.verdict == verdict,
            (Self::Open(_), PromiseState::Settled(_))
            | (Self::Settled(_), PromiseState::Pending) => false,
        }
    }
}

/// The set of rows in which a page of invocations is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchBase {
    /// All tasks, newest first.
    Tasks,
    /// Halted tasks, newest first.
    Halted,
    /// Children of one invocation, newest first.
    Children,
    /// Tasks claimed by a holder with one of these names, unordered.
    Held,
    /// All claimed tasks, unordered.
    Acquired,
    /// Ids with the filter's prefix, unordered.
    Prefix,
}

/// True if `filter` matches every invocation, or every child of an invocation, apart from state and
/// holder.
pub(super) fn takes_all(filter: &InvocationFilter) -> bool {
    filter.module.is_none()
        && filter.function.is_none()
        && filter.prefix.is_none()
        && filter.label.is_none()
        && !filter.roots
        && filter.since.is_none()
        && filter.until.is_none()
}

/// True if `filter` matches this invocation. Ignores the cursor and the limit.
pub(super) fn takes(
    filter: &InvocationFilter,
    promise: &Promise,
    task: &Task,
) -> Result<bool, StoreError> {
    let state = filter.state.as_deref().map(ListedState::named).transpose()?;
    let spec = &promise.spec;
    let target = promise.target().unwrap_or_default();
    let in_module = |module: &String| {
        target
            .strip_prefix("wasm://")
            .and_then(|rest| rest.split_once('/'))
            .is_some_and(|(named, _)| named == module)
    };
    let of_function = |function: &String| {
        target == function
            || target.strip_suffix(function.as_str()).is_some_and(|rest| rest.ends_with('/'))
    };
    let labelled =
        |(label, value): &(String, String)| spec.tags.get(&label_tag(label)) == Some(value);
    let held_by = |holder: &str| {
        let holds =
            |name: &String| task.lease().is_some_and(|lease| lease.holder.node.as_str() == name);
        holder_names(holder).iter().any(holds)
    };
    Ok(state.is_none_or(|state| state.takes(promise, task))
        && filter.module.as_ref().is_none_or(in_module)
        && filter.function.as_ref().is_none_or(of_function)
        && filter.prefix.as_ref().is_none_or(|prefix| spec.id.as_str().starts_with(prefix))
        && filter.holder.as_deref().is_none_or(held_by)
        && filter.label.as_ref().is_none_or(labelled)
        && filter.parent.as_ref().is_none_or(|parent| spec.made_by.as_ref() == Some(parent))
        && filter.since.is_none_or(|since| spec.created_at >= since)
        && filter.until.is_none_or(|until| spec.created_at < until)
        && !(filter.roots && spec.made_by.is_some()))
}

/// The names under which the store may record a holder that clients call `holder`: as an external
/// worker, or as a host.
pub(super) fn holder_names(holder: &str) -> [String; 2] {
    [Holder::worker(holder).node.to_string(), holder.to_owned()]
}

/// The tag that carries a label.
pub(super) fn label_tag(label: &str) -> String {
    format!("{}{label}", tags::LABEL_PREFIX)
}

/// A label and its value as they appear in tags written as JSON.
pub(super) fn label_pair(label: &str, value: &str) -> String {
    tag_pair(&label_tag(label), value)
}

/// Builds a page of invocations in descending order of number. More than `limit` rows mean that
/// another page follows. `bound` is the lowest number examined; `None` if all rows were examined.
pub(super) fn newest_first(
    found: Vec<InvocationRow>,
    unreadable: Vec<(i64, UnreadableEntity)>,
    limit: u32,
    bound: Option<i64>,
) -> Page<InvocationRow> {
    let mut rows: Vec<_> = found.into_iter().map(|row| (row.number, Ok(row))).collect();
    let numbered = |(number, row)| UnreadableEntity { number: Some(number), ..row };
    rows.extend(unreadable.into_iter().map(|row| (row.0, Err(numbered(row)))));
    rows.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let last = rows.last().map(|(number, _)| *number).filter(|_| more);
    let mut page = Page { items: Vec::new(), unreadable: Vec::new(), next: last.or(bound) };
    for (_, row) in rows {
        match row {
            Ok(row) => page.items.push(row),
            Err(row) => page.unreadable.push(row),
        }
    }
    page
}
