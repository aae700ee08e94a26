//! The state of an execution's object: cached values and pending reads.
//!
//! A read returns what this execution wrote before it, or else the stored value. Stored values are
//! read after the guest has returned, **before the commands of that poll are committed**, so a read
//! never sees a later write. The state of a promise is read each time, since other executions
//! settle it.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    id::{ObjectId, PromiseId},
    object::StateWrite,
    promise::Promise,
    value::{Payload as Stored, Text},
};
use segno_guest::{Outcome, Payload};

use crate::{
    values::{self, journals},
    worker::commands::StateReadTarget,
};

/// The state of the object of one execution.
#[derive(Debug)]
pub struct ObjectState {
    pub object: ObjectId,
    /// True if no other execution can write the object now, so that cached values stay valid.
    is_held: bool,
    /// True if all values outside the cache are known to be absent.
    is_cleared: bool,
    known: BTreeMap<Text, Option<Stored>>,
    /// Reads without an answer, in order.
    reads: Vec<(u32, ReadSource)>,
}

/// The source of the answer to a read.
#[derive(Debug)]
enum ReadSource {
    /// This value, which was known when the guest asked.
    Known(Option<Stored>),
    /// The value stored under this name.
    Stored(Text),
    /// The state of this promise.
    Promise(PromiseId),
    /// The stored names, unless all state was cleared. `known` adds names (true) and removes names
    /// (false).
    Names { is_cleared: bool, known: BTreeMap<Text, bool> },
}

/// The data that pending reads need from the store.
#[derive(Debug, PartialEq, Eq)]
pub struct StateLookup {
    pub object: ObjectId,
    /// The names of the needed values.
    pub values: Vec<Text>,
    /// True if the list of names is needed.
    pub names: bool,
    /// The needed promises.
    pub promises: Vec<PromiseId>,
}

/// The data that a look-up found.
#[derive(Debug, Default)]
pub struct LookupResult {
    /// Values, by name.
    pub values: BTreeMap<Text, Stored>,
    /// The names that have a value.
    pub names: Vec<Text>,
    /// Promises, by id.
    pub promises: BTreeMap<PromiseId, Promise>,
}

impl ObjectState {
    /// The state of an object. `is_held` is true if the execution has exclusive access to it.
    pub fn new(object: ObjectId, is_held: bool) -> Self {
        Self { object, is_held, is_cleared: false, known: BTreeMap::new(), reads: Vec::new() }
    }

    /// Adds a read by the command `index`.
    pub fn read(&mut self, index: u32, read: &StateReadTarget) {
        let wanted = match read {
            StateReadTarget::Names => ReadSource::Names {
                is_cleared: self.is_cleared,
                known: self
                    .known
                    .iter()
                    .map(|(name, value)| (name.clone(), value.is_some()))
                    .collect(),
            },
            StateReadTarget::Promise(id) => ReadSource::Promise(id.clone()),
            StateReadTarget::Value(name) => match self.known.get(name) {
                Some(value) => ReadSource::Known(value.clone()),
                None if self.is_cleared => ReadSource::Known(None),
                None => ReadSource::Stored(name.clone()),
            },
        };
        self.reads.push((index, wanted));
    }

    /// Applies a write of the guest.
    pub fn wrote(&mut self, write: &StateWrite) {
        if write.clears {
            self.is_cleared = true;
            self.known.clear();
        }
        self.known.extend(write.entries.iter().cloned());
    }

    /// The data that the pending reads need. `None` without pending reads.
    pub fn lookup(&self) -> Option<StateLookup> {
        if self.reads.is_empty() {
            return None;
        }
        let (mut values, mut promises) = (BTreeSet::new(), BTreeSet::new());
        for (_, wanted) in &self.reads {
            match wanted {
                ReadSource::Stored(name) => drop(values.insert(name)),
                ReadSource::Promise(id) => drop(promises.insert(id)),
                ReadSource::Known(_) | ReadSource::Names { .. } => {}
            }
        }
        let is_names = |(_, wanted): &(u32, ReadSource)| {
            matches!(wanted, ReadSource::Names { is_cleared: false, .. })
        };
        Some(StateLookup {
            object: self.object.clone(),
            values: values.into_iter().cloned().collect(),
            names: self.reads.iter().any(is_names),
            promises: promises.into_iter().cloned().collect(),
        })
    }

