//! The toolchain source `rustup target add`: it changes the user's toolchain, so it is used only if
//! preparing is allowed.

use std::{process::Command, time::Duration};

use super::{
    Toolchain, ToolchainSource,
    native::Rustc,
    search::{Strategy, Unavailable},
};
use crate::{BuildProgress, TARGET, process};

/// Time limit of rustup, which may wait forever for an unreachable server.
const LIMIT: Duration = Duration::from_secs(60);

/// Lets rustup install the target's standard library.
pub(super) struct Rustup<'a> {
    pub rustc: &'a Rustc,
}

impl Rustup<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("rustup");
        command.args(arguments).current_dir(self.rustc.directory());
        command
    }
}

impl Strategy for Rustup<'_> {
    fn road(&self) -> ToolchainSource {
        ToolchainSource::Rustup
    }

    fn finished(&self) -> Result<Toolchain, Unavailable> {
        if let Ok(toolchain) = self.rustc.with_own_library(ToolchainSource::Rustup) {
            return Ok(toolchain);
        }
        match process::run(&mut self.command(&["--version"]), Some(LIMIT), &|_| ()) {
            Ok(finished) if finished.success => {
                Err(Unavailable::Unprepared(format!("would run `rustup target add {TARGET}`")))
            }
            Ok(finished) => {
                Err(Unavailable::Shut(format!("rustup does not work: {}", finished.last_words())))
            }
            Err(_) => Err(Unavailable::shut("rustup is not installed")),
        }
    }

    fn prepare(&self, progress: &dyn BuildProgress) -> Result<Toolchain, String> {
        progress.step(&format!("rustup target add {TARGET}"));
        let mut command = self.command(&["target", "add", TARGET]);
        match process::run(&mut command, Some(LIMIT), &|line| progress.line(line)) {
            Ok(finished) if finished.success => {
                self.rustc.with_own_library(ToolchainSource::Rustup)
            }
            Ok(finished) => {
                Err(format!("`rustup target add {TARGET}` failed: {}", finished.last_words()))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}
