//! The stack of a stopped guest: wasmtime's text for programs, and the frames of the author's own
//! code for people.

use rustc_demangle::demangle;
use serde::{Deserialize, Serialize};
use wasmtime::{FrameInfo, FrameSymbol, WasmBacktrace};

use super::text::cut;

/// Maximum size of the text, in bytes.
const TEXT_BYTES: usize = 8 << 10;
/// Maximum size of the name of a function or file, in bytes.
pub(super) const NAME_BYTES: usize = 512;
/// Maximum number of frames of the author's code.
pub(super) const FRAMES: usize = 16;

/// Where `segno build` places the folder of the workspace.
const WORKSPACE: &str = "/workspace/";
/// Path of the SDK's folder in a crate made by `segno new`, and in this repository.
const SDK_PATHS: [&str; 2] = ["/.segno/sdk/", "/guest-sdk/src/"];
/// Path fragments of code that the author did not write: the standard library as Rust and Debian
/// compile it, and crates that cargo fetched.
const LIBRARY_PATHS: [&str; 5] =
    ["/rustc/", "/cargo/", "/library/core/src/", "/library/alloc/src/", "/library/std/src/"];
/// Crates whose functions the author did not write.
const LIBRARY_CRATES: [&str; 7] =
    ["core", "alloc", "std", "segno_sdk", "wit_bindgen", "dlmalloc", "rust_begin_unwind"];
/// Name fragments of functions that the SDK's macros generate in the author's crate, and of those
/// of interpreters.
const GLUE: [&str; 6] = [
    "segno:workflow/",
    "segno_sdk::bindings",
    "pyo3::",
    "componentize_py",
    "rquickjs::",
    "componentize_qjs",
];
/// Path segment of a durable function's body within the generated function.
const BODY: &str = "::__segno_body::";

/// A guest's stack, the innermost frame first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backtrace {
    /// All frames as text, with names and lines where known.
    pub text: String,
    /// The frames of the author's own code.
    pub own: Vec<BacktraceFrame>,
}

/// A function that the author wrote, and the line it was at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacktraceFrame {
    /// The path of the function within its crate. Empty for a closure or an `async fn`.
    pub function: String,
    /// The path of the file within its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl Backtrace {
    /// Collects the frames that wasmtime reports. `None` if there are none. The engine keeps only
    /// the innermost frames.
    pub(super) fn of(backtrace: &WasmBacktrace) -> Option<Self> {
        if backtrace.frames().is_empty() {
            return None;
        }
        // Without wasmtime's heading.
        let text = backtrace.to_string();
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim_end).collect();
        let frames: Vec<BacktraceFrame> =
            backtrace.frames().iter().flat_map(BacktraceFrame::all_of).collect();
        let own = frames.iter().enumerate().filter(|(_, frame)| frame.is_own());
        let own = own.map(|(at, frame)| frame.for_people(frames.get(at + 1)));
        let own = own.take(FRAMES).collect();
        Some(Self { text: cut(lines.join("\n"), TEXT_BYTES), own })
    }
}

impl BacktraceFrame {
    /// The functions of one stack frame: the inlined ones and the called one.
    fn all_of(frame: &FrameInfo) -> Vec<Self> {
        let called = frame.func_name().unwrap_or_default();
        let of = |symbol: &FrameSymbol| Self {
            function: readable(symbol.name().unwrap_or(called)),
            file: symbol.file().map(|file| cut(file.to_owned(), NAME_BYTES)),
            line: symbol.line(),
            column: symbol.column(),
        };
        match frame.symbols() {
            [] => vec![Self { function: readable(called), file: None, line: None, column: None }],
            symbols => symbols.iter().map(of).collect(),
        }
    }

    /// Returns true if the frame is of Rust code written by the author.
    fn is_own(&self) -> bool {
        let krate = crate_of(&self.function);
        let is_library = LIBRARY_CRATES.contains(&krate) || krate.starts_with("__");
        if is_library || GLUE.iter().any(|part| self.function.contains(part)) {
            return false;
        }
        match &self.file {
            Some(file) => {
                !is_library_path(file) && !SDK_PATHS.iter().any(|part| file.contains(part))
            }
            // In a component without line information, only Rust paths are worth showing.
            None => self.function.contains("::"),
        }
    }

    /// The frame with short names. Debug information has no name for an `async fn`; the name of a
    /// durable function is found among the types of its `caller`.
    fn for_people(&self, caller: Option<&Self>) -> Self {
        let mut function = short_function(&self.function);
        if function.is_empty() {
            function = caller.and_then(|caller| durable(&caller.function)).unwrap_or_default();
        }
        let file = self.file.as_ref();
        let file = file.map(|file| file.strip_prefix(WORKSPACE).unwrap_or(file).to_owned());
        Self { function, file, ..self.clone() }
    }
}

