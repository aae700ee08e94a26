//! Keys of signals.

use super::View;
use crate::{id::PromiseId, value::Text};

impl View {
    /// Which signal of this invocation had this key.
    pub fn signal_key(&self, invocation: &PromiseId, key: &Text) -> Option<u32> {
        self.signal_keys.get(&(invocation.clone(), key.clone())).copied()
    }

    /// All keys of signals.
    pub fn signal_keys(&self) -> impl Iterator<Item = (&PromiseId, &Text, u32)> {
        self.signal_keys.iter().map(|((invocation, key), n)| (invocation, key, *n))
    }

    /// Puts the key of a signal.
    pub fn put_signal_key(&mut self, invocation: PromiseId, key: Text, n: u32) {
        self.signal_keys.insert((invocation, key), n);
    }
}
