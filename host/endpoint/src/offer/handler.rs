//! A handler, and the function behind it.

use std::collections::BTreeMap;

use segno_core::promise::RetryPolicy;
use segno_guest::{AccessReport, FunctionReport, FunctionReportKind, RetryReport};
use segno_restate::manifest::{self, HandlerType};

/// The default time, in milliseconds, that a runtime waits for a deployment that it asked to
/// suspend.
const ABORT_TIMEOUT_MS: u64 = 600_000;
/// The content type of values.
pub(super) const JSON: &str = "application/json";

/// A handler, and the function behind it.
#[derive(Debug)]
pub struct OfferedHandler {
    pub service: String,
    /// The name of the handler within its service.
    pub name: String,
    /// The name of the function in the module.
    pub function: String,
    /// True for an activity, false for a workflow.
    pub is_activity: bool,
    /// The access mode of the handler to its object. `None` for a function of a plain service.
    pub access: Option<AccessReport>,
    /// True if the object has promises: a runtime keeps promises for workflows only.
    pub has_promises: bool,
    /// True if the function receives signals.
    pub takes_signals: bool,
    /// The signals that wake it while it is suspended.
    pub signals: Vec<String>,
    /// The default time limit of a call, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The default policy for repeating failed attempts.
    pub retry: RetryPolicy,
}

impl OfferedHandler {
    /// The handler of a function. Its service is the object's, or `own_service` for a plain
    /// function.
    pub(super) fn new(own_service: &str, function: &FunctionReport, has_promises: bool) -> Self {
        let (service, name) = match function.name.split_once('/') {
            Some((object, name)) => (object, name),
            None => (own_service, &*function.name),
        };
        let mut signals: Vec<String> = function
            .messages
            .iter()
            .filter(|message| message.is_signal)
            .map(|message| message.name.clone())
            .collect();
        let updates = function.handlers.iter().filter(|handler| handler.is_update);
        signals.extend(updates.map(|update| format!("segno:update/{}", update.name)));
        Self {
            service: service.to_owned(),
            name: name.to_owned(),
            function: function.name.clone(),
            is_activity: function.kind == FunctionReportKind::Activity,
            access: function.access,
            has_promises,
            takes_signals: function.signals,
            signals,
            timeout_ms: function.timeout_ms,
            retry: function.retry.as_ref().map(policy).unwrap_or_default(),
        }
    }

    /// The function name with which the guest is started. Includes the key of the object.
    pub fn started_as(&self, key: &str) -> String {
        match self.access {
            Some(_) => format!("{}@{key}/{}", self.service, self.name),
            None => self.function.clone(),
        }
    }

    /// The entry of the handler in a manifest.
    pub(super) fn announced(&self, function: &FunctionReport) -> manifest::ManifestHandler {
        let kind = if self.is_activity { "activity" } else { "workflow" };
        // An activity cannot suspend, and may take as long as its own time limit.
        let abort_timeout =
            self.timeout_ms.filter(|limit| self.is_activity && *limit > ABORT_TIMEOUT_MS);
        let content_type = match &function.input_schema {
            Some(_) => JSON,
            None => "*/*",
        };
        manifest::ManifestHandler {
            name: self.name.clone(),
            ty: self.access.map(|access| match access {
                AccessReport::Exclusive if function.runs_once => HandlerType::Workflow,
                AccessReport::Exclusive => HandlerType::Exclusive,
                AccessReport::Shared => HandlerType::Shared,
            }),
            input: Some(manifest::HandlerInput {
                required: Some(false),
                content_type: Some(content_type.to_owned()),
                json_schema: function.input_schema.clone(),
            }),
            output: Some(manifest::HandlerOutput {
                content_type: Some(JSON.to_owned()),
                set_content_type_if_empty: Some(false),
                json_schema: function.output_schema.clone(),
            }),
            documentation: function.summary.clone(),
            metadata: Some(BTreeMap::from([("segno.kind".to_owned(), kind.to_owned())])),
            inactivity_timeout: None,
            abort_timeout,
            journal_retention: None,
            idempotency_retention: None,
            workflow_completion_retention: None,
            enable_lazy_state: None,
            ingress_private: None,
            retry_policy_initial_interval: None,
            retry_policy_max_interval: None,
            retry_policy_max_attempts: None,
            retry_policy_exponentiation_factor: None,
            retry_policy_on_max_attempts: None,
        }
    }
}

fn policy(retry: &RetryReport) -> RetryPolicy {
    RetryPolicy {
        initial_ms: retry.initial_ms,
        factor: retry.factor,
        max_ms: retry.max_ms,
        jitter: retry.jitter,
        max_attempts: retry.max_attempts,
        non_retryable: retry.non_retryable.clone(),
    }
}
