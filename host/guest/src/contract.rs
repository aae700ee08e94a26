//! The contract's types as Rust sees them, generated from `guest-sdk/wit`, and the one door for a workflow's imports.

/// Generated from the contract.
#[expect(missing_docs, reason = "generated; the documents are in guest-sdk/wit/segno.wit")]
pub mod bindings {
    wasmtime::component::bindgen!({
        path: "../../guest-sdk/wit",
        world: "module",
        imports: { default: trappable, "segno:workflow/activity": async | trappable },
        exports: { default: async },
        additional_derives: [PartialEq, Clone, serde::Serialize, serde::Deserialize],
    });
}

pub use bindings::segno::workflow::types::{
    ActivityContext, CallOptions, Completion, Context, Event, Failure, FunctionDescription,
    FunctionKind, HttpRequest, HttpResponse, Level, Outcome, Payload, PromiseOptions, RetryOptions,
    RunAnswer, Signal,
};

/// One call of an import of the interface `journal`.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "field by field the parameters in guest-sdk/wit/segno.wit")]
pub enum Ask {
    Call { function: String, input: Payload, options: CallOptions },
    Send { function: String, input: Payload, options: CallOptions },
    SleepUntil { time_ms: u64 },
    Promise { name: Option<String>, options: PromiseOptions },
    Settle { promise_id: String, outcome: Outcome },
    Http { request: HttpRequest, options: CallOptions },
    Cancel { command: u32 },
    Forget { command: u32 },
    Publish { topic: String, payload: Payload },
    Run { name: String },
    RunDone { command: u32, outcome: Outcome },
    Now,
    Log { level: Level, message: String },
    Finish { outcome: Outcome },
}

impl Ask {
    /// Bytes of its texts and payloads.
    pub fn size(&self) -> usize {
        let pairs = |pairs: &[(String, String)]| -> usize {
            pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
        };
        match self {
            Self::Call { function, input, options } | Self::Send { function, input, options } => {
                function.len() + size(input) + pairs(&options.labels)
            }
            Self::Promise { name, .. } => name.as_ref().map_or(0, String::len),
            Self::Settle { promise_id, outcome } => promise_id.len() + outcome_size(outcome),
            Self::Http { request, options } => {
                let HttpRequest { method, url, headers, body } = request;
                let body = body.as_ref().map_or(0, size);
                method.len() + url.len() + pairs(headers) + body + pairs(&options.labels)
            }
            Self::Publish { topic, payload } => topic.len() + size(payload),
            Self::Run { name } => name.len(),
            Self::RunDone { outcome, .. } | Self::Finish { outcome } => outcome_size(outcome),
            Self::Log { message, .. } => message.len(),
            Self::SleepUntil { .. } | Self::Cancel { .. } | Self::Forget { .. } | Self::Now => 0,
        }
    }
}

/// Bytes of a payload.
pub(super) fn size(payload: &Payload) -> usize {
    match payload {
        Payload::Json(text) => text.len(),
        Payload::Bytes(bytes) => bytes.len(),
    }
}

/// Bytes of an outcome.
pub(super) fn outcome_size(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Success(payload) => size(payload),
        Outcome::Failure(failure) => {
            failure.message.len() + failure.details.as_ref().map_or(0, size)
        }
    }
}

/// What an [`Ask`] is answered with.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The index of the command that was made.
    Command(u32),
    /// The index of a promise command and the promise's id.
    Promise(u32, String),
    /// Whether to execute a `run` now.
    Run(RunAnswer),
    /// Logical time in milliseconds since the Unix epoch.
    Now(u64),
    /// Nothing to say.
    Done,
}
