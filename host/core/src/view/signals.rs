//! Keys of signals.

use super::View;
use crate::{id::PromiseId, value::Text};

impl View {
    /// Number of this invocation's signal with this key.
    pub fn signal_key(&self, invocation: &PromiseId, key: &Text) -> Option<u32> {
        self.signal_keys.get(&(invocation.clone(), key.clone())).copied()
    }

    pub fn signal_keys(&self) -> impl Iterator<Item = (&PromiseId, &Text, u32)> {
        self.signal_keys.iter().map(|((invocation, key), n)| (invocation, key, *n))
    }

    pub fn put_signal_key(&mut self, invocation: PromiseId, key: Text, n: u32) {
        self.signal_keys.insert((invocation, key), n);
    }
}
