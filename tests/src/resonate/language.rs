//! Workers and clients in one language.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

use super::packages::{self, SCRIPTS};
use crate::packages::node;

/// A language with its installed packages.
#[derive(Clone)]
pub enum Language {
    /// npm `@resonatehq/sdk` on Node. Holds the folder with `node_modules`.
    TypeScript(PathBuf),
    /// PyPI `resonate-sdk`. Holds the folder with the environment.
    Python(PathBuf),
    /// crates.io `resonate-sdk`. Holds the folder with the program built on it.
    Rust(PathBuf),
}

/// A worker process. Dropping it kills the process.
pub struct Worker {
    process: Child,
}

impl Language {
    /// Node with the released SDK. `None` if it is unavailable, with the reason on standard error.
    pub fn typescript() -> Option<Self> {
        packages::typescript().map(Self::TypeScript)
    }

    /// Python with the released SDK. `None` if it is unavailable, with the reason on standard
    /// error.
    pub fn python() -> Option<Self> {
        packages::python().map(Self::Python)
    }

    /// A program with the released SDK. `None` if it cannot be built here, with the reason on
    /// standard error.
    pub fn rust() -> Option<Self> {
        packages::rust().map(Self::Rust)
    }

    /// Id that this SDK gives to the first step of the invocation `id`.
    pub fn first_step(&self, id: &str) -> String {
        // Two of the SDKs write a colon only after the root.
        let separator = if id.contains(':') { '.' } else { ':' };
        match self {
            Self::TypeScript(_) => format!("{id}{separator}0"),
            Self::Python(_) => format!("{id}{separator}1"),
            Self::Rust(_) => format!("{id}.0"),
        }
    }

    /// Prefix of the ids of the promises that the schedule `name` creates.
    pub fn scheduled(&self, name: &str) -> String {
        match self {
            Self::TypeScript(_) | Self::Python(_) => format!("{name}-"),
            Self::Rust(_) => format!("{name}."),
        }
    }

    /// Message that this SDK records for a function that fails with `message`.
    pub fn failure(&self, message: &str) -> String {
        match self {
            Self::TypeScript(_) | Self::Python(_) => message.to_owned(),
            Self::Rust(_) => format!("application error: {message}"),
        }
    }

    /// Starts a worker called `name`, with leases of `ttl_ms` milliseconds. The worker records its
    /// executions in `ledger`.
    ///
    /// # Panics
    /// If the worker does not start.
    pub fn worker(&self, url: &str, name: &str, ttl_ms: u32, ledger: &Path) -> Worker {
        let log = File::create(ledger.with_extension(format!("{name}.log"))).expect("a log");
        let mut command = self.command("worker");
        command
            .env("URL", url)
            .env("WORKER", name)
            .env("TTL", ttl_ms.to_string())
            .env("LEDGER", ledger)
            .stdout(Stdio::null())
            .stderr(log);
        Worker { process: command.spawn().expect("a worker starts") }
    }

    /// Starts a client with these arguments. [`answer`] returns its answer.
    ///
    /// # Panics
    /// If the client does not start.
    pub fn asks(&self, url: &str, arguments: &[&str]) -> Child {
        let mut command = self.command("ask");
        command.args(arguments).env("URL", url).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a client starts")
    }

    fn command(&self, name: &str) -> Command {
        match self {
            Self::TypeScript(folder) => {
                let mut command = Command::new(node(folder));
                command.arg(folder.join(format!("{name}.mjs")));
                command
            }
            Self::Python(folder) => {
                let mut command = Command::new(folder.join("venv/bin/python"));
                command.arg(Path::new(SCRIPTS).join(format!("{name}.py")));
                // Keeps bytecode files out of the source folder.
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            Self::Rust(folder) => {
                let mut command = Command::new(folder.join("target/debug/resonate-client"));
                command.arg(name);
                command
            }
        }
    }
}

impl Worker {
    /// Kills the worker with SIGKILL.
    ///
    /// # Panics
    /// If the worker has already ended.
    pub fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it was killed");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits for a client and returns its answer.
///
/// # Panics
/// If the client prints no answer. The message has its output.
pub fn answer(client: Child) -> Value {
    let Output { stdout, stderr, .. } = client.wait_with_output().expect("the client ends");
    let text = String::from_utf8_lossy(&stdout);
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line)
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&stderr)))
}
