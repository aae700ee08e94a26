//! Reports of a module's functions, built from its self-description: each part is checked, and an
//! error names the function.

use std::collections::BTreeSet;

use segno_core::{id::check_name, json};

use super::{
    FunctionDescription, MessageDescription, NamedMessageKind, ObjectAccess, ObjectFunction,
    border::not_finite,
    invalid::InvalidComponent,
    report::{AccessReport, FunctionReport, FunctionReportKind, MessageReport},
};

/// Builds the reports of the functions that a module describes.
pub(super) fn described(
    functions: &[FunctionDescription],
) -> Result<Vec<FunctionReport>, InvalidComponent> {
    let mut names = BTreeSet::new();
    let mut reports = Vec::new();
    for function in functions {
        let bad = match check_name("the name", &function.name) {
            _ if function.name.is_empty() => Some("a function without a name".to_owned()),
            Err(bad) => Some(format!("a function, and {bad}")),
            Ok(()) if names.insert(&function.name) => None,
            Ok(()) => Some(format!("`{}` more than once", function.name)),
        };
        if let Some(described) = bad {
            return Err(InvalidComponent::BadName { name: function.name.clone(), described });
        }
        let report = FunctionReport::new(function).map_err(|(which, error)| {
            InvalidComponent::BadSchema {
                which,
                function: function.name.clone(),
                reason: error.to_string(),
            }
        })?;
        if let Some(reason) = function.retry.as_ref().and_then(not_finite) {
            return Err(InvalidComponent::BadRetry { function: function.name.clone(), reason });
        }
        for (which, schema) in [("input", &report.input_schema), ("output", &report.output_schema)]
        {
            let Some(schema) = schema else { continue };
            jsonschema::validator_for(schema).map_err(|error| InvalidComponent::BadSchema {
                which,
                function: function.name.clone(),
                reason: error.to_string(),
            })?;
        }
        reports.push(report);
    }
    Ok(reports)
}

/// Adds the promises and signals that each function accepts to the reports.
pub(super) fn with_messages(
    mut reports: Vec<FunctionReport>,
    mut messages: Vec<MessageDescription>,
) -> Result<Vec<FunctionReport>, InvalidComponent> {
    messages.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    for MessageDescription { function, kind, name, schema } in messages {
        let is_signal = kind == NamedMessageKind::Signal;
        let what = if is_signal { "signal" } else { "promise" };
        let bad = |reason: String| InvalidComponent::BadMessage {
            what,
            name: name.clone(),
            function: function.clone(),
            reason,
        };
        check_name("its name", &name).map_err(|error| bad(error.to_string()))?;
        let is_it = |report: &&mut FunctionReport| {
            report.name == function && report.kind == FunctionReportKind::Workflow
        };
        let report = reports.iter_mut().find(is_it);
        let report = report.ok_or_else(|| bad("there is no such workflow".into()))?;
        if report.messages.iter().any(|known| known.is_signal == is_signal && known.name == name) {
            return Err(bad("it is described twice".into()));
        }
        if is_signal && !report.signals {
            return Err(bad("the workflow takes no signals".into()));
        }
        let schema = json::parse(&schema).map_err(|error| bad(error.to_string()))?;
        jsonschema::validator_for(&schema).map_err(|error| bad(error.to_string()))?;
        report.messages.push(MessageReport { is_signal, name, schema });
    }
    Ok(reports)
}

/// Adds the kind of access to the reports of functions of objects.
pub(super) fn with_objects(
    mut reports: Vec<FunctionReport>,
    objects: &[ObjectFunction],
) -> Result<Vec<FunctionReport>, InvalidComponent> {
    for ObjectFunction { function, access } in objects {
        let bad = |reason: &str| InvalidComponent::BadObject {
            function: function.clone(),
            reason: reason.to_owned(),
        };
        let is_whole = function.split_once('/').is_some_and(|(object, name)| {
            !object.is_empty() && !name.is_empty() && !name.contains('/') && !function.contains('@')
        });
        if !is_whole {
            return Err(bad("its name has to be `OBJECT/FUNCTION`, without a further `/` or `@`"));
        }
        let report = reports.iter_mut().find(|report| report.name == *function);
        let report = report.ok_or_else(|| bad("the module has no such function"))?;
        if report.kind != FunctionReportKind::Workflow {
            return Err(bad("it is an activity; only workflows are functions of objects"));
        }
        let access = match access {
            ObjectAccess::Exclusive => AccessReport::Exclusive,
            ObjectAccess::Shared => AccessReport::Shared,
        };
        if report.access.replace(access).is_some() {
            return Err(bad("it is described twice"));
        }
    }
    Ok(reports)
}

/// Marks the workflows whose results are committed one by one in the reports.
pub(super) fn with_commits(
    mut reports: Vec<FunctionReport>,
    commits: &[String],
) -> Result<Vec<FunctionReport>, InvalidComponent> {
    for function in commits {
        let bad = |reason: &'static str| InvalidComponent::BadCommit {
            function: function.clone(),
            reason,
        };
        let report = reports.iter_mut().find(|report| report.name == *function);
        let report = report.ok_or_else(|| bad("the module has no such function"))?;
        if report.kind != FunctionReportKind::Workflow {
            return Err(bad("it is an activity, which has no journal"));
        }
        if std::mem::replace(&mut report.commits_each, true) {
            return Err(bad("it is described twice"));
        }
    }
    Ok(reports)
}

/// Marks the functions of objects that run once per key in the reports.
pub(super) fn with_runs(
    mut reports: Vec<FunctionReport>,
    runs: &[String],
) -> Result<Vec<FunctionReport>, InvalidComponent> {
    for function in runs {
        let bad = |reason: String| InvalidComponent::BadRun { function: function.clone(), reason };
        let report = reports.iter_mut().find(|report| report.name == *function);
        let report = report.ok_or_else(|| bad("the module has no such function".to_owned()))?;
        match report.access {
            Some(AccessReport::Exclusive) => {}
            Some(AccessReport::Shared) => {
                return Err(bad(
                    "it is a shared function, and only an exclusive one can run once a key"
                        .to_owned(),
                ));
            }
            None => return Err(bad("it is a function of no object, and has no key".to_owned())),
        }
        if std::mem::replace(&mut report.runs_once, true) {
            return Err(bad("it is described twice".to_owned()));
        }
        let object = |name: &str| name.split_once('/').map(|(object, _)| object.to_owned());
        let other = reports.iter().find(|other| {
            other.access == Some(AccessReport::Exclusive)
                && other.name != *function
                && object(&other.name) == object(function)
        });
        if let Some(other) = other {
            return Err(bad(format!(
                "its object has another exclusive function, `{}`: all others have to be shared",
                other.name
            )));
        }
    }
    Ok(reports)
}
