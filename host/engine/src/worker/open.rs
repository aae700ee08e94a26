//! Commands that have neither completed nor been forgotten: what a waiting workflow waits for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use segno_core::{command::FenceAct, id::PromiseId, invocation::CommandKind, time::Timestamp};

/// One of them.
#[derive(Debug)]
pub struct Open {
    /// What it asked for.
    pub kind: CommandKind,
    /// The promise that completes it, where one does. Without one, the commit itself completes it.
    pub promise: Option<PromiseId>,
    /// When a sleep ends.
    pub due: Option<Timestamp>,
    /// What has to be done for it; kept through a replay, since it may not have been done.
    pub act: Option<FenceAct>,
}

/// All of them, by index and by promise.
#[derive(Debug, Default)]
pub struct OpenCommands {
    by_index: BTreeMap<u32, Open>,
    /// Several commands may name one promise.
    by_promise: HashMap<PromiseId, BTreeSet<u32>>,
    /// How many complete with their commit.
    immediate: usize,
}

impl OpenCommands {
    /// Adds the next command.
    pub fn add(&mut self, index: u32, open: Open) {
        if let Some(promise) = &open.promise {
            self.by_promise.entry(promise.clone()).or_default().insert(index);
        } else if open.kind != CommandKind::Run {
            self.immediate += 1;
        }
        self.by_index.insert(index, open);
    }

    /// Removes a command that completed or was forgotten.
    pub fn close(&mut self, index: u32) -> Option<Open> {
        let open = self.by_index.remove(&index)?;
        if let Some(promise) = &open.promise {
            let commands = self.by_promise.get_mut(promise);
            let commands = commands.expect("an open command is found by its promise");
            commands.remove(&index);
            if commands.is_empty() {
                self.by_promise.remove(promise);
            }
        } else if open.kind != CommandKind::Run {
            self.immediate -= 1;
        }
        Some(open)
    }

    /// One command.
    pub fn get(&self, index: u32) -> Option<&Open> {
        self.by_index.get(&index)
    }

    /// The commands that this promise completes, in their order.
    pub fn commands_of(&self, promise: &PromiseId) -> Vec<u32> {
        self.by_promise.get(promise).into_iter().flatten().copied().collect()
    }

    /// Whether some complete with the commit that stores them.
    pub fn has_immediate(&self) -> bool {
        self.immediate > 0
    }

    /// The promises waited for, in the order of their commands.
    pub fn promises(&self) -> impl Iterator<Item = &PromiseId> {
        self.by_index.values().filter_map(|open| open.promise.as_ref())
    }

    /// All of them, by index.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Open)> {
        self.by_index.iter().map(|(index, open)| (*index, open))
    }

    /// The actions kept through a replay.
    pub fn take_actions(
        &mut self,
    ) -> impl Iterator<Item = (u32, Option<PromiseId>, FenceAct)> + '_ {
        self.by_index.iter_mut().filter_map(|(index, open)| {
            open.act.take().map(|act| (*index, open.promise.clone(), act))
        })
    }
}
