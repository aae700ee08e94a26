//! Finds the rows of one command in several looks: the rows it names, the rows those lead to, and
//! the rows that await them.
//!
//! A look returns the rows to load; the store loads them, and the next look continues from what was
//! found. The looks themselves access no database, so both stores share them.

use segno_core::{command::Command, config::Config, footprint::Footprint, widen};

use super::Cache;

/// Maximum number of looks after which the rows of a command are known.
const LOOKS: usize = 8;

/// The remaining looks of a command.
pub(crate) struct LoadRounds {
    /// The rows that the command names, except trees.
    named: Footprint,
    /// The trees that the command names. Earlier commands of the batch may add to them, so they are
    /// loaded when the command's turn comes.
    trees: Option<Footprint>,
    left: usize,
}

impl LoadRounds {
    /// Starts the looks for a command that names these rows.
    pub(crate) fn of(mut named: Footprint) -> Self {
        let trees = std::mem::take(&mut named.trees);
        let trees = Footprint { trees, ..Footprint::default() };
        Self { named, trees: (!trees.trees.is_empty()).then_some(trees), left: LOOKS }
    }

    /// The rows to load next. `None` if the command can be decided.
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
