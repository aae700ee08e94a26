//! Prints the steps of a long command on standard error. Output of tools is only shown to people,
//! and only the latest line.

use std::{io::IsTerminal, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use segno_build::BuildProgress;
use segno_core::time::Timestamp;
use segno_env::Env;

use super::{
    console::{CYAN, DIM},
    text::cut,
};

/// Maximum width of a tool's latest line, in characters.
const WIDTH: usize = 100;

/// Prints steps with the time since the start.
pub(super) struct Narrator {
    env: Env,
    began: Timestamp,
    latest: ProgressBar,
}

impl Narrator {
    /// Creates a narrator whose time starts now.
    pub(super) fn new(env: Env) -> Self {
        let latest = if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("         {spinner} {msg:.dim}");
        latest.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let began = env.clock.now();
        Self { env, began, latest }
    }

    /// Prints one step.
    pub(super) fn say(&self, message: &str) {
        let tenths = self.env.clock.now().since(self.began).0 / 100;
        let at = format!("{:>5}.{} s", tenths / 10, tenths % 10);
        self.latest.set_message("");
        self.latest.suspend(|| anstream::eprintln!("{DIM}{at}{DIM:#} {CYAN}•{CYAN:#} {message}"));
    }
}

impl BuildProgress for Narrator {
    fn step(&self, message: &str) {
        self.say(message);
    }

    fn line(&self, line: &str) {
        self.latest.set_message(cut(line.trim(), WIDTH));
    }
}

impl Drop for Narrator {
    fn drop(&mut self) {
        self.latest.finish_and_clear();
    }
}
