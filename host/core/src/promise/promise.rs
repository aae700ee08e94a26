//! Durable promises: the record of a future value, pending until it settles, and then immutable.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    address::{self, GRAPH_RUN},
    id::PromiseId,
    tags,
    time::Timestamp,
    value::{Tags, Value, shared},
};

/// A promise. Its spec never changes, and its state changes once. Clones share both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// Creation parameters.
    #[serde(with = "shared")]
    pub spec: Arc<PromiseSpec>,
    pub state: PromiseState,
}

/// Creation parameters of a promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseSpec {
    pub id: PromiseId,
    /// Input of the computation that produces the value.
    pub param: Value,
    /// Tags of the engine and labels of the user.
    pub tags: Tags,
    /// The invocation that created it under its claim. `None` if a client did.
    pub made_by: Option<PromiseId>,
    /// The deadline; [`Timestamp::NEVER`] if it has none.
    pub timeout_at: Timestamp,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PromiseState {
    /// No outcome yet.
    Pending,
    /// Settled, forever.
    Settled(#[serde(with = "shared")] Arc<Settlement>),
}

/// Outcome of a promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    pub verdict: Verdict,
    /// The value; `None` after a deadline.
    pub value: Option<Value>,
    pub settled_at: Timestamp,
}

/// Kind of an outcome. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Verdict {
    /// Success; the value is the result.
    Resolved = 1,
    /// Failure; the value describes it.
    Rejected = 2,
    /// Cancelled or killed.
    Canceled = 3,
    /// The deadline passed. Written only by the engine.
    TimedOut = 4,
}

/// A promise to be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPromise {
    pub id: PromiseId,
    /// Input of the computation that produces the value.
    pub param: Value,
    /// Tags of the engine and labels of the user.
    pub tags: Tags,
    /// The deadline; [`Timestamp::NEVER`] if it has none.
    pub timeout_at: Timestamp,
}

/// Name of the module in an invocation's tags: from its target, or, for a graph run, from a
/// separate tag.
pub fn module_named(tags: &Tags) -> Option<String> {
    let target = tags::target(tags)?;
    if target == GRAPH_RUN {
        return tags.get(tags::MODULE).cloned();
    }
    if target.starts_with(address::SERVICE_SCHEME) {
        return address::service_of(target).map(address::service_alias);
    }
    let (module, _) = target.strip_prefix("wasm://")?.split_once('/')?;
    Some(module).filter(|module| !module.is_empty()).map(str::to_owned)
}

/// [`Promise::module_name`] for these tags and headers. `is_made` is true if an invocation created
/// the promise.
pub fn module_name(of: &Tags, headers: &Tags, is_made: bool) -> String {
    let by_caller = || headers.get(tags::MODULE_HEADER).cloned();
    module_named(of).or_else(|| by_caller().filter(|_| is_made)).unwrap_or_default()
}

impl Promise {
    /// A copy without the parameter and the tags, which may be large.
    pub fn bare(&self) -> Self {
        let spec = PromiseSpec {
            id: self.spec.id.clone(),
            param: Value::default(),
            tags: Tags::new(),
            made_by: self.spec.made_by.clone(),
            timeout_at: self.spec.timeout_at,
            created_at: self.spec.created_at,
        };
        Self { spec: Arc::new(spec), state: self.state.clone() }
    }

    /// Name of the module that contains the function: the one that its target names, or the
    /// caller's if the function was called within a module. Empty if none is named. The module
    /// header counts only on promises created by an invocation; a client's header is ignored.
    pub fn module_name(&self) -> String {
        let PromiseSpec { tags, param, made_by, .. } = &*self.spec;
        module_name(tags, &param.headers, made_by.is_some())
    }

    pub fn id(&self) -> &PromiseId {
        &self.spec.id
    }

    pub fn is_pending(&self) -> bool {
        matches!(self.state, PromiseState::Pending)
    }

    pub fn settlement(&self) -> Option<&Settlement> {
        match &self.state {
            PromiseState::Pending => None,
            PromiseState::Settled(settlement) => Some(settlement),
        }
    }

