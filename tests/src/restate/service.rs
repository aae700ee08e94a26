//! Processes of services.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::Value;

use super::sdk::{Sdk, agents, script};

/// A process with the services of one SDK. Dropping it kills the process.
pub struct Service {
    sdk: &'static Sdk,
    folder: PathBuf,
    running: Running,
}

/// A process with manifests that no SDK produces, with the services of `patience.mjs` or `suites.mjs`,
/// or with agents. Dropping it kills the process.
pub struct Endpoints(Running);

struct Running {
    process: Child,
    url: String,
    /// Kept open, so that a service that prints more does not end.
    _printed: BufReader<ChildStdout>,
}

impl Service {
    /// Starts the services with `sdk`, with ledger and log in `folder`. `None` if its packages are
    /// unavailable, with the reason on standard error.
    ///
    /// # Panics
    /// If the process does not start.
    pub fn start(sdk: &'static Sdk, folder: &Path) -> Option<Self> {
        let running = Running::start(configured(sdk, folder)?, 0, &log(folder, sdk.name));
        Some(Self { sdk, folder: folder.to_owned(), running })
    }

    /// URL of the services.
    pub fn url(&self) -> &str {
        &self.running.url
    }

    pub fn sdk(&self) -> &'static Sdk {
        self.sdk
    }

    /// Kills the process with SIGKILL.
    pub fn kill(&mut self) {
        self.running.kill();
    }

    /// Restarts the process at the same address.
    ///
    /// # Panics
    /// If the process does not start.
    pub fn restart(&mut self) {
        self.kill();
        let (_, port) = self.url().rsplit_once(':').expect("a URL with a port");
        let port = port.parse().expect("a port is a number");
        let command = configured(self.sdk, &self.folder).expect("it was installed before");
        self.running = Running::start(command, port, &log(&self.folder, self.sdk.name));
    }

    /// Lines that the bodies of handlers wrote to the ledger.
    pub fn ledger(&self) -> Vec<String> {
        let ledger = fs::read_to_string(ledger(&self.folder)).unwrap_or_default();
        ledger.lines().map(str::to_owned).collect()
    }
}

impl Endpoints {
    /// Starts the manifests of `endpoints.mjs`, with the log in `folder`. `None` if Node is
    /// unavailable, with the reason on standard error.
    ///
    /// # Panics
    /// If the process does not start.
    pub fn start(folder: &Path) -> Option<Self> {
        Self::scripted("endpoints", folder, &[])
    }

    /// Starts the services of `patience.mjs`, with ledger and log in `folder`. `None` if its
    /// packages are unavailable, with the reason on standard error.
    ///
    /// # Panics
    /// If the process does not start.
    pub fn patience(folder: &Path) -> Option<Self> {
        Self::scripted("patience", folder, &[])
    }

    /// Starts the services of `suites.mjs`, with ledger and log in `folder`. They only answer
    /// requests signed with the key in [`identity`]. If `suspending`, each of their waits suspends
    /// the attempt. `None` if the packages are unavailable, with the reason on standard error.
    ///
    /// # Panics
    /// If the process does not start.
    pub fn suites(folder: &Path, suspending: bool) -> Option<Self> {
        let quiet: &[_] = if suspending { &[("QUIET_MS", "0")] } else { &[] };
        Self::scripted("suites", folder, quiet)
    }

    /// Starts the services of agents, with logs in `folder`. `world` is the address of their world.
    /// `None` if the packages are unavailable, with the reason on standard error.
    ///
    /// # Panics
    /// If a process does not start.
    pub fn agents(folder: &Path, world: &str) -> Option<[Self; 2]> {
        let start = |mut command: Command| {
            command.env("WORLD", world).env("MODEL", format!("{world}/v1"));
            Self(Running::start(command, 0, &log(folder, "agents")))
        };
        Some(agents()?.map(start))
    }

    fn scripted(name: &str, folder: &Path, variables: &[(&str, &str)]) -> Option<Self> {
        let mut command = script(&format!("{name}.mjs"))?;
        command.env("LEDGER", ledger(folder)).env("IDENTITY", identity(folder));
        command.envs(variables.iter().copied());
        Some(Self(Running::start(command, 0, &log(folder, name))))
    }

    /// URL of the endpoints.
    pub fn url(&self) -> &str {
        &self.0.url
    }
}

impl Running {
    fn start(mut command: Command, port: u16, log: &Path) -> Self {
        let said = File::options().create(true).append(true).open(log).expect("a log");
        command.env("PORT", port.to_string()).stdout(Stdio::piped()).stderr(said);
        let mut process = command.spawn().expect("a service starts");
        let mut line = String::new();
        let mut printed = BufReader::new(process.stdout.take().expect("its output is piped"));
        printed.read_line(&mut line).expect("its output can be read");
        let banner: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let said = fs::read_to_string(log).unwrap_or_default();
            panic!("the service does not start: {line}{said}")
        });
        let url = banner["url"].as_str().expect("it prints its URL").to_owned();
        Self { process, url, _printed: printed }
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

fn configured(sdk: &Sdk, folder: &Path) -> Option<Command> {
    let mut command = sdk.command()?;
    command.env("LEDGER", ledger(folder));
    Some(command)
}

/// File in `folder` with the key that signs requests to the services of `suites.mjs`.
pub fn identity(folder: &Path) -> PathBuf {
    folder.join("identity.pem")
}

fn ledger(folder: &Path) -> PathBuf {
    folder.join("ledger")
}

fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}
