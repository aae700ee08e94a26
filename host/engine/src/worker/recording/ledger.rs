//! The commands of a guest that repeats the records of an invocation with another id.
//!
//! Ids of promises are derived from the id of their invocation, and a guest may pass them on, for
//! example to an activity that mails a link. Under another id, its command then contains another
//! id. Therefore a command that differs from the recorded one is compared once more, rewritten to
//! the recorded id.

use segno_core::{
    id::{CommandIndex, PromiseId},
    invocation::IssuedCommand,
    stream::StreamItem,
};

use crate::worker::commands::{self, CommandRules};

/// All commands by index, both as issued and rewritten to the recorded id.
#[derive(Debug)]
pub struct CommandLedger {
    own: PromiseId,
    recorded: PromiseId,
    asked: Vec<IssuedCommand>,
    translated: Vec<IssuedCommand>,
    stream_items: Vec<(CommandIndex, StreamItem)>,
}

impl CommandLedger {
    /// A ledger for the guest of `own`, which repeats records of `recorded`.
    pub fn new(own: PromiseId, recorded: PromiseId) -> Self {
        Self { own, recorded, asked: Vec::new(), translated: Vec::new(), stream_items: Vec::new() }
    }

    /// The command, rewritten to the recorded id.
    pub fn translate(&self, rules: &dyn CommandRules) -> IssuedCommand {
        commands::asked_under(rules, &self.own, &self.recorded)
    }

    /// Adds the next command of the guest.
    pub fn note(&mut self, asked: IssuedCommand, rules: &dyn CommandRules) {
        if let Some(item) = rules.stream_item() {
            self.stream_items.push((CommandIndex(self.asked.len() as u32), item));
        }
        self.translated.push(self.translate(rules));
        self.asked.push(asked);
    }

    /// The commands as the guest issued them.
    pub fn asked(&self) -> &[IssuedCommand] {
        &self.asked
    }

    /// The items that the commands append to streams, with their commands.
    pub fn stream_items(&self) -> &[(CommandIndex, StreamItem)] {
        &self.stream_items
    }

    /// The commands, rewritten to the recorded id.
    pub fn translated(&self) -> &[IssuedCommand] {
        &self.translated
    }
}
