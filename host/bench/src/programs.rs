//! Programs that a scenario runs to their end.

use std::{ffi::OsStr, process::Command};

use anyhow::{Context as _, ensure};

/// Runs a command, and returns its output.
///
/// # Errors
/// Fails if it cannot be started or fails; the error has what it wrote.
pub(super) fn finished(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let words = || {
        let all = std::iter::once(command.get_program()).chain(command.get_args());
        all.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
    };
    let said = words();
    let output = command.output().with_context(|| format!("`{said}`"))?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{said}` failed:\n{why}");
    Ok(output.stdout)
}
