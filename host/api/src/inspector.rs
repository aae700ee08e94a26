//! The check of uploaded components, as a trait, and its implementation by wasmtime.

use std::sync::Arc;

use async_trait::async_trait;
use segno_guest::{Access, HandlerReport, How, Invalid, Kind, MessageReport, ModuleReport, Wasm};
use serde_json::{Value, json};

use super::model::{
    Function, FunctionKind, Handler, HandlerKind, Import, ImportStatus, Message, MessageKind,
    ModuleDescription, ObjectAccess, Retry,
};

/// Reports the imports and exports of a component, or its faults.
#[async_trait]
pub trait ComponentInspector: Send + Sync + 'static {
    /// Checks `component`.
    async fn inspect(&self, component: Arc<[u8]>) -> Result<ModuleDescription, Rejected>;
}

/// The reason why a component cannot be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// A stable code in kebab case, for example `not-wasm`.
    pub code: String,
    /// The fault, and how to correct it.
    pub message: String,
    /// The report, as far as it got.
    pub report: Option<Value>,
}

#[async_trait]
impl ComponentInspector for Wasm {
    async fn inspect(&self, component: Arc<[u8]>) -> Result<ModuleDescription, Rejected> {
        match Wasm::inspect(self, component).await {
            Ok(report) => Ok(described(report)),
            Err(invalid) => Err(rejected(&invalid)),
        }
    }
}

fn described(report: ModuleReport) -> ModuleDescription {
    let imports = report.imports.into_iter().map(|import| {
        let (status, note) = match import.how {
            How::Provided => (ImportStatus::Provided, None),
            How::DeterministicWasi => (ImportStatus::Deterministic, None),
            How::RefusedWhenCalled { use_instead } => (ImportStatus::Refused, Some(use_instead)),
        };
        Import { name: import.name, status, functions: import.functions, note }
    });
    let functions = report.functions.into_iter().map(|function| Function {
        name: function.name,
        kind: match function.kind {
            Kind::Workflow => FunctionKind::Workflow,
            Kind::Activity => FunctionKind::Activity,
        },
        summary: function.summary,
        input_schema: function.input_schema,
        output_schema: function.output_schema,
        runs_once: function.runs_once,
        access: function.access.map(|access| match access {
            Access::Exclusive => ObjectAccess::Exclusive,
            Access::Shared => ObjectAccess::Shared,
        }),
        signals: function.signals,
        messages: function.messages.into_iter().map(message).collect(),
        handlers: function.handlers.into_iter().map(handler).collect(),
        timeout_ms: function.timeout_ms,
        retry: function.retry.map(|retry| Retry {
            initial_ms: retry.initial_ms,
            factor: retry.factor,
            max_ms: retry.max_ms,
            jitter: retry.jitter,
            max_attempts: retry.max_attempts,
            non_retryable: retry.non_retryable,
        }),
        limit: function.limit,
    });
    ModuleDescription {
        functions: functions.collect(),
        imports: imports.collect(),
        exports: report.exports,
        no_snapshots: report.no_snapshots,
    }
}

fn message(report: MessageReport) -> Message {
    let kind = if report.is_signal { MessageKind::Signal } else { MessageKind::Promise };
    Message { kind, name: report.name, schema: report.schema }
}

fn handler(report: HandlerReport) -> Handler {
    Handler {
        kind: if report.is_update { HandlerKind::Update } else { HandlerKind::Query },
        name: report.name,
        summary: report.summary,
        input_schema: report.input_schema,
        output_schema: report.output_schema,
    }
}

fn rejected(invalid: &Invalid) -> Rejected {
    let (code, report) = match invalid {
        Invalid::TooLarge { size, limit } => {
            ("component-too-large", Some(json!({ "size": size, "limit": limit })))
        }
        Invalid::NotWasm => ("not-wasm", None),
        Invalid::CoreModule => ("core-module", None),
        Invalid::Malformed { .. } => ("malformed-component", None),
        Invalid::MissingExports { missing } => {
            ("missing-exports", Some(json!({ "missing": missing })))
        }
        Invalid::UnknownImports { imports } => {
            ("unknown-imports", Some(json!({ "imports": imports })))
        }
        Invalid::DoesNotFit { .. } => ("contract-mismatch", None),
        Invalid::TooDemanding { .. } => ("component-too-demanding", None),
        Invalid::NoDescription(_) => ("describe-failed", None),
        Invalid::BadName { name, .. } => ("invalid-function-name", Some(json!({ "name": name }))),
        Invalid::Unlisted { names } => ("unlisted-functions", Some(json!({ "names": names }))),
        Invalid::BadSchema { which, function, .. } => {
            ("invalid-schema", Some(json!({ "which": which, "function": function })))
        }
        Invalid::BadRetry { function, .. } => {
            ("invalid-retry", Some(json!({ "function": function })))
        }
        Invalid::BadMessage { what, name, function, .. } => {
            ("invalid-message", Some(json!({ "kind": what, "name": name, "function": function })))
        }
        Invalid::BadObject { function, .. } => {
            ("invalid-object", Some(json!({ "function": function })))
        }
        Invalid::BadRun { function, .. } => ("invalid-run", Some(json!({ "function": function }))),
        Invalid::BadHandler { what, name, function, .. } => {
            ("invalid-handler", Some(json!({ "kind": what, "name": name, "function": function })))
        }
        Invalid::BadLimit { function, .. } => {
            ("invalid-limit", Some(json!({ "function": function })))
        }
        Invalid::Host(_) => ("not-checked", None),
    };
    let mut message = invalid.to_string();
    if let Some(source) = std::error::Error::source(invalid) {
        message = format!("{message}: {source}");
    }
    Rejected { code: code.to_owned(), message, report }
}
