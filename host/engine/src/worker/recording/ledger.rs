//! The commands of a guest that repeats the records of an invocation with another id than its own.
//!
//! Ids of promises are made of the id of their invocation, and a guest may hand them on: to an
//! activity that mails a link, say. Under another id it asks for the same with another id in it. So a
//! command that differs from the recorded one is compared once more, as it would have been under the
//! recorded id.

use segno_core::{id::PromiseId, invocation::Asked};

use crate::worker::commands::{self, Rules};

/// See the module. All commands, by index.
#[derive(Debug)]
pub struct Ledger {
    own: PromiseId,
    recorded: PromiseId,
    asked: Vec<Asked>,
    translated: Vec<Asked>,
}

impl Ledger {
    /// A ledger of the guest of `own`, which repeats records of `recorded`.
    pub fn new(own: PromiseId, recorded: PromiseId) -> Self {
        Self { own, recorded, asked: Vec::new(), translated: Vec::new() }
    }

    /// The command as it would be asked under the recorded id.
    pub fn translate(&self, rules: &dyn Rules) -> Asked {
        commands::asked_under(rules, &self.own, &self.recorded)
    }

    /// The guest asked for this, as its next command.
    pub fn note(&mut self, asked: Asked, rules: &dyn Rules) {
        self.translated.push(self.translate(rules));
        self.asked.push(asked);
    }

    /// The commands as they were asked.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// The commands as they would be asked under the recorded id.
    pub fn translated(&self) -> &[Asked] {
        &self.translated
    }
}
