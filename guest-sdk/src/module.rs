//! The functions of a component.

use std::collections::BTreeSet;

use crate::bindings::exports::segno::workflow::exposures::Exposure;
use crate::bindings::exports::segno::workflow::handlers::{HandlerDescription, HandlerKind};
use crate::bindings::exports::segno::workflow::limits::FunctionLimits;
use crate::bindings::segno::workflow::types as wit;
use crate::function::Entry;
use crate::handler::{HandlerEntry, word};

/// One item of a module, with its types erased.
#[doc(hidden)]
pub enum ModuleItem {
    Function(Entry),
    Handler(HandlerEntry),
}

/// The list of a crate's durable functions, queries and updates, created by
/// [`module!`](crate::module!).
pub struct Module {
    pub(crate) functions: Vec<Entry>,
    pub(crate) handlers: Vec<HandlerEntry>,
}

impl Module {
    #[doc(hidden)]
    pub fn of(listings: impl IntoIterator<Item = Vec<ModuleItem>>) -> Self {
        let mut module = Self { functions: Vec::new(), handlers: Vec::new() };
        for listing in listings.into_iter().flatten() {
            match listing {
                ModuleItem::Function(entry) => module.functions.push(entry),
                ModuleItem::Handler(entry) => module.handlers.push(entry),
            }
        }
        module.check();
        module
    }

    /// # Panics
    /// If two items have the same name, or a handler belongs to a workflow that is not listed.
    fn check(&self) {
        let mut names = BTreeSet::new();
        for entry in &self.functions {
            assert!(
                names.insert(entry.name),
                "`segno::module!` lists two functions named `{}`",
                entry.name
            );
        }
        let mut handlers = BTreeSet::new();
        for HandlerEntry { function, name, .. } in &self.handlers {
            assert!(
                names.contains(function),
                "`segno::module!` lists `{name}` of `{function}`, but not `{function}`: add the workflow to the list",
            );
        }
        for entry in &self.handlers {
            let (function, kind, name) = (entry.function, entry.kind(), entry.name);
            assert!(
                handlers.insert((function, kind, name)),
                "`segno::module!` lists {} `{name}` of `{function}` twice",
                word(kind),
            );
        }
    }

    /// The names of the functions, in list order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.functions.iter().map(|entry| entry.name)
    }

    /// The JSON schemas (draft 2020-12) of a function's input and output. `None` if the function is
    /// not listed.
    pub fn schemas(&self, function: &str) -> Option<(String, String)> {
        let description = (self.find(function)?.describe)();
        description.input_schema.zip(description.output_schema)
    }

    /// The descriptions of the functions. Updates arrive as signals, so a workflow with updates
    /// accepts signals.
    #[doc(hidden)]
    pub fn describe(&self) -> Vec<wit::FunctionDescription> {
        let describe = |entry: &Entry| {
            let is_own = |handler: &HandlerEntry| handler.function == entry.name;
            let is_update = |handler: &HandlerEntry| handler.kind() == HandlerKind::Update;
            let has_updates = self.handlers.iter().any(|it| is_own(it) && is_update(it));
            let description = (entry.describe)();
            wit::FunctionDescription { signals: description.signals || has_updates, ..description }
        };
        self.functions.iter().map(describe).collect()
    }

    /// The descriptions of the queries and updates.
    #[doc(hidden)]
    pub fn describe_handlers(&self) -> Vec<HandlerDescription> {
        self.handlers.iter().map(HandlerEntry::description).collect()
    }

    /// The functions of objects that run once per key.
    #[doc(hidden)]
    pub fn describe_runs(&self) -> Vec<String> {
        let runs = self.functions.iter().filter(|entry| entry.runs_once);
        runs.map(|entry| entry.name.to_owned()).collect()
    }

    /// The limits of the functions that declare one.
    #[doc(hidden)]
    pub fn describe_limits(&self) -> Vec<FunctionLimits> {
        self.functions.iter().filter_map(|entry| (entry.limits)()).collect()
    }

    /// The workflows whose results are committed one by one.
    #[doc(hidden)]
    pub fn describe_commits(&self) -> Vec<String> {
        let commits = self.functions.iter().filter(|entry| entry.commits_each);
        commits.map(|entry| entry.name.to_owned()).collect()
    }

    /// The protocols by which functions are offered.
    #[doc(hidden)]
    pub fn describe_exposures(&self) -> Vec<Exposure> {
        let tools = self.functions.iter().filter(|entry| entry.is_mcp_tool);
        tools
            .map(|entry| Exposure { function: entry.name.to_owned(), protocol: "mcp".to_owned() })
            .collect()
    }

    /// Returns true if this query or update is in the list.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn lists(&self, entry: &HandlerEntry) -> bool {
        let key = |entry: &HandlerEntry| (entry.function, entry.kind(), entry.name);
        self.handlers.iter().any(|known| key(known) == key(entry))
    }

    pub(crate) fn find(&self, function: &str) -> Option<&Entry> {
        self.functions.iter().find(|entry| entry.name == function)
    }
}