/// Demangles a symbol into Rust notation.
fn readable(symbol: &str) -> String {
    cut(format!("{:#}", demangle(symbol)), NAME_BYTES)
}

/// The name of the durable function whose body `function` names.
fn durable(function: &str) -> Option<String> {
    let path = function.split_once(BODY)?.0;
    let begin = path.rfind([' ', '<', ',', '(']).map_or(0, |at| at + 1);
    Some(short_function(&path[begin..]))
}

/// Returns true if the file belongs to the standard library or to a crate that cargo fetched.
pub(super) fn is_library_path(file: &str) -> bool {
    let rooted = file.strip_prefix("library/").map(|rest| format!("/library/{rest}"));
    let file = rooted.as_deref().unwrap_or(file);
    LIBRARY_PATHS.iter().any(|part| file.contains(part))
}

/// The crate that a demangled name begins with, also behind `<` and `&mut`.
fn crate_of(function: &str) -> &str {
    let name = function.trim_start_matches(['<', '&', '*', '(', '[']);
    let name = ["mut ", "const ", "dyn "]
        .iter()
        .fold(name, |name, word| name.strip_prefix(word).unwrap_or(name));
    name.split([':', '<', '>', ' ', ',', '[']).next().unwrap_or(name)
}

/// A path without its crate and without the closures that the compiler generates for an `async fn`.
fn short_function(function: &str) -> String {
    if function.contains('<') {
        return function.to_owned();
    }
    let is_written = |part: &&str| !part.starts_with('{') && *part != "__segno_body";
    let parts: Vec<&str> = function.split("::").filter(is_written).collect();
    match parts.as_slice() {
        [_, rest @ ..] if !rest.is_empty() => rest.join("::"),
        _ => parts.join("::"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: Option<&str>) -> BacktraceFrame {
        let file = file.map(ToOwned::to_owned);
        BacktraceFrame { function: readable(function), file, line: Some(12), column: Some(9) }
    }

    #[test]
    fn the_authors_frames_are_told_from_those_of_libraries() {
        let here = Some("/workspace/src/lib.rs");
        for (function, file, own) in [
            ("checked", here, true),
            ("{async_fn#0}", here, true),
            ("checked", Some("/home/ada/shared/src/lib.rs"), true),
            ("expect<u64>", Some("/rustc/ac68/library/core/src/option.rs"), false),
            ("expect<u64>", Some("/usr/src/rustc-1.96.0/library/core/src/option.rs"), false),
            ("expect<u64>", Some("library/core/src/option.rs"), false),
            ("push", Some("/cargo/registry/src/index-1/smallvec-1.0/src/lib.rs"), false),
            ("poll<shop::__segno_order>", Some("/workspace/.segno/sdk/src/function.rs"), false),
            ("poll<shop::__segno_order>", Some("/workspace/guest-sdk/src/function.rs"), false),
            ("segno:workflow/functions@0.1.0#start", here, false),
            ("<shop::_::Exports as segno_sdk::bindings::exports::Guest>::start", here, false),
            ("_RNvNtCs1234_4shop5stock4take", None, true),
            ("_ZN4shop5stock4take17h0123456789abcdefE", None, true),
            ("<core::option::Option<shop::Order>>::expect", None, false),
            ("<&mut segno_sdk::call::Call<shop::Order>>::poll", None, false),
            ("rust_begin_unwind", None, false),
            ("PyEval_EvalCode", None, false),
            (
                "<pyo3::instance::Bound<pyo3::types::tuple::PyTuple> as pyo3::call::PyCallArgs>::call",
                None,
                false,
            ),
            ("componentize_py_runtime::__pyfunction_call_import", None, false),
        ] {
            assert_eq!(frame(function, file).is_own(), own, "{function} {file:?}");
        }
    }

    #[test]
    fn functions_and_files_have_the_names_that_their_author_gave() {
        let shown = |function: &str| frame(function, None).for_people(None).function;
        assert_eq!(shown("_ZN4shop5stock4take17h0123456789abcdefE"), "stock::take");
        assert_eq!(shown("shop::order::__segno_body::{async_fn#0}"), "order");
        assert_eq!(shown("checked"), "checked");
        assert_eq!(shown("{closure#0}"), "");
        let body = frame("{async_fn#0}", Some("/workspace/flows/src/lib.rs"));
        let caller = "{async_block#0}<shop::__segno_order, core::result::Result<(), segno_sdk::error::Error>, shop::stock::order::__segno_body::{async_fn_env#0}>";
        let body = body.for_people(Some(&frame(caller, None)));
        assert_eq!(body.function, "stock::order");
        assert_eq!(body.file.as_deref(), Some("flows/src/lib.rs"));
    }
}
