//! The head of a bundle: what it is and what wrote it. JSON, so that any tool can show it; fields
//! may be added to it, and a reader ignores those that it does not know.

use std::collections::BTreeMap;

use segno_core::{invocation::EngineFacts, time::Timestamp};
use serde::{Deserialize, Serialize};

/// The head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The program and version that wrote it, for example `segno 0.1.0`.
    pub written_by: String,
    /// When, in milliseconds since the Unix epoch, by the clock of the host: a replay takes place at
    /// this instant.
    pub made_at_ms: i64,
    /// Whether calls and children came with the executions that were asked for.
    pub tree: bool,
    /// Whether components were left out on purpose.
    pub without_modules: bool,
    /// Set if values are hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
    /// The settings of the host's engine that could change a replay. Each journal has those that its
    /// execution began under.
    pub engine: EngineFacts,
    /// The limits of the host's guests, by name. They only ever stop a guest, which a replay shall
    /// not be where the host's was not.
    #[serde(default)]
    pub limits: BTreeMap<String, u64>,
}

/// What a reader of a redacted bundle has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// What is hidden, and what a replay still proves; for people.
    pub note: String,
}

impl Redaction {
    /// What is hidden today.
    pub fn usual() -> Self {
        Self {
            note: "values are hidden: texts and numbers were replaced by others of about the same length. A replay that differs \
                   proves nothing, because the code saw other values than it was run with; one that is identical \
                   proves that the commands, their order and their names are the same whatever the hidden values were"
                .to_owned(),
        }
    }
}

impl Head {
    /// When it was made.
    pub fn made_at(&self) -> Timestamp {
        Timestamp(self.made_at_ms)
    }
}
