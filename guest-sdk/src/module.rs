//! The functions of a component, and its exports.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Once};

use crate::activity;
use crate::bindings::exports::segno::workflow::messages::MessageDescription;
use crate::bindings::exports::segno::workflow::objects::{Access, ObjectFunction};
use crate::bindings::segno::workflow::types as wit;
use crate::execution::Execution;
use crate::function::Entry;
use crate::host::{HostAttempt, HostJournal};
use crate::log::Level;
use crate::object::ObjectAccess;
use crate::payload::Payload;

/// The list of a crate's durable functions, made by [`module!`](crate::module!).
pub struct Module(Vec<Entry>);

impl Module {
    #[doc(hidden)]
    pub fn of(entries: impl IntoIterator<Item = Vec<Entry>>) -> Self {
        let entries: Vec<Entry> = entries.into_iter().flatten().collect();
        let mut names = BTreeSet::new();
        for entry in &entries {
            assert!(
                names.insert(entry.name),
                "`segno::module!` lists two functions named `{}`",
                entry.name
            );
        }
        Self(entries)
    }

    /// The names of the functions, in the order in which they were listed.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().map(|entry| entry.name)
    }

    /// The JSON schemas (draft 2020-12) of a function's input and output.
    pub fn schemas(&self, function: &str) -> Option<(String, String)> {
        let description = (self.find(function)?.describe)();
        description.input_schema.zip(description.output_schema)
    }

    pub(crate) fn find(&self, function: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.name == function)
    }
}

/// What stands for the list of a crate that has none.
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub mod no_module {
    use super::Module;

    /// No list.
    pub fn segno_module() -> Option<Module> {
        None
    }
}

thread_local! {
    /// A component instance runs one workflow.
    static EXECUTION: RefCell<Option<Execution>> = const { RefCell::new(None) };
}

#[doc(hidden)]
pub fn describe(module: fn() -> Module) -> Vec<wit::FunctionDescription> {
    report_panics(log_in_workflow);
    module().0.iter().map(|entry| (entry.describe)()).collect()
}

#[doc(hidden)]
pub fn describe_messages(module: fn() -> Module) -> Vec<MessageDescription> {
    let of = |entry: &Entry| {
        let described = (entry.messages)().into_iter().map(|message| message.describe(entry.name));
        described.collect::<Vec<_>>()
    };
    module().0.iter().flat_map(of).collect()
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
    module().0.iter().filter_map(of).collect()
}

#[doc(hidden)]
pub fn start(module: fn() -> Module, function: &str, input: &Payload, facts: wit::Context) {
    report_panics(log_in_workflow);
    let execution =
        Execution::start(module().find(function), function, input, facts, Arc::new(HostJournal));
    EXECUTION.with(|place| *place.borrow_mut() = Some(execution));
}

#[doc(hidden)]
pub fn resume(event: wit::Event) {
    EXECUTION.with(|place| {
        // The host resumes only what it started and what has not ended.
        if let Some(execution) = place.borrow_mut().as_mut() {
            execution.resume(event);
        }
    });
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
    activity::perform(module().find(function), function, input, facts, Box::new(HostAttempt))
}

fn log_in_workflow(message: &str) {
    crate::bindings::segno::workflow::journal::log(Level::Error.into(), message);
}

/// Logs the message and the place of a panic before the trap. The host reports this line with the
/// trap: it knows a panic by the level and by the words of the standard library, `panicked at
/// FILE:LINE:COLUMN:`.
fn report_panics(log: fn(&str)) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(move |panic| log(&panic.to_string()))));
}

/// A text as an array, for the section of a component that names the functions of its crates.
#[doc(hidden)]
pub const fn bytes<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    while at < N {
        bytes[at] = text.as_bytes()[at];
        at += 1;
    }
    bytes
}

/// Lists the durable functions of a crate and exports them from its component. Use it once in a
/// crate, usually at the end of `lib.rs`: `segno::module!(order, charge);`. A kind of object
/// (`#[segno::object]`) is listed by the name of its type.
///
/// The macro creates a function `segno_module` that returns the list.
#[macro_export]
macro_rules! module {
    ($($function:path),+ $(,)?) => {
        /// The durable functions of this crate.
        pub fn segno_module() -> $crate::Module {
            $crate::Module::of([$($crate::__private::Listed::entries($function)),+])
        }

        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const NAME: &str = concat!(env!("CARGO_PKG_NAME"), "\t*\n");
            #[used]
            #[unsafe(link_section = "segno-functions")]
            static LISTS: [u8; NAME.len()] = $crate::__private::bytes(NAME);

            use $crate::__private::{Guest, bindings, messages, objects, types};

            struct Exports;

            impl Guest for Exports {
                fn describe() -> Vec<types::FunctionDescription> {
                    $crate::__private::describe(segno_module)
                }

                fn start(function: String, input: types::Payload, context: types::Context) {
                    $crate::__private::start(segno_module, &function, &input, context);
                }

                fn resume(event: types::Event) {
                    $crate::__private::resume(event);
                }

                fn perform(
                    function: String,
                    input: types::Payload,
                    context: types::ActivityContext,
                ) -> types::Outcome {
                    $crate::__private::perform(segno_module, &function, &input, context)
                }
            }

            impl messages::Guest for Exports {
                fn describe_messages() -> Vec<messages::MessageDescription> {
                    $crate::__private::describe_messages(segno_module)
                }
            }

            impl objects::Guest for Exports {
                fn describe_objects() -> Vec<objects::ObjectFunction> {
                    $crate::__private::describe_objects(segno_module)
                }
            }

            bindings::export_functions!(Exports with_types_in bindings);
        };
    };
}
