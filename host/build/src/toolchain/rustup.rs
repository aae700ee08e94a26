//! The road of `rustup target add`: it changes the user's toolchain, so it is taken only when preparing is allowed.

use std::process::Command;
use std::time::Duration;

use super::native::Rustc;
use super::search::{Closed, Way};
use super::{Road, Toolchain};
use crate::{Progress, TARGET, process};

/// A rustup that cannot reach its server may wait for ever.
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

impl Way for Rustup<'_> {
    fn road(&self) -> Road {
        Road::Rustup
    }

    fn finished(&self) -> Result<Toolchain, Closed> {
        if let Ok(toolchain) = self.rustc.with_own_library(Road::Rustup) {
            return Ok(toolchain);
        }
        match process::run(&mut self.command(&["--version"]), Some(LIMIT), &|_| ()) {
            Ok(finished) if finished.success => {
                Err(Closed::Unprepared(format!("would run `rustup target add {TARGET}`")))
            }
            Ok(finished) => {
                Err(Closed::Shut(format!("rustup does not work: {}", finished.last_words())))
            }
            Err(_) => Err(Closed::shut("rustup is not installed")),
        }
    }

    fn prepare(&self, progress: &dyn Progress) -> Result<Toolchain, String> {
        progress.step(&format!("rustup target add {TARGET}"));
        let mut command = self.command(&["target", "add", TARGET]);
        match process::run(&mut command, Some(LIMIT), &|line| progress.line(line)) {
            Ok(finished) if finished.success => self.rustc.with_own_library(Road::Rustup),
            Ok(finished) => {
                Err(format!("`rustup target add {TARGET}` failed: {}", finished.last_words()))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}
