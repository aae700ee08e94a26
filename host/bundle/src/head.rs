//! The head of a bundle: its description and origin. It is JSON, so that any tool can show it.
//! Fields may be added, and a reader ignores unknown ones.

use std::collections::BTreeMap;

use segno_core::{invocation::EngineFacts, time::Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleHead {
    /// Program and version that wrote the bundle, for example `segno 0.1.0`.
    pub written_by: String,
    /// Creation time by the host's clock, in milliseconds since the Unix epoch: a replay runs at
    /// this instant.
    pub made_at_ms: i64,
    /// True if the bundle includes the calls and children of the requested executions.
    pub tree: bool,
    /// True if components were left out on purpose.
    pub without_modules: bool,
    /// Set if values are hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
    /// The settings of the host's engine that could change a replay. Each journal also has those
    /// that its execution began under.
    pub engine: EngineFacts,
    /// The limits of the host's guests, by name. They only ever stop a guest, and a replay must not
    /// stop where the host's run did not.
    #[serde(default)]
    pub limits: BTreeMap<String, u64>,
}

/// Information for readers of a redacted bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// Explains the hidden values and the guarantees that a replay still gives; for people.
    pub note: String,
}

impl Redaction {
    /// The note for the values that this version hides.
    pub fn usual() -> Self {
        Self {
            note: "values are hidden: texts and numbers were replaced by others of about the same length. A replay that differs \
                   proves nothing, because the code saw other values than it was run with; one that is identical \
                   proves that the commands, their order and their names are the same whatever the hidden values were"
                .to_owned(),
        }
    }
}

impl BundleHead {
    /// Creation time of the bundle.
    pub fn made_at(&self) -> Timestamp {
        Timestamp(self.made_at_ms)
    }
}
