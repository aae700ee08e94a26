//! What the stores must agree on when they answer reads: the order of creation, and which invocations a filter takes.

use segno_core::{
    delta::Delta,
    effect::Effect,
    id::{Holder, PromiseId},
    promise::{OutboxKey, Promise, PromiseState, Task, TaskStatus, Verdict},
    state::State,
    tags,
    time::Millis,
};

use super::{
    InvocationFilter, InvocationRow, Page, PromiseFilter, Standing, StoreError, Unreadable,
};

/// How many lines a page has when the caller does not say.
const DEFAULT_LIMIT: u32 = 100;

/// How many rows are looked at for a page by a filter that no index answers. So the cost of a page does not depend on
/// how much there is: 200,000 invocations of which none fits are 40 pages of a few milliseconds.
pub(super) const LOOKED_AT: u32 = 5_000;

/// Where an index finds no more rows than this, they are sorted; else the list is walked in its own order.
pub(super) const SORTED: u32 = 2_000;

/// Bytes of parameters and values on a page of promises; the page ends with the promise that reaches it.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// How long a statement may take that a client of the API asks for.
pub(super) const CLIENT_READ: Millis = Millis(5_000);

/// A state by which invocations are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListedState {
    /// Its task stands so, and its promise is pending.
    Open(TaskStatus),
    /// Its promise has this outcome.
    Settled(Verdict),
}

/// Where the invocations of a page are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// Among all tasks, the newest first.
    Tasks,
    /// Among the halted, the newest first.
    Halted,
    /// Among those that one invocation made, the newest first.
    Children,
    /// Among those held by these names, in no order.
    Held,
    /// Among those held by anybody, in no order.
    Acquired,
    /// Among ids that begin so, in no order.
    Prefix,
}

/// The promises a decision names that are not numbered yet, in the order in which they are numbered: owners come
/// before what they make, and command 2 before command 10.
pub(super) fn unnumbered(
    delta: &Delta,
    is_numbered: impl Fn(&PromiseId) -> bool,
) -> Vec<PromiseId> {
    let mut fresh: Vec<_> = delta.promises.keys().filter(|id| !is_numbered(id)).cloned().collect();
    fresh.sort_by(|left, right| (left.as_str().len(), left).cmp(&(right.as_str().len(), right)));
    fresh
}

/// Drops the hints at tasks that a later command of the same commit took already.
pub(super) fn drop_stale(effects: &mut Vec<Effect>, state: &State) {
    effects.retain(|effect| match effect {
        Effect::Ready { id, version, .. } => state
            .task(id)
            .is_none_or(|task| task.version == *version && task.status() == TaskStatus::Pending),
        Effect::Settled { .. }
        | Effect::TimerChanged { .. }
        | Effect::Interrupt(_)
        | Effect::Outbox(_)
        | Effect::Wanted(_)
        | Effect::CancelRequested { .. }
        | Effect::Count(_) => true,
    });
}

impl ListedState {
    /// The state with this name.
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

    fn takes(self, promise: &Promise, task: &Task) -> bool {
        match (self, &promise.state) {
            (Self::Open(status), PromiseState::Pending) => task.status() == status,
            (Self::Settled(verdict), PromiseState::Settled(settled)) => settled.verdict == verdict,
            (Self::Open(_), PromiseState::Settled(_))
            | (Self::Settled(_), PromiseState::Pending) => false,
        }
    }
}

/// What the store calls whoever holds a task, by the name that people know: a worker outside, or a host.
pub(super) fn holder_names(holder: &str) -> [String; 2] {
    [Holder::worker(holder).node.to_string(), holder.to_owned()]
}

/// The first text behind all that begin so; none: every text behind it does.
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

/// The order of messages about one promise.
pub(super) fn outbox_order(key: &OutboxKey) -> (i64, String) {
    match key {
        OutboxKey::Execute(_) => (1, String::new()),
        OutboxKey::Unblock(_, address) => (2, address.to_string()),
        OutboxKey::Event(_, index) => (3, index.to_string()),
        OutboxKey::CancelChildren(_) => (4, String::new()),
    }
}

/// The limit of a page.
pub(super) fn page_limit(asked: u32) -> u32 {
    if asked == 0 { DEFAULT_LIMIT } else { asked }
}

/// How many promises are found at a time.
pub(super) fn find_limit(filter: &PromiseFilter) -> u32 {
    if filter.limit == 0 { DEFAULT_LIMIT } else { filter.limit }
}

