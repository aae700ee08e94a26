//! The packages that the scripts in `tests/resonate` need, and the program built from that folder.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::packages::{Packages, node};

/// Folder of the scripts and lock files.
pub(super) const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/resonate");

const PACKAGES: Packages = Packages { suite: "resonate-suite", scripts: SCRIPTS };

/// Folder with Node and the TypeScript SDK.
pub(super) fn typescript() -> Option<PathBuf> {
    let folder = PACKAGES.npm("typescript", "", node_runs)?;
    PACKAGES.beside(&folder, &["functions.mjs", "worker.mjs", "ask.mjs"]);
    Some(folder)
}

/// Checks that Node runs. The package `node` downloads its program at installation, unless install
/// scripts are disabled.
fn node_runs(folder: &Path) -> Command {
    let mut command = Command::new(node(folder));
    command.arg("--version");
    command
}

/// Folder with an environment that has the Python SDK.
pub(super) fn python() -> Option<PathBuf> {
    PACKAGES.python("python", "requirements.txt")
}

/// Folder with a program on the Rust SDK, `target/debug/resonate-client`.
pub(super) fn rust() -> Option<PathBuf> {
    PACKAGES.cargo("rust", "rust")
}

/// The program `schemathesis`, in its own environment. `None` if it is unavailable, with the reason
/// on standard error.
pub fn schemathesis() -> Option<PathBuf> {
    let folder = PACKAGES.python("schemathesis", "../openapi/requirements.txt")?;
    Some(folder.join("venv/bin/schemathesis"))
}
