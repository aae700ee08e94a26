//! The packages that the scripts in `tests/resonate` need, and the program that is built there.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::packages::{Packages, node};

/// The scripts and lock files.
pub const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/resonate");

const PACKAGES: Packages = Packages { suite: "resonate-suite", scripts: SCRIPTS };

/// The folder with Node and the TypeScript SDK.
pub fn typescript() -> Option<PathBuf> {
    let folder = PACKAGES.npm("typescript", "", node_runs)?;
    PACKAGES.beside(&folder, &["functions.mjs", "worker.mjs", "ask.mjs"]);
    Some(folder)
}

/// The package `node` fetches its program when it is installed, unless such scripts are switched
/// off.
fn node_runs(folder: &Path) -> Command {
    let mut command = Command::new(node(folder));
    command.arg("--version");
    command
}

/// The folder with an environment that has the Python SDK.
pub fn python() -> Option<PathBuf> {
    PACKAGES.python("python", "requirements.txt")
}

/// The folder with a program that has the Rust SDK, as `target/debug/resonate-client`.
pub fn rust() -> Option<PathBuf> {
    PACKAGES.cargo("rust", "rust")
}

/// The program `schemathesis`, in an environment of its own; none if it cannot be had here, and
/// standard error says why.
pub fn schemathesis() -> Option<PathBuf> {
    let folder = PACKAGES.python("schemathesis", "../openapi/requirements.txt")?;
    Some(folder.join("venv/bin/schemathesis"))
}
