//! Open commands: they have neither completed nor been forgotten. A waiting workflow waits for
//! them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use segno_core::{command::FenceOperation, id::PromiseId, invocation::CommandKind};

use segno_guest::Failure;

use crate::worker::commands::CompletionEvent;

/// A command that has neither completed nor been forgotten.
#[derive(Debug)]
pub struct OpenCommand {
    /// The kind of the command.
    pub kind: CommandKind,
    /// The event that completes the command.
    pub completion: CompletionEvent,
    /// The action for the command. Kept through a replay, since it may not have been executed.
    pub act: Option<FenceOperation>,
    /// The failure of a command with an invalid name, whose action is not executed.
    pub misnamed: Option<Failure>,
}

/// All open commands, by index and by promise.
#[derive(Debug, Default)]
pub struct OpenCommands {
    by_index: BTreeMap<u32, OpenCommand>,
    /// Several commands may wait for the same promise.
    by_promise: HashMap<PromiseId, BTreeSet<u32>>,
    /// Number of open commands that complete with the commit of their record.
    by_commit: usize,
    /// Number of open reads of the state of the object.
    by_state: usize,
}

impl OpenCommands {
    /// Adds the next command.
    pub fn add(&mut self, index: u32, open: OpenCommand) {
        match &open.completion {
            CompletionEvent::Promise(id) | CompletionEvent::Timer(id, _) => {
                self.by_promise.entry(id.clone()).or_default().insert(index);
            }
            CompletionEvent::Commit(_) => self.by_commit += 1,
            CompletionEvent::State(_) => self.by_state += 1,
            CompletionEvent::Guest | CompletionEvent::Record => {}
        }
        self.by_index.insert(index, open);
    }

    /// Removes a command that completed or was forgotten.
    pub fn close(&mut self, index: u32) -> Option<OpenCommand> {
        let open = self.by_index.remove(&index)?;
        match &open.completion {
            CompletionEvent::Promise(id) | CompletionEvent::Timer(id, _) => {
                let commands = self.by_promise.get_mut(id);
                let commands = commands.expect("an open command is found by its promise");
                commands.remove(&index);
                if commands.is_empty() {
                    self.by_promise.remove(id);
                }
            }
            CompletionEvent::Commit(_) => self.by_commit -= 1,
            CompletionEvent::State(_) => self.by_state -= 1,
            CompletionEvent::Guest | CompletionEvent::Record => {}
        }
        Some(open)
    }

    pub fn get(&self, index: u32) -> Option<&OpenCommand> {
        self.by_index.get(&index)
    }

    /// The commands that this promise completes, in order.
    pub fn commands_of(&self, promise: &PromiseId) -> Vec<u32> {
        self.by_promise.get(promise).into_iter().flatten().copied().collect()
    }

    /// True if the guest waits for a task that a command created.
    pub fn has_calls(&self) -> bool {
        let kinds = [CommandKind::Call, CommandKind::Http];
        self.by_index.values().any(|open| kinds.contains(&open.kind))
    }

    /// True if an open command completes with the commit that stores its record.
    pub fn has_committed(&self) -> bool {
        self.by_commit > 0
    }

    /// True if the guest is waiting for a read of its object's state.
    pub fn has_state_reads(&self) -> bool {
        self.by_state > 0
    }

    /// The promises waited for, in the order of their commands.
    pub fn promises(&self) -> impl Iterator<Item = &PromiseId> {
        self.by_index.values().filter_map(|open| open.completion.promise())
    }

    /// All open commands with their indices, in order of index.
    pub fn entries(&self) -> impl Iterator<Item = (u32, &OpenCommand)> {
        self.by_index.iter().map(|(index, open)| (*index, open))
    }

    /// All open commands, in the order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = &OpenCommand> {
        self.by_index.values()
    }

    /// Takes the actions that were kept through a replay.
    pub fn take_actions(
        &mut self,
    ) -> impl Iterator<Item = (u32, Option<PromiseId>, FenceOperation, Option<Failure>)> + '_ {
        self.by_index.iter_mut().filter_map(|(index, open)| {
            let act = open.act.take()?;
            Some((*index, open.completion.promise().cloned(), act, open.misnamed.take()))
        })
    }
}
