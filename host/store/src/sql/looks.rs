//! The looks that find the rows of one command: its own, those that they lead to, and those that
//! wait for them.
//!
//! A look says what to load; the database loads it, and the next look begins with what was found.
//! No look waits for a database, so both stores use the same ones.

use segno_core::{command::Command, config::Config, footprint::Footprint, widen};

use super::Cache;

/// The rows of a command are known after this many looks.
const LOOKS: usize = 8;

/// The looks that are left.
pub(crate) struct Looks {
    /// The rows that the command names, without trees.
    named: Footprint,
    /// The trees that it names. The commands before it may add to them, so they are loaded when its
    /// turn comes.
    trees: Option<Footprint>,
    left: usize,
}

impl Looks {
    /// For a command that names these rows.
    pub(crate) fn of(mut named: Footprint) -> Self {
        let trees = std::mem::take(&mut named.trees);
        let trees = Footprint { trees, ..Footprint::default() };
        Self { named, trees: (!trees.trees.is_empty()).then_some(trees), left: LOOKS }
    }

    /// What has to be loaded next; none: the command can be decided.
    pub(crate) fn next(
        &mut self,
        cache: &mut Cache,
        command: &Command,
        config: &Config,
    ) -> Option<Footprint> {
        if let Some(trees) = self.trees.take() {
            let missing = cache.missing(trees);
            if !missing.is_empty() {
                return Some(missing);
            }
        }
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let mut wanted = widen(&cache.view, command, &self.named, config);
        if cache.has(&self.named) && cache.has(&wanted) {
            return None;
        }
        wanted.merge(self.named.clone());
        Some(cache.missing(wanted)).filter(|missing| !missing.is_empty())
    }
}
