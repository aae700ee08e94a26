//! The check of uploaded components, as a trait, and its implementation by wasmtime.

use std::sync::Arc;

use async_trait::async_trait;
use segno_guest::{
    AccessReport, FunctionReportKind, HandlerReport, ImportTreatment, InvalidComponent,
    LoadingError, MessageReport, ModuleReport, Wasm,
};
use serde_json::{Value, json};

use super::model::{
    Function, FunctionKind, Handler, HandlerKind, Import, ImportStatus, Message, MessageKind,
    ModuleDescription, ObjectAccess, Retry,
};

/// Reports the imports and exports of a component, or its faults.
#[async_trait]
pub trait ComponentInspector: Send + Sync + 'static {
    /// Checks `component`.
    async fn inspect(&self, component: Arc<[u8]>) -> Result<ModuleDescription, ComponentRefusal>;
}

/// The reason why a component cannot be run.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentRefusal {
    /// A stable code in kebab case, for example `not-wasm`.
    pub code: String,
    /// The fault, and how to correct it.
    pub message: String,
    /// The report, as far as it got.
    pub report: Option<Value>,
}

#[async_trait]
impl ComponentInspector for Wasm {
    async fn inspect(&self, component: Arc<[u8]>) -> Result<ModuleDescription, ComponentRefusal> {
        match Wasm::inspect(self, component).await {
            Ok(report) => Ok(described(report)),
            Err(invalid) => Err(rejected(&invalid)),
        }
    }
}

fn described(report: ModuleReport) -> ModuleDescription {
    let imports = report.imports.into_iter().map(|import| {
        let (status, note) = match import.how {
            ImportTreatment::Provided => (ImportStatus::Provided, None),
            ImportTreatment::DeterministicWasi => (ImportStatus::Deterministic, None),
            ImportTreatment::RefusedWhenCalled { use_instead } => {
                (ImportStatus::Refused, Some(use_instead))
            }
        };
        Import { name: import.name, status, functions: import.functions, note }
    });
    let functions = report.functions.into_iter().map(|function| Function {
        name: function.name,
        kind: match function.kind {
            FunctionReportKind::Workflow => FunctionKind::Workflow,
            FunctionReportKind::Activity => FunctionKind::Activity,
        },
        summary: function.summary,
        input_schema: function.input_schema,
        output_schema: function.output_schema,
        runs_once: function.runs_once,
        access: function.access.map(|access| match access {
            AccessReport::Exclusive => ObjectAccess::Exclusive,
            AccessReport::Shared => ObjectAccess::Shared,
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
        commits_each: function.commits_each,
        expose: function.expose,
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

fn rejected(invalid: &InvalidComponent) -> ComponentRefusal {
    let (code, report) = match invalid {
        InvalidComponent::TooLarge { size, limit } => {
            ("component-too-large", Some(json!({ "size": size, "limit": limit })))
        }
        InvalidComponent::NotWasm => ("not-wasm", None),
        InvalidComponent::Sources(LoadingError::NoRuntime(runtime)) => {
            ("runtime-missing", Some(json!({ "runtime": runtime.to_string() })))
        }
        InvalidComponent::Sources(_) => ("sources-rejected", None),
        InvalidComponent::UnreadableRuntime { .. } => ("unreadable-runtime", None),
        InvalidComponent::CoreModule => ("core-module", None),
        InvalidComponent::Malformed { .. } => ("malformed-component", None),
        InvalidComponent::MissingExports { missing } => {
            ("missing-exports", Some(json!({ "missing": missing })))
        }
        InvalidComponent::UnknownImports { imports } => {
            ("unknown-imports", Some(json!({ "imports": imports })))
        }
        InvalidComponent::DoesNotFit { .. } => ("contract-mismatch", None),
        InvalidComponent::TooDemanding { .. } => ("component-too-demanding", None),
        InvalidComponent::NoDescription(_) => ("describe-failed", None),
        InvalidComponent::BadName { name, .. } => {
            ("invalid-function-name", Some(json!({ "name": name })))
        }
        InvalidComponent::Unlisted { names } => {
            ("unlisted-functions", Some(json!({ "names": names })))
        }
        InvalidComponent::BadSchema { which, function, .. } => {
            ("invalid-schema", Some(json!({ "which": which, "function": function })))
        }
        InvalidComponent::BadRetry { function, .. } => {
            ("invalid-retry", Some(json!({ "function": function })))
        }
        InvalidComponent::BadMessage { what, name, function, .. } => {
            ("invalid-message", Some(json!({ "kind": what, "name": name, "function": function })))
        }
        InvalidComponent::BadObject { function, .. } => {
            ("invalid-object", Some(json!({ "function": function })))
        }
        InvalidComponent::BadRun { function, .. } => {
            ("invalid-run", Some(json!({ "function": function })))
        }
        InvalidComponent::BadHandler { what, name, function, .. } => {
            ("invalid-handler", Some(json!({ "kind": what, "name": name, "function": function })))
        }
        InvalidComponent::BadLimit { function, .. } => {
            ("invalid-limit", Some(json!({ "function": function })))
        }
        InvalidComponent::BadCommit { function, .. } => {
            ("invalid-commit", Some(json!({ "function": function })))
        }
        InvalidComponent::BadExposure { function, protocol, .. } => {
            ("invalid-exposure", Some(json!({ "function": function, "protocol": protocol })))
        }
        InvalidComponent::Host(_) => ("not-checked", None),
    };
    let mut message = invalid.to_string();
    if let Some(source) = std::error::Error::source(invalid) {
        message = format!("{message}: {source}");
    }
    ComponentRefusal { code: code.to_owned(), message, report }
}