    /// Answers all pending reads, from the result of their look-up.
    pub fn answer(&mut self, found: &LookupResult) -> Vec<(u32, Outcome)> {
        let LookupResult { values, names, promises } = found;
        let reads = std::mem::take(&mut self.reads);
        let answers = reads.into_iter().map(|(index, wanted)| {
            let outcome = match wanted {
                ReadSource::Known(value) => outcome(value.as_ref()),
                ReadSource::Promise(id) => {
                    let settlement = promises.get(&id).and_then(Promise::settlement);
                    values::standing(settlement.map(values::outcome))
                }
                ReadSource::Stored(name) => {
                    let value = values.get(&name);
                    if self.is_held && !self.is_cleared {
                        self.known.entry(name).or_insert_with(|| value.cloned());
                    }
                    outcome(value)
                }
                ReadSource::Names { is_cleared, known } => {
                    let mut all: BTreeSet<&Text> =
                        if is_cleared { BTreeSet::new() } else { names.iter().collect() };
                    for (name, is_there) in &known {
                        match is_there {
                            true => all.insert(name),
                            false => all.remove(name),
                        };
                    }
                    let all: Vec<&str> = all.into_iter().map(Text::as_str).collect();
                    let json = serde_json::to_string(&all).expect("texts are JSON");
                    Outcome::Success(Payload::Json(json))
                }
            };
            (index, outcome)
        });
        answers.collect()
    }

    /// Clears the cache. All values are stored, and a suspended instance should use little memory.
    pub fn forget(&mut self) {
        self.known.clear();
        self.is_cleared = false;
    }
}

fn outcome(value: Option<&Stored>) -> Outcome {
    value.map_or_else(journals::null, |value| Outcome::Success(journals::guest_payload(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Stored {
        Stored::Json(Text::from(text))
    }

    fn set(name: &str, value: &str) -> StateWrite {
        StateWrite { clears: false, entries: vec![(Text::from(name), Some(json(value)))] }
    }

    fn value(name: &str) -> StateReadTarget {
        StateReadTarget::Value(Text::from(name))
    }

    fn texts(answers: Vec<(u32, Outcome)>) -> Vec<(u32, String)> {
        let text = |(index, outcome)| match outcome {
            Outcome::Success(Payload::Json(text)) => (index, text),
            other => panic!("{other:?}"),
        };
        answers.into_iter().map(text).collect()
    }

    fn of(values: &BTreeMap<Text, Stored>, names: &[Text]) -> LookupResult {
        LookupResult { values: values.clone(), names: names.to_vec(), ..LookupResult::default() }
    }

    fn state() -> ObjectState {
        ObjectState::new(ObjectId::from("cart/Cart@ada"), true)
    }

    #[test]
    fn a_read_sees_what_was_written_before_it_and_nothing_else() {
        let mut state = state();
        state.read(0, &value("a"));
        state.wrote(&set("a", "2"));
        state.read(2, &value("a"));
        state.read(3, &value("b"));
        let lookup = state.lookup().expect("there are reads");
        assert_eq!((lookup.values, lookup.names), (vec!["a".into(), "b".into()], false));
        let stored = BTreeMap::from([("a".into(), json("1"))]);
        let answers = texts(state.answer(&of(&stored, &[])));
        let expected = [(0, "1"), (2, "2"), (3, "null")];
        assert_eq!(answers, expected.map(|(index, text)| (index, text.to_owned())));
        assert_eq!(state.lookup(), None);
        // Values that were written or read are cached.
        state.read(4, &value("a"));
        state.read(5, &value("b"));
        assert!(state.lookup().expect("there are reads").values.is_empty());
        assert_eq!(texts(state.answer(&of(&stored, &[])))[0].1, "2");
    }

    #[test]
    fn after_all_was_cleared_only_what_was_written_since_is_there() {
        let mut state = state();
        state.wrote(&set("a", "1"));
        state.wrote(&StateWrite { clears: true, entries: Vec::new() });
        state.wrote(&set("c", "3"));
        state.read(3, &value("a"));
        state.read(4, &StateReadTarget::Names);
        let lookup = state.lookup().expect("there are reads");
        assert!(lookup.values.is_empty() && !lookup.names);
        let answers = texts(state.answer(&of(&BTreeMap::new(), &[])));
        assert_eq!(answers, [(3, "null".to_owned()), (4, "[\"c\"]".to_owned())]);
    }

    #[test]
    fn names_are_those_that_are_stored_with_what_was_written_since() {
        let mut state = state();
        state.wrote(&set("b", "1"));
        state.wrote(&StateWrite { clears: false, entries: vec![("c".into(), None)] });
        state.read(2, &StateReadTarget::Names);
        state.wrote(&set("z", "1"));
        assert!(state.lookup().expect("there are reads").names);
        let answers = texts(state.answer(&of(&BTreeMap::new(), &["a".into(), "c".into()])));
        assert_eq!(answers, [(2, "[\"a\",\"b\"]".to_owned())]);
    }

    #[test]
    fn who_has_no_turn_looks_each_time() {
        let mut state = ObjectState::new(ObjectId::from("cart/Cart@ada"), false);
        for (index, stored) in [(0, "1"), (1, "2")] {
            state.read(index, &value("a"));
            assert_eq!(state.lookup().expect("a read").values.len(), 1);
            let stored = BTreeMap::from([("a".into(), json(stored))]);
            state.answer(&of(&stored, &[]));
        }
    }
}
