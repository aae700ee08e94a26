//! The released SDKs of the suite.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::SCRIPTS;
use crate::packages::{Packages, node};

const PACKAGES: Packages = Packages { suite: "restate-suite", scripts: SCRIPTS };

/// A released SDK.
#[derive(Debug)]
pub struct Sdk {
    /// Language and version. `+v3` if the SDK speaks a version of the protocol that it does not
    /// announce.
    pub name: &'static str,
    language: Language,
    lacks: &'static [Feature],
    /// SDK whose answers are expected, for an SDK that the original server does not support.
    pub like: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    JavaScript,
    Python,
    Rust,
}

/// A feature that some SDKs lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Awaits of several futures, in any combination.
    Combinators,
    /// Random numbers and times that are stable in a replay.
    Chance,
    /// Ids of calls and sends, and therefore attaching and cancelling.
    Ids,
    /// Idempotency keys and headers of calls.
    CallOptions,
    /// A maximum number of attempts of a run.
    RunRetries,
    /// Options of services and handlers in the manifest.
    Options,
    /// A retry policy in the manifest.
    RetryPolicy,
    /// Named signals.
    Signals,
    /// Metadata of terminal errors.
    Metadata,
}

use Feature::{
    CallOptions, Chance, Combinators, Ids, Metadata, Options, RetryPolicy, RunRetries, Signals,
};

/// All SDKs. The first one provides the standard transcripts.
pub const SDKS: &[Sdk] = &[
    Sdk { name: "npm-1.17.2", language: Language::JavaScript, lacks: &[], like: None },
    Sdk { name: "npm-1.14.5", language: Language::JavaScript, lacks: &[Signals], like: None },
    Sdk {
        name: "npm-1.7.3",
        language: Language::JavaScript,
        lacks: &[Signals, Metadata, RetryPolicy],
        like: None,
    },
    Sdk { name: "python-1.3.0", language: Language::Python, lacks: &[], like: None },
    Sdk { name: "rust-0.13.0", language: Language::Rust, lacks: &[Metadata], like: None },
    Sdk {
        name: "npm-1.4.0",
        language: Language::JavaScript,
        lacks: &[Signals, Metadata, RetryPolicy, Options, CallOptions, Ids],
        like: Some("npm-1.7.3"),
    },
    Sdk {
        name: "npm-1.3.0",
        language: Language::JavaScript,
        lacks: &[Signals, Metadata, RetryPolicy, Options, CallOptions, Ids, RunRetries],
        like: Some("npm-1.7.3"),
    },
    Sdk {
        name: "python-0.5.1",
        language: Language::Python,
        lacks: &[Signals, Metadata, RetryPolicy, Options, CallOptions, Ids, Chance, Combinators],
        like: Some("python-1.3.0"),
    },
    Sdk {
        name: "python-0.5.1+v3",
        language: Language::Python,
        lacks: &[Signals, Metadata, RetryPolicy, Options, CallOptions, Ids, Chance, Combinators],
        like: Some("python-0.5.1"),
    },
];

/// SDK with this name.
///
/// # Panics
/// If there is none.
pub fn sdk(name: &str) -> &'static Sdk {
    SDKS.iter().find(|sdk| sdk.name == name).unwrap_or_else(|| panic!("no SDK is called {name}"))
}

impl Sdk {
    /// True if the SDK has all of `features`.
    pub fn has(&self, features: &[Feature]) -> bool {
        !features.iter().any(|feature| self.lacks.contains(feature))
    }

    /// Version of the SDK.
    pub fn version(&self) -> &'static str {
        self.package().split_once('-').expect("a name is a language and a version").1
    }

    fn package(&self) -> &'static str {
        self.name.split('+').next().unwrap_or_default()
    }

    /// The chain of SDKs whose answers are expected of this one: the SDK in `like`, then that SDK's
    /// own `like`, and so on.
    pub fn likes(&self) -> impl Iterator<Item = &'static Self> {
        std::iter::successors(self.like.map(sdk), |like| like.like.map(sdk))
    }

    /// Command that serves the services with this SDK. `None` if its packages are unavailable, with
    /// the reason on standard error.
    pub fn command(&self) -> Option<Command> {
        match self.language {
            Language::JavaScript => {
                let folder = javascript()?;
                let mut command = Command::new(node(&folder));
                command.arg(folder.join("service.mjs"));
                command.env("SDK", format!("sdk-{}", self.version()));
                Some(command)
            }
            Language::Python => {
                let requirements = format!("requirements-{}.txt", self.version());
                let folder = PACKAGES.python(self.package(), &requirements)?;
                let mut command = Command::new(folder.join("venv/bin/python"));
                command.arg(Path::new(SCRIPTS).join("service.py"));
                // Keeps bytecode files out of the source folder.
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                if let Some((_, protocol)) = self.name.split_once("+v") {
                    command.env("PROTOCOL", protocol);
                }
                Some(command)
            }
            Language::Rust => {
                let folder = PACKAGES.cargo(self.name, "rust")?;
                Some(Command::new(folder.join("target/debug/restate-service")))
            }
        }
    }
}

/// Folder with Node and every version of the JavaScript SDK.
fn javascript() -> Option<PathBuf> {
    let folder = PACKAGES.npm("javascript", "", |folder| {
        let mut command = Command::new(node(folder));
        command.arg("--version");
        command
    })?;
    PACKAGES.beside(&folder, &["service.mjs", "endpoints.mjs", "patience.mjs", "suites.mjs"]);
    Some(folder)
}

/// Command that runs a script next to the packages.
pub(super) fn script(name: &str) -> Option<Command> {
    let folder = javascript()?;
    let mut command = Command::new(node(&folder));
    command.arg(folder.join(name));
    Some(command)
}

/// Commands that serve the agents in JavaScript and in Python. `None` if their packages are
/// unavailable, with the reason on standard error.
pub(super) fn agents() -> Option<[Command; 2]> {
    let folder = PACKAGES.npm("agents", "agents", |folder| {
        let mut command = Command::new(node(folder));
        command.arg("--version");
        command
    })?;
    PACKAGES.beside(&folder, &["agent_services.mjs"]);
    let mut vercel = Command::new(node(&folder));
    vercel.arg(folder.join("agent_services.mjs"));
    let folder = PACKAGES.python("python-agents", "requirements-agents.txt")?;
    let mut python = Command::new(folder.join("venv/bin/python"));
    python.arg(Path::new(SCRIPTS).join("agent_services.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    Some([vercel, python])
}

/// Program of the original server. `None` if it is unavailable, with the reason on standard error.
pub fn original() -> Option<PathBuf> {
    released("server", "restate-server")
}

/// Program of the released command. `None` if it is unavailable, with the reason on standard error.
pub(super) fn command() -> Option<PathBuf> {
    released("command", "restate")
}

/// A program of Restate, installed in the folder `name` from its lock file.
fn released(name: &str, program: &str) -> Option<PathBuf> {
    let path = |folder: &Path| {
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        let package = format!("node_modules/@restatedev/{program}-{system}-{machine}");
        folder.join(package).join("bin").join(program)
    };
    let folder = PACKAGES.npm(name, name, |folder| {
        let mut command = Command::new(path(folder));
        command.arg("--version");
        command
    })?;
    Some(path(&folder))
}
