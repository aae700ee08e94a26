//! Modules and what they offer.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What kind of function it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FunctionKind {
    /// Journaled and replayed; no I/O of its own.
    Workflow,
    /// Does I/O; run at least once.
    Activity,
}

impl FunctionKind {
    /// As it is written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Activity => "activity",
        }
    }
}

/// When and how often a failed attempt is repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Retry {
    /// Before the second attempt.
    pub initial_ms: u64,
    /// How much longer each wait is than the one before.
    pub factor: f64,
    /// No wait is longer.
    pub max_ms: u64,
    /// The fraction of each wait that is drawn at random.
    pub jitter: f64,
    /// Attempts in all; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Failure codes that are final at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_retryable: Vec<u32>,
}

/// A function that a module offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub kind: FunctionKind,
    /// What it does, in its author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The JSON schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// The JSON schema of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// It takes signals.
    #[serde(default)]
    pub signals: bool,
    /// Its own time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Its own retry policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// What the host does with an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImportStatus {
    /// The host provides it.
    Provided,
    /// The host provides it in a deterministic form.
    Deterministic,
    /// Calling it fails with an error that names what to use instead.
    Refused,
}

/// Something that a module imports: functions of one interface that are treated alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Import {
    /// The interface.
    pub name: String,
    /// What becomes of a workflow's call. Activities get real I/O as far as the host's policy allows.
    pub status: ImportStatus,
    /// The functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// What to use instead of refused ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a component says of itself when it is uploaded; kept with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModuleDescription {
    /// What it offers.
    pub functions: Vec<Function>,
    /// What it imports, and what the host does with that.
    pub imports: Vec<Import>,
    /// What it exports.
    pub exports: Vec<String>,
}

/// A module that is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Module {
    /// Its identity: the SHA-256 of its bytes, in hexadecimal.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was first uploaded.
    pub created_at_ms: i64,
    /// The names that stand for it now.
    pub aliases: Vec<String>,
    /// Unfinished executions that run it, counted up to 10,000.
    pub in_use: u64,
    /// What it offers and imports.
    #[serde(flatten)]
    pub description: ModuleDescription,
}

/// The modules that are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModuleList {
    /// Newest first.
    pub modules: Vec<Module>,
}

/// The answer to an upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Deployed {
    /// The module.
    pub module: Module,
    /// False: the same bytes were stored already.
    pub created: bool,
    /// The alias that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The module that the alias stood for before, if it was another. Executions that began on it finish on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}
