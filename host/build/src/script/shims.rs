//! The embedded contract and shims, taken from the repository's examples.

/// The contract between host and component.
pub(super) const CONTRACT: &str = include_str!("../../../../guest-sdk/wit/segno.wit");

/// `runtime.js`: the runtime of JavaScript modules.
pub(super) const JAVASCRIPT_RUNTIME: &str = include_str!("runtime.js");

/// `promise.js`: promises for QuickJS.
pub(super) const PROMISES: &str =
    include_str!("../../../../examples/other-languages/javascript/promise.js");

/// The manifest with the versions of the JavaScript tools.
pub(super) const JAVASCRIPT_TOOLS: &str =
    include_str!("../../../../examples/other-languages/javascript/package.json");

/// The runtime of Python modules: names and sources of its modules, the first of which exports.
pub(super) const PYTHON_RUNTIME: [(&str, &str); 2] = [
    ("segno_runtime", include_str!("runtime.py")),
    ("segno_files", include_str!("runtime_files.py")),
];

/// The versions of the Python tools.
pub(super) const PYTHON_TOOLS: &str =
    include_str!("../../../../examples/other-languages/python/requirements.txt");
