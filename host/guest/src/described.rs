//! The self-description of a component.

use std::{collections::BTreeMap, sync::Arc};

use wasmtime::Store;

use super::{
    FunctionDescription, FunctionKind, FunctionLimits, GuestError, HandlerDescription,
    MessageDescription, ObjectAccess, exports::GuestExports, exposures::DeclaredExposure,
    workflow::WorkflowState,
};
use segno_core::address::ObjectFunctionPath;

/// The self-description of a component, from its `describe` functions.
pub(super) struct ComponentDescription {
    pub(super) functions: Arc<Vec<FunctionDescription>>,
    pub(super) messages: Vec<MessageDescription>,
    /// Functions of objects, in the component's order.
    pub(super) objects: Vec<super::ObjectFunction>,
    /// Names of the functions of objects that run once per key.
    pub(super) runs: Vec<String>,
    /// Queries and updates of its workflows.
    pub(super) handlers: Vec<HandlerDescription>,
    /// Concurrency and rate limits of its functions.
    pub(super) limits: Vec<FunctionLimits>,
    /// Names of the workflows whose results are committed one by one.
    pub(super) commits: Vec<String>,
    /// Protocols by which its functions are offered.
    pub(super) exposures: Vec<DeclaredExposure>,
}

/// The function that an execution runs, with the object it belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CalledFunction {
    /// The function's name in the module.
    pub(super) name: String,
    /// The key of the object and the kind of access. `None` if the function belongs to no object.
    pub(super) object: Option<(String, ObjectAccess)>,
}

impl ComponentDescription {
    /// Calls the description functions of an instance.
    pub(super) async fn of(
        exports: &GuestExports,
        store: &mut Store<WorkflowState>,
    ) -> wasmtime::Result<Self> {
        let functions = exports.describe(store).await?;
        let commits = exports.describe_commits(store).await?;
        let function = |function| FunctionDescription::new(function, &commits);
        Ok(Self {
            functions: Arc::new(functions.into_iter().map(function).collect()),
            messages: exports.describe_messages(store).await?,
            objects: exports.describe_objects(store).await?,
            runs: exports.describe_runs(store).await?,
            handlers: exports.describe_handlers(store).await?,
            limits: exports.describe_limits(store).await?,
            commits,
            exposures: exports.describe_exposures(store).await?,
        })
    }

    /// Refuses descriptions with more than `limit` bytes.
    pub(super) fn check_size(&self, limit: usize) -> Result<(), GuestError> {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let function = |function: &FunctionDescription| {
            function.name.len()
                + text(&function.summary)
                + text(&function.input_schema)
                + text(&function.output_schema)
        };
        let message = |message: &MessageDescription| {
            message.function.len() + message.name.len() + message.schema.len()
        };
        let handler = |handler: &HandlerDescription| {
            handler.function.len()
                + handler.name.len()
                + text(&handler.summary)
                + text(&handler.input_schema)
                + text(&handler.output_schema)
        };
        let of_functions = self.functions.iter().map(function).sum();
        let of_messages = self.messages.iter().map(message).sum();
        let of_objects = self.objects.iter().map(|object| object.function.len()).sum();
        let of_runs = self.runs.iter().map(String::len).sum();
        let of_handlers = self.handlers.iter().map(handler).sum();
        let of_limits = self.limits.iter().map(FunctionLimits::size).sum();
        let of_commits = self.commits.iter().map(String::len).sum();
        let exposure = |of: &DeclaredExposure| of.function.len() + of.protocol.len();
        let of_exposures = self.exposures.iter().map(exposure).sum();
        for (what, size) in [
            ("description", of_functions),
            ("description of messages", of_messages),
            ("description of objects", of_objects),
            ("description of functions that run once a key", of_runs),
            ("description of queries and updates", of_handlers),
            ("description of limits", of_limits),
            ("description of commits", of_commits),
            ("description of exposures", of_exposures),
        ] {
            if size > limit {
                return Err(GuestError::OutputTooLarge { what: what.into(), size, limit });
            }
        }
        Ok(())
    }

    /// Resolves `function`: the name of a workflow, or `OBJECT@KEY/FUNCTION`.
    ///
    /// # Errors
    /// [`GuestError::NoSuchFunction`], [`GuestError::NeedsKey`].
    pub(super) fn called(&self, function: &str) -> Result<CalledFunction, GuestError> {
        let objects: BTreeMap<&str, ObjectAccess> =
            self.objects.iter().map(|of| (of.function.as_str(), of.access)).collect();
        let Some(keyed) = ObjectFunctionPath::parse(function) else {
            known(&self.functions, FunctionKind::Workflow, function)?;
            return match objects.contains_key(function) {
                true => Err(GuestError::NeedsKey { function: function.to_owned() }),
                false => Ok(CalledFunction { name: function.to_owned(), object: None }),
            };
        };
        let name = keyed.name();
        match objects.get(&*name) {
            Some(access) => {
                Ok(CalledFunction { name, object: Some((keyed.key.to_owned(), *access)) })
            }
            None => {
                let known = named(objects.keys().copied());
                Err(GuestError::NoSuchFunction {
                    kind: "function of an object",
                    function: name,
                    known,
                })
            }
        }
    }
}

/// Refuses a function that the module does not describe.
pub(super) fn known(
    functions: &[FunctionDescription],
    kind: FunctionKind,
    name: &str,
) -> Result<(), GuestError> {
    let of_kind = || functions.iter().filter(|function| function.kind == kind);
    if of_kind().any(|function| function.name == name) {
        return Ok(());
    }
    let known = named(of_kind().map(|function| function.name.as_str()));
    let kind = match kind {
        FunctionKind::Workflow => "workflow",
        FunctionKind::Activity => "activity",
    };
    Err(GuestError::NoSuchFunction { kind, function: name.into(), known })
}

/// Joins names into a list for an error message.
fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectFunction;

    #[test]
    fn functions_of_objects_are_called_with_keys_and_others_without() {
        let function = |name: &str| FunctionDescription {
            name: name.to_owned(),
            kind: FunctionKind::Workflow,
            summary: None,
            input_schema: None,
            output_schema: None,
            signals: false,
            timeout_ms: None,
            retry: None,
            commits_each: false,
        };
        let described = ComponentDescription {
            functions: Arc::new(vec![function("order"), function("Cart/total")]),
            messages: Vec::new(),
            runs: Vec::new(),
            handlers: Vec::new(),
            limits: Vec::new(),
            commits: Vec::new(),
            exposures: Vec::new(),
            objects: vec![ObjectFunction {
                function: "Cart/total".to_owned(),
                access: ObjectAccess::Shared,
            }],
        };
        let order = CalledFunction { name: "order".to_owned(), object: None };
        assert_eq!(described.called("order").expect("a workflow"), order);
        let object = Some(("a/d@a".to_owned(), ObjectAccess::Shared));
        let total = CalledFunction { name: "Cart/total".to_owned(), object };
        assert_eq!(described.called("Cart@a/d@a/total").expect("a function of an object"), total);
        for (function, said) in [
            ("Cart/total", "call it as `Cart@KEY/total`"),
            ("Cart@ada/add", "no function of an object `Cart/add`; it has `Cart/total`"),
            ("total", "no workflow `total`"),
        ] {
            let error = described.called(function).expect_err("it is refused").to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
