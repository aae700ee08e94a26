//! The embedded contract and shims, taken from the repository's examples.

/// The contract between host and component.
pub(super) const CONTRACT: &str = include_str!("../../../../guest-sdk/wit/segno.wit");

/// Additional worlds for projects that lack some features: with objects, without queries and
/// updates; with all of these, without limits; with limits too, without functions that run once.
pub(super) const SMALLER_WORLDS: &str = include_str!("smaller-worlds.wit");

/// `runtime.js`: the runtime of JavaScript modules.
pub(super) const JAVASCRIPT_RUNTIME: &str = include_str!("runtime.js");

/// `promise.js`: promises for QuickJS.
pub(super) const PROMISES: &str =
    include_str!("../../../../examples/other-languages/javascript/promise.js");

/// The manifest with the versions of the JavaScript tools.
pub(super) const JAVASCRIPT_TOOLS: &str =
    include_str!("../../../../examples/other-languages/javascript/package.json");

/// The versions of the Python tools.
pub(super) const PYTHON_TOOLS: &str =
    include_str!("../../../../examples/other-languages/python/requirements.txt");
