//! The source of a variable's or a secret's value.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The value of an environment variable of activities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a text, or a table { from = \"VARIABLE\" } or { file = \"/PATH\" }")]
pub enum Variable {
    /// The value itself.
    Value(String),
    /// A value from outside the policy.
    Source(VariableSource),
}

/// A source outside the policy. It is read for each attempt, so the value may change while the host
/// runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariableSource {
    /// A variable of the host's own environment.
    From(String),
    /// A file of the host; one trailing line break is stripped.
    File(PathBuf),
}

/// A value that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{setting}` of `[{module}]` in policy.toml {reason}")]
pub struct VariableError {
    /// The setting's name, such as `secrets.PAY`.
    pub setting: String,
    /// The module's section in the policy.
    pub module: String,
    /// The reason, worded as the rest of the sentence.
    pub reason: String,
}

impl Variable {
    /// Reads the value. The error is the rest of a sentence about the setting.
    pub(super) fn read(&self) -> Result<String, String> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Source(source) => source.read(),
        }
    }
}

impl VariableSource {
    /// Like [`Variable::read`].
    pub(super) fn read(&self) -> Result<String, String> {
        match self {
            Self::From(variable) => std::env::var(variable).map_err(|_| {
                format!("is taken from `{variable}`, which is not set in the host's environment")
            }),
            Self::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    format!("is taken from the file `{}`: {error}", path.display())
                })?;
                let value = text.strip_suffix('\n').unwrap_or(&text);
                Ok(value.strip_suffix('\r').unwrap_or(value).to_owned())
            }
        }
    }
}