    /// True if the promise was killed, instead of being asked to stop.
    pub fn was_killed(&self) -> bool {
        let value = self.settlement().and_then(|settlement| settlement.value.as_ref());
        value.is_some_and(|value| value.headers.contains_key(tags::KILLED_HEADER))
    }

    /// True if the settlement also ends the callees that it waits for: a service invocation that
    /// was killed.
    pub fn ends_callees(&self) -> bool {
        let target = self.target().unwrap_or_default();
        target.starts_with(address::SERVICE_SCHEME) && self.was_killed()
    }

    /// Address of the function that produces the value.
    pub fn target(&self) -> Option<&str> {
        tags::target(&self.spec.tags)
    }

    /// Root of the tree that the promise belongs to: from its tags, else from its id, in which `:`
    /// or `.` separates the root from the rest.
    pub fn origin(&self) -> &str {
        let id = self.spec.id.as_str();
        let named = self.spec.tags.get(tags::ORIGIN).map(String::as_str);
        let cut = |mark| id.split_once(mark).map(|(root, _)| root);
        named.or_else(|| cut(':')).or_else(|| cut('.')).unwrap_or(id)
    }

    /// True if it resolves by itself at its deadline.
    pub fn is_timer(&self) -> bool {
        tags::is_timer(&self.spec.tags)
    }

    /// True if it is pending and its deadline has passed.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.is_pending() && self.spec.timeout_at <= now
    }

    /// The invocation that the promise is attached to: its creator, unless the promise is detached
    /// and may outlive it.
    pub fn attached_to(&self) -> Option<&PromiseId> {
        self.spec.made_by.as_ref().filter(|_| !tags::is_detached(&self.spec.tags))
    }

    /// Outcome at the deadline: a timer resolves, any other promise times out. The settlement time
    /// is always the deadline.
    pub fn deadline_settlement(&self) -> Settlement {
        let verdict = if self.is_timer() { Verdict::Resolved } else { Verdict::TimedOut };
        Settlement { verdict, value: None, settled_at: self.spec.timeout_at }
    }

    /// A settled copy of the promise.
    pub fn settled(&self, settlement: Settlement) -> Self {
        Self { spec: self.spec.clone(), state: PromiseState::Settled(Arc::new(settlement)) }
    }
}

impl Verdict {
    /// True if clients may settle a promise with it.
    pub fn is_for_clients(self) -> bool {
        match self {
            Self::Resolved | Self::Rejected | Self::Canceled => true,
            Self::TimedOut => false,
        }
    }

    pub fn number(self) -> u8 {
        self as u8
    }

    /// The verdict with this stored number. `None` if there is none.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Resolved, Self::Rejected, Self::Canceled, Self::TimedOut]
            .into_iter()
            .find(|v| v.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_resolves_timers_and_times_the_others_out() {
        let made = |tags: Tags| Promise {
            spec: Arc::new(PromiseSpec {
                id: PromiseId::from("a"),
                param: Value::default(),
                tags,
                made_by: None,
                timeout_at: Timestamp(5),
                created_at: Timestamp(1),
            }),
            state: PromiseState::Pending,
        };
        let timer = made(Tags::from([(tags::TIMER.to_owned(), "true".to_owned())]));
        assert_eq!(timer.deadline_settlement().verdict, Verdict::Resolved);
        let plain = made(Tags::new());
        assert_eq!(plain.deadline_settlement().verdict, Verdict::TimedOut);
        assert_eq!(plain.deadline_settlement().settled_at, Timestamp(5));
        assert!(plain.is_overdue(Timestamp(5)) && !plain.is_overdue(Timestamp(4)));
        assert!(!plain.settled(plain.deadline_settlement()).is_overdue(Timestamp(9)));
    }

    #[test]
    fn stored_numbers_come_back() {
        for number in 0..=u8::MAX {
            assert_eq!(Verdict::from_number(number).is_some(), (1..=4).contains(&number));
        }
    }
}