/// Whether `filter` takes every invocation, or every child of an invocation, but for its state and holder.
pub(super) fn takes_all(filter: &InvocationFilter) -> bool {
    filter.module.is_none()
        && filter.function.is_none()
        && filter.prefix.is_none()
        && filter.label.is_none()
        && !filter.roots
}

/// A page of invocations by their numbers, of which there is one more than `limit` if there are more. They were looked
/// for down to the number `bound`; none: among all that there are.
pub(super) fn newest_first(
    found: Vec<(i64, InvocationRow)>,
    unreadable: Vec<(i64, Unreadable)>,
    limit: u32,
    bound: Option<i64>,
) -> Page<InvocationRow> {
    let mut rows: Vec<_> = found.into_iter().map(|(number, row)| (number, Ok(row))).collect();
    rows.extend(unreadable.into_iter().map(|(number, row)| (number, Err(row))));
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

/// Whether every promise that the filter's index holds is found; else rows are looked at that are not.
pub(super) fn finds_all(filter: &PromiseFilter) -> bool {
    filter.standing.is_none() && filter.tags.is_empty() && !filter.tasks && filter.status.is_none()
}

/// The bytes that a promise adds to a page.
pub(super) fn page_bytes(promise: &Promise) -> usize {
    let value = promise.settlement().and_then(|settlement| settlement.value.as_ref());
    promise.birth.param.data.len() + value.map_or(0, |value| value.data.len())
}

/// Whether `filter` finds this promise; its cursor and limit are the caller's business.
pub(super) fn finds(filter: &PromiseFilter, promise: &Promise, task: Option<&Task>) -> bool {
    let birth = &promise.birth;
    let stands = |standing| match (standing, promise.settlement()) {
        (Standing::Pending, settlement) => settlement.is_none(),
        (Standing::Settled(verdict), settlement) => {
            settlement.is_some_and(|settlement| settlement.verdict == verdict)
        }
    };
    let in_branch =
        |branch: &String| birth.made_by.is_none() && birth.tags.get(tags::BRANCH) == Some(branch);
    filter.branch.as_ref().is_none_or(in_branch)
        && filter.standing.is_none_or(stands)
        && filter.tags.iter().all(|(name, value)| birth.tags.get(name) == Some(value))
        && (!filter.tasks || task.is_some())
        && filter.prefix.as_ref().is_none_or(|prefix| birth.id.as_str().starts_with(prefix))
        && filter.status.is_none_or(|status| task.is_some_and(|task| task.status() == status))
}

/// The tag that carries a label.
pub(super) fn label_tag(label: &str) -> String {
    format!("{}{label}", tags::LABEL_PREFIX)
}

/// A label and its value as they stand in tags that are written as JSON.
pub(super) fn label_pair(label: &str, value: &str) -> String {
    tag_pair(&label_tag(label), value)
}

/// A tag as it stands in tags that are written as JSON.
pub(super) fn tag_pair(name: &str, value: &str) -> String {
    let (name, value) = (serde_json::Value::from(name), serde_json::Value::from(value));
    format!("{name}:{value}")
}

/// Whether `filter` takes this invocation; its cursor and limit are the caller's business.
pub(super) fn takes(
    filter: &InvocationFilter,
    promise: &Promise,
    task: &Task,
) -> Result<bool, StoreError> {
    let state = filter.state.as_deref().map(ListedState::named).transpose()?;
    let birth = &promise.birth;
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
        |(label, value): &(String, String)| birth.tags.get(&label_tag(label)) == Some(value);
    let held_by = |holder: &str| {
        let holds =
            |name: &String| task.lease().is_some_and(|lease| lease.holder.node.as_str() == name);
        holder_names(holder).iter().any(holds)
    };
    Ok(state.is_none_or(|state| state.takes(promise, task))
        && filter.module.as_ref().is_none_or(in_module)
        && filter.function.as_ref().is_none_or(of_function)
        && filter.prefix.as_ref().is_none_or(|prefix| birth.id.as_str().starts_with(prefix))
        && filter.holder.as_deref().is_none_or(held_by)
        && filter.label.as_ref().is_none_or(labelled)
        && filter.parent.as_ref().is_none_or(|parent| birth.made_by.as_ref() == Some(parent))
        && !(filter.roots && birth.made_by.is_some()))
}