/// The fallback for a crate without a list.
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub mod no_module {
    use super::Module;

    /// Returns `None`: there is no list.
    pub fn segno_module() -> Option<Module> {
        None
    }
}

/// Concatenates texts, for the component section that names the functions of its crates.
#[doc(hidden)]
pub const fn bytes<const N: usize>(texts: &[&str]) -> [u8; N] {
    let mut bytes = [0; N];
    let (mut text, mut from, mut at) = (0, 0, 0);
    while text < texts.len() {
        while from < texts[text].len() {
            bytes[at] = texts[text].as_bytes()[from];
            from += 1;
            at += 1;
        }
        (text, from) = (text + 1, 0);
    }
    bytes
}

/// The total length of the texts, in bytes.
#[doc(hidden)]
pub const fn length(texts: &[&str]) -> usize {
    let (mut text, mut length) = (0, 0);
    while text < texts.len() {
        length += texts[text].len();
        text += 1;
    }
    length
}

/// Lists the durable functions of a crate, and the queries and updates of its workflows, and
/// exports them from its component. Use it once in a crate, usually at the end of `lib.rs`:
/// `segno::module!(order, charge);`. A kind of object (`#[segno::object]`) is listed by the name of
/// its type.
///
/// The macro creates a function `segno_module` that returns the list.
#[macro_export]
macro_rules! module {
    ($($function:path),+ $(,)?) => {
        /// The list of this crate's durable functions, queries and updates.
        pub fn segno_module() -> $crate::Module {
            $crate::Module::of([$($crate::__private::Listed::listings($function)),+])
        }

        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const NAME: &str = concat!(env!("CARGO_PKG_NAME"), "\t*\n");
            #[used]
            #[unsafe(link_section = "segno-functions")]
            static LISTS: [u8; NAME.len()] = $crate::__private::bytes(&[NAME]);

            use $crate::__private::{
                Guest, bindings, commits, exposures, handlers, limits, messages, objects, runs, types,
            };

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

            impl handlers::Guest for Exports {
                fn describe_handlers() -> Vec<handlers::HandlerDescription> {
                    $crate::__private::describe_handlers(segno_module)
                }

                fn query(name: String, input: types::Payload) -> types::Outcome {
                    $crate::__private::query(&name, &input)
                }

                fn validate(name: String, input: types::Payload) -> Option<types::Failure> {
                    $crate::__private::validate(&name, &input)
                }
            }

            impl runs::Guest for Exports {
                fn describe_runs() -> Vec<String> {
                    $crate::__private::describe_runs(segno_module)
                }
            }

            impl limits::Guest for Exports {
                fn describe_limits() -> Vec<limits::FunctionLimits> {
                    $crate::__private::describe_limits(segno_module)
                }
            }

            impl commits::Guest for Exports {
                fn describe_commits() -> Vec<String> {
                    $crate::__private::describe_commits(segno_module)
                }
            }

            impl exposures::Guest for Exports {
                fn describe_exposures() -> Vec<exposures::Exposure> {
                    $crate::__private::describe_exposures(segno_module)
                }
            }

            bindings::export_functions!(Exports with_types_in bindings);
        };
    };
}
