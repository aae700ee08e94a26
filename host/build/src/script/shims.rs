//! The contract and the shims, embedded: their sources are the examples of the repository.

/// The contract between host and component.
pub(crate) const CONTRACT: &str = include_str!("../../../../guest-sdk/wit/segno.wit");

/// Worlds beside those of the contract: of projects that describe objects, and no queries and updates;
/// of those that describe both, and no limits; and of those that describe all of these, and nothing
/// that runs once.
pub(super) const SMALLER_WORLDS: &str = include_str!("smaller-worlds.wit");

/// The contract of version 0.1.0, for projects whose `segno.js` is from that time.
pub(super) const CONTRACT_0_1: &str = include_str!("contract-0.1.0.wit");

/// `segno.js`: the contract as promises.
pub(crate) const JAVASCRIPT: &str =
    include_str!("../../../../examples/other-languages/javascript/segno.js");

/// `promise.js`: promises for QuickJS.
pub(super) const PROMISES: &str =
    include_str!("../../../../examples/other-languages/javascript/promise.js");

/// The manifest with the versions of the tools for JavaScript.
pub(super) const JAVASCRIPT_TOOLS: &str =
    include_str!("../../../../examples/other-languages/javascript/package.json");

/// `segno.py`: the contract as coroutines.
pub(crate) const PYTHON: &str =
    include_str!("../../../../examples/other-languages/python/segno.py");

/// The versions of the tools for Python.
pub(super) const PYTHON_TOOLS: &str =
    include_str!("../../../../examples/other-languages/python/requirements.txt");
