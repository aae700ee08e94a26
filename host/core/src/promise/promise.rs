//! The durable record of a future value: pending, then settled for ever.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    address::{self, GRAPH_RUN},
    id::PromiseId,
    tags,
    time::Timestamp,
    value::{Tags, Value, shared},
};

/// A promise. Its birth never changes; its state changes once. Cloning shares both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// What it was made with.
    #[serde(with = "shared")]
    pub spec: Arc<PromiseSpec>,
    /// Where it stands.
    pub state: PromiseState,
}

/// What a promise was made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseSpec {
    /// Its id.
    pub id: PromiseId,
    /// The input of whatever produces the value.
    pub param: Value,
    /// The engine's marks and free labels.
    pub tags: Tags,
    /// The invocation whose claim made it; none if a client did.
    pub made_by: Option<PromiseId>,
    /// The deadline; [`Timestamp::NEVER`] for none.
    pub timeout_at: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Where a promise stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PromiseState {
    /// The promise has no outcome yet.
    Pending,
    /// Its value is known, for ever.
    Settled(#[serde(with = "shared")] Arc<Settlement>),
}

/// The outcome of a promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    /// Which way it went.
    pub verdict: Verdict,
    /// The value; none after a deadline.
    pub value: Option<Value>,
    /// When.
    pub settled_at: Timestamp,
}

/// Which way a promise went. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Verdict {
    /// It has its value.
    Resolved = 1,
    /// Its value is a failure.
    Rejected = 2,
    /// It was cancelled or killed.
    Canceled = 3,
    /// Its deadline passed; written by the engine only.
    TimedOut = 4,
}

/// A promise about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPromise {
    /// Its id.
    pub id: PromiseId,
    /// The input of whatever produces the value.
    pub param: Value,
    /// The engine's marks and free labels.
    pub tags: Tags,
    /// The deadline; [`Timestamp::NEVER`] for none.
    pub timeout_at: Timestamp,
}

/// The name of a module in the tags of an invocation: in its target, or, of a graph's run, beside
/// it.
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

/// [`Promise::module_name`] of one with these tags and headers; `is_made`: an invocation made it.
pub fn module_name(of: &Tags, headers: &Tags, is_made: bool) -> String {
    let by_caller = || headers.get(tags::MODULE_HEADER).cloned();
    module_named(of).or_else(|| by_caller().filter(|_| is_made)).unwrap_or_default()
}

impl Promise {
    /// This promise without what it was made for: its parameter and its tags, which may be large.
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

    /// The name of the module whose function it is: the one it was called by, or its caller's if it
    /// was called within a module; empty, where none is named. Only a command of an invocation names
    /// its module in a header; a client's is ignored.
    pub fn module_name(&self) -> String {
        let PromiseSpec { tags, param, made_by, .. } = &*self.spec;
        module_name(tags, &param.headers, made_by.is_some())
    }

    /// Its id.
    pub fn id(&self) -> &PromiseId {
        &self.spec.id
    }

    /// Whether the promise has no outcome yet.
    pub fn is_pending(&self) -> bool {
        matches!(self.state, PromiseState::Pending)
    }

    /// Its outcome, once it has one.
    pub fn settlement(&self) -> Option<&Settlement> {
        match &self.state {
            PromiseState::Pending => None,
            PromiseState::Settled(settlement) => Some(settlement),
        }
    }

    /// Whether it was killed: nobody was asked.
    pub fn was_killed(&self) -> bool {
        let value = self.settlement().and_then(|settlement| settlement.value.as_ref());
        value.is_some_and(|value| value.headers.contains_key(tags::KILLED_HEADER))
    }

    /// Whether its end ends those that it called and waits for: it is an invocation of a service that was killed.
    pub fn ends_callees(&self) -> bool {
        let target = self.target().unwrap_or_default();
        target.starts_with(address::SERVICE_SCHEME) && self.was_killed()
    }

    /// The address of the function that produces the value.
    pub fn target(&self) -> Option<&str> {
        tags::target(&self.spec.tags)
    }

    /// The root of the tree it belongs to: as its tags say, else as its id does, which names a part
    /// of a tree after `:` or `.`.
    pub fn origin(&self) -> &str {
        let id = self.spec.id.as_str();
        let named = self.spec.tags.get(tags::ORIGIN).map(String::as_str);
        let cut = |mark| id.split_once(mark).map(|(root, _)| root);
        named.or_else(|| cut(':')).or_else(|| cut('.')).unwrap_or(id)
    }

    /// Whether it resolves by itself at its deadline.
    pub fn is_timer(&self) -> bool {
        tags::is_timer(&self.spec.tags)
    }

    /// Whether it is pending and its deadline has come.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.is_pending() && self.spec.timeout_at <= now
    }

    /// The invocation that is answerable for this promise: it made it, and the promise does not
    /// outlive it.
    pub fn attached_to(&self) -> Option<&PromiseId> {
        self.spec.made_by.as_ref().filter(|_| !tags::is_detached(&self.spec.tags))
    }

    /// The outcome a deadline gives: a timer resolves, anything else has timed out. Always stamped
    /// with the deadline.
    pub fn deadline_settlement(&self) -> Settlement {
        let verdict = if self.is_timer() { Verdict::Resolved } else { Verdict::TimedOut };
        Settlement { verdict, value: None, settled_at: self.spec.timeout_at }
    }

    /// The same promise with its outcome.
    pub fn settled(&self, settlement: Settlement) -> Self {
        Self { spec: self.spec.clone(), state: PromiseState::Settled(Arc::new(settlement)) }
    }
}

impl Verdict {
    /// Whether a client may ask for it.
    pub fn is_for_clients(self) -> bool {
        match self {
            Self::Resolved | Self::Rejected | Self::Canceled => true,
            Self::TimedOut => false,
        }
    }

    /// The stored number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The verdict with this stored number.
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
