//! The exports of a component: they describe, start, resume, query and perform its functions.

use std::{
    cell::RefCell,
    sync::{Arc, Once},
};

use crate::{
    attempt,
    bindings::{
        exports::segno::workflow::{
            exposures::Exposure,
            handlers::HandlerDescription,
            limits::FunctionLimits,
            messages::MessageDescription,
            objects::{Access, ObjectFunction},
        },
        segno::workflow::types as wit,
    },
    error::Error,
    execution::WorkflowExecution,
    function::Entry,
    handler::Handlers,
    host::{HostAttempt, HostJournal},
    log::Level,
    module::Module,
    object::ObjectAccess,
    payload::Payload,
};

thread_local! {
    /// The workflow of this component instance; an instance runs one.
    static EXECUTION: RefCell<Option<WorkflowExecution>> = const { RefCell::new(None) };
}

#[doc(hidden)]
pub fn describe(module: fn() -> Module) -> Vec<wit::FunctionDescription> {
    report_panics(log_in_workflow);
    module().describe()
}

#[doc(hidden)]
pub fn describe_messages(module: fn() -> Module) -> Vec<MessageDescription> {
    let of = |entry: &Entry| {
        let described = (entry.messages)().into_iter().map(|message| message.describe(entry.name));
        described.collect::<Vec<_>>()
    };
    module().functions.iter().flat_map(of).collect()
}

#[doc(hidden)]
pub fn describe_objects(module: fn() -> Module) -> Vec<ObjectFunction> {
    let of = |entry: &Entry| {
        let access = match entry.access? {
            ObjectAccess::Exclusive => Access::Exclusive,
            ObjectAccess::Shared => Access::Shared,
        };
        Some(ObjectFunction { function: entry.name.to_owned(), access })
    };
    module().functions.iter().filter_map(of).collect()
}

#[doc(hidden)]
pub fn describe_handlers(module: fn() -> Module) -> Vec<HandlerDescription> {
    module().describe_handlers()
}

#[doc(hidden)]
pub fn describe_runs(module: fn() -> Module) -> Vec<String> {
    module().describe_runs()
}

#[doc(hidden)]
pub fn describe_limits(module: fn() -> Module) -> Vec<FunctionLimits> {
    module().describe_limits()
}

#[doc(hidden)]
pub fn describe_commits(module: fn() -> Module) -> Vec<String> {
    module().describe_commits()
}

#[doc(hidden)]
pub fn describe_exposures(module: fn() -> Module) -> Vec<Exposure> {
    module().describe_exposures()
}

#[doc(hidden)]
pub fn start(module: fn() -> Module, function: &str, input: &Payload, facts: wit::Context) {
    report_panics(log_in_workflow);
    let module = module();
    let handlers = Handlers::of(&module, function);
    let journal = Arc::new(HostJournal);
    let execution =
        WorkflowExecution::start(module.find(function), function, input, handlers, facts, journal);
    EXECUTION.with(|place| *place.borrow_mut() = Some(execution));
}

#[doc(hidden)]
pub fn resume(event: wit::Event) {
    EXECUTION.with(|place| {
        // The host resumes only an execution that it started and that has not ended.
        if let Some(execution) = place.borrow_mut().as_mut() {
            execution.resume(event);
        }
    });
}

#[doc(hidden)]
pub fn query(name: &str, input: &Payload) -> wit::Outcome {
    EXECUTION.with(|place| match &*place.borrow() {
        Some(execution) => execution.query(name, input),
        None => wit::Outcome::Failure(not_started()),
    })
}

#[doc(hidden)]
pub fn validate(name: &str, input: &Payload) -> Option<wit::Failure> {
    EXECUTION.with(|place| match &*place.borrow() {
        Some(execution) => execution.validate(name, input).err(),
        None => Some(not_started()),
    })
}

fn not_started() -> wit::Failure {
    let message = "no workflow was started in this instance";
    Error::with_code(Error::NOT_FOUND, message).into_failure()
}

#[doc(hidden)]
pub fn perform(
    module: fn() -> Module,
    function: &str,
    input: &Payload,
    facts: wit::ActivityContext,
) -> wit::Outcome {
    report_panics(|message| {
        crate::bindings::segno::workflow::activity::log(Level::Error.into(), message)
    });
    attempt::perform(module().find(function), function, input, facts, Box::new(HostAttempt))
}

fn log_in_workflow(message: &str) {
    crate::bindings::segno::workflow::journal::log(Level::Error.into(), message);
}

/// Logs the message and the place of a panic before the trap. The host reports this line with the
/// trap: it recognises a panic by the level and by the standard library's wording,
/// `panicked at FILE:LINE:COLUMN:`.
fn report_panics(log: fn(&str)) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(move |panic| log(&panic.to_string()))));
}
