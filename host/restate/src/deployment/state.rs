//! The state of the key, as far as an attempt knows it.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::wire::StateEntry;

/// The state at the start of the attempt, with the handler's changes since.
#[derive(Debug, Default)]
pub(super) struct KnownState {
    /// True if keys outside the map may have values.
    partial: bool,
    /// Values by key; `None` for keys known to have no value.
    keys: BTreeMap<Bytes, Option<Bytes>>,
}

impl KnownState {
    pub(super) fn new(partial: bool, entries: &[StateEntry]) -> Self {
        let keys = entries.iter().map(|entry| (entry.key.clone(), Some(entry.value.clone())));
        Self { partial, keys: keys.collect() }
    }

    /// Returns the value of `key`: `None` if unknown, `Some(None)` if the key has no value.
    pub(super) fn get(&self, key: &Bytes) -> Option<Option<Bytes>> {
        match self.keys.get(key) {
            Some(value) => Some(value.clone()),
            None if self.partial => None,
            None => Some(None),
        }
    }

    /// Returns all keys with a value in order; `None` if they are not all known.
    pub(super) fn keys(&self) -> Option<Vec<Bytes>> {
        if self.partial {
            return None;
        }
        let with_value = self.keys.iter().filter(|(_, value)| value.is_some());
        Some(with_value.map(|(key, _)| key.clone()).collect())
    }

    pub(super) fn set(&mut self, key: Bytes, value: Bytes) {
        self.keys.insert(key, Some(value));
    }

    pub(super) fn clear(&mut self, key: Bytes) {
        self.keys.insert(key, None);
    }

    /// Removes all values. The whole state is known afterwards.
    pub(super) fn clear_all(&mut self) {
        self.keys.clear();
        self.partial = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(partial: bool) -> KnownState {
        KnownState::new(partial, &[StateEntry { key: "a".into(), value: "".into() }])
    }

    #[test]
    fn whole_state_knows_what_is_not_there() {
        let mut state = known(false);
        assert_eq!(state.get(&"a".into()), Some(Some("".into())), "empty is a value");
        assert_eq!(state.get(&"b".into()), Some(None));
        assert_eq!(state.keys(), Some(vec!["a".into()]));
        state.set("0".into(), "1".into());
        state.clear("a".into());
        assert_eq!(state.keys(), Some(vec!["0".into()]));
        assert_eq!(state.get(&"a".into()), Some(None));
    }

    #[test]
    fn partial_state_knows_what_it_has_and_what_was_done() {
        let mut state = known(true);
        assert_eq!(state.get(&"a".into()), Some(Some("".into())));
        assert_eq!(state.get(&"b".into()), None);
        state.clear("b".into());
        assert_eq!(state.get(&"b".into()), Some(None));
        state.set("c".into(), "1".into());
        assert_eq!(state.get(&"c".into()), Some(Some("1".into())));
        assert_eq!(state.keys(), None);
    }

    #[test]
    fn partial_state_is_whole_when_it_was_cleared() {
        let mut state = known(true);
        state.set("c".into(), "1".into());
        state.clear_all();
        assert_eq!(state.get(&"a".into()), Some(None));
        assert_eq!(state.get(&"z".into()), Some(None));
        assert_eq!(state.keys(), Some(vec![]));
        state.set("d".into(), "2".into());
        assert_eq!(state.keys(), Some(vec!["d".into()]));
    }
}
