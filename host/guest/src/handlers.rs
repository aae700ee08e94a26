//! The queries and updates that a component describes for its workflows.

use serde_json::Value;
use wasmtime::component::{ComponentType, Lift};

use super::{
    invalid::InvalidComponent,
    report::{FunctionReport, FunctionReportKind, HandlerReport},
};

/// Maximum length of a name, in bytes.
const LONGEST_NAME: usize = 64;

#[derive(Debug, Clone, PartialEq, ComponentType, Lift)]
#[component(record)]
pub struct HandlerDescription {
    pub function: String,
    /// Query or update.
    pub kind: HandlerKind,
    pub name: String,
    /// A one-line description for people.
    pub summary: Option<String>,
    /// JSON schema of the handler's input, as text.
    #[component(name = "input-schema")]
    pub input_schema: Option<String>,
    /// JSON schema of the handler's answer, as text.
    #[component(name = "output-schema")]
    pub output_schema: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum HandlerKind {
    /// Reads the workflow's state only.
    #[component(name = "query")]
    Query,
    /// Delivered to the workflow, which answers it.
    #[component(name = "update")]
    Update,
}

/// Adds the queries and updates of each workflow to the reports.
pub(super) fn with_handlers(
    mut reports: Vec<FunctionReport>,
    mut handlers: Vec<HandlerDescription>,
) -> Result<Vec<FunctionReport>, InvalidComponent> {
    handlers.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    for handler in handlers {
        let is_update = handler.kind == HandlerKind::Update;
        let bad = |reason: String| InvalidComponent::BadHandler {
            what: if is_update { "update" } else { "query" },
            name: handler.name.clone(),
            function: handler.function.clone(),
            reason,
        };
        if !is_name(&handler.name) {
            let rule = "its name has to be 1 to 64 letters, digits, `-`, `_` or `.`";
            return Err(bad(rule.to_owned()));
        }
        let is_it = |report: &&mut FunctionReport| {
            report.name == handler.function && report.kind == FunctionReportKind::Workflow
        };
        let report = reports.iter_mut().find(is_it);
        let report = report.ok_or_else(|| bad("there is no such workflow".to_owned()))?;
        let is_known =
            |known: &HandlerReport| known.is_update == is_update && known.name == handler.name;
        if report.handlers.iter().any(is_known) {
            return Err(bad("it is described twice".to_owned()));
        }
        if is_update && !report.signals {
            let why = "updates come as signals, and the workflow takes none";
            return Err(bad(why.to_owned()));
        }
        let [input_schema, output_schema] = [&handler.input_schema, &handler.output_schema]
            .map(|schema| schema.as_deref().map(parsed).transpose());
        report.handlers.push(HandlerReport {
            is_update,
            name: handler.name.clone(),
            summary: handler.summary.clone(),
            input_schema: input_schema.map_err(|reason| bad(format!("its input: {reason}")))?,
            output_schema: output_schema.map_err(|reason| bad(format!("its output: {reason}")))?,
        });
    }
    Ok(reports)
}

fn parsed(schema: &str) -> Result<Value, String> {
    let schema: Value = segno_core::json::parse(schema).map_err(|error| error.to_string())?;
    jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    Ok(schema)
}

fn is_name(name: &str) -> bool {
    let is_fine = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionDescription, FunctionKind};

    fn workflow(signals: bool) -> FunctionReport {
        let described = FunctionDescription {
            name: "order".to_owned(),
            kind: FunctionKind::Workflow,
            summary: None,
            input_schema: None,
            output_schema: None,
            signals,
            timeout_ms: None,
            retry: None,
            commits_each: false,
        };
        FunctionReport::new(&described).expect("it has no schema")
    }

    fn handler(kind: HandlerKind, name: &str) -> HandlerDescription {
        HandlerDescription {
            function: "order".to_owned(),
            kind,
            name: name.to_owned(),
            summary: None,
            input_schema: Some(r#"{"type": "string"}"#.to_owned()),
            output_schema: None,
        }
    }

    #[test]
    fn a_workflow_may_have_a_query_and_an_update_of_one_name() {
        let handlers =
            vec![handler(HandlerKind::Update, "note"), handler(HandlerKind::Query, "note")];
        let reports = with_handlers(vec![workflow(true)], handlers).expect("they are fine");
        let found: Vec<bool> = reports[0].handlers.iter().map(|found| found.is_update).collect();
        assert_eq!(found, [false, true]);
    }

    #[test]
    fn handlers_that_cannot_be_used_are_refused_by_name() {
        let query = |name: &str| handler(HandlerKind::Query, name);
        let elsewhere = HandlerDescription { function: "ship".to_owned(), ..query("step") };
        let no_schema = HandlerDescription { output_schema: Some("{".to_owned()), ..query("step") };
        for (handlers, signals, said) in [
            (vec![query("a step")], true, "1 to 64 letters"),
            (vec![query(&"a".repeat(65))], true, "1 to 64 letters"),
            (vec![query("step"), query("step")], true, "described twice"),
            (vec![elsewhere], true, "no such workflow"),
            (vec![handler(HandlerKind::Update, "note")], false, "updates come as signals"),
            (vec![no_schema], true, "its output: EOF"),
        ] {
            let refused = with_handlers(vec![workflow(signals)], handlers);
            let error = refused.expect_err("it is refused").to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
