//! `segno serve` as a child process that may be killed at any time and restarted on the same data
//! and address.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use segno_client::{Client, ClientError};
use segno_core::time::Millis;
use segno_env::Env;

use super::process::{Process, ProcessError, free_port};

/// Time limit of a start, recovery included; long enough for a slow machine with a concurrent
/// build.
const START: Millis = Millis(60_000);

/// Log filter of the host: the default, and every replay.
const LOG: &str = "warn,segno=info,segno::replays=debug";

/// Time limit of draining.
const STOP: Millis = Millis(30_000);

/// The options of the host.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Path of the command `segno`.
    pub binary: PathBuf,
    /// The data directory.
    pub data: PathBuf,
    pub listen: SocketAddr,
    /// File for the output.
    pub log: PathBuf,
    /// Additional arguments of `segno serve`.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
}

impl ServerOptions {
    /// Options for a host on a free port, with data and log in `folder`.
    ///
    /// # Errors
    /// [`ServerError::Io`] if there is no free port or the folder cannot be used.
    pub fn within(folder: &Path, binary: &Path) -> Result<Self, ServerError> {
        let data = folder.join("data");
        std::fs::create_dir_all(&data).map_err(ServerError::Io)?;
        Ok(Self {
            binary: binary.to_owned(),
            data,
            listen: SocketAddr::from(([127, 0, 0, 1], free_port().map_err(ServerError::Io)?)),
            log: folder.join("host.log"),
            arguments: Vec::new(),
            environment: Vec::new(),
        })
    }

    /// Allows `module` to send HTTP requests to `address`, via the policy in the data directory.
    ///
    /// # Errors
    /// [`ServerError::Io`].
    pub fn allow_http(&self, module: &str, address: &str) -> Result<(), ServerError> {
        let grants = toml::toml! { http = { allow = [address] } };
        let policy = toml::Table::from_iter([(module.to_owned(), grants.into())]);
        std::fs::write(self.data.join("policy.toml"), policy.to_string()).map_err(ServerError::Io)
    }
}

/// Reason why the host is not running.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The process failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The address is invalid.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The data directory, the port or the log cannot be used.
    #[error("the data directory or the log cannot be used")]
    Io(#[source] std::io::Error),
}

/// A running or just killed host.
pub struct DemoServer {
    options: ServerOptions,
    client: Client,
    env: Env,
    process: Option<Process>,
    starts: u32,
}

impl DemoServer {
    /// Starts a host and waits until it accepts work.
    ///
    /// # Errors
    /// [`ServerError`], with the end of the host's output.
    pub async fn start(options: ServerOptions, env: Env) -> Result<Self, ServerError> {
        let client = Client::new(&format!("http://{}", options.listen), None)?;
        let mut server = Self { options, client, env, process: None, starts: 0 };
        server.restart().await?;
        Ok(server)
    }

    /// The client of this host; it stays valid after a restart.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// Number of starts, restarts included.
    pub fn starts(&self) -> u32 {
        self.starts
    }

    /// Id of the running process; 0 if none runs.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::pid)
    }

    /// Number of replays of each execution over all starts of this host so far, read from its log.
    ///
    /// # Errors
    /// [`ServerError::Io`] if the log cannot be read.
    pub fn replays(&self) -> Result<BTreeMap<String, u32>, ServerError> {
        let log = std::fs::read(&self.options.log).map_err(ServerError::Io)?;
        let mut replays = BTreeMap::new();
        let log = String::from_utf8_lossy(&log);
        for line in log.lines().filter(|line| line.contains("segno::replays: ")) {
            let id = line.split_whitespace().find_map(|word| word.strip_prefix("id="));
            if let Some(id) = id {
                *replays.entry(id.to_owned()).or_default() += 1;
            }
        }
        Ok(replays)
    }

    /// Kills the process with SIGKILL; nothing is flushed.
    ///
    /// # Errors
    /// [`ServerError::Process`] if it had ended by itself.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        if let Some(mut process) = self.process.take() {
            process.check()?;
            process.kill()?;
        }
        Ok(())
    }

    /// Stops the process like an overloaded or sleeping machine; [`DemoServer::resume`] continues it.
    ///
    /// # Errors
    /// [`ServerError::Process`] if that fails.
    pub fn pause(&self) -> Result<(), ServerError> {
        self.process.as_ref().map_or(Ok(()), Process::pause).map_err(ServerError::Process)
    }

    /// Continues a stopped process.
    ///
    /// # Errors
    /// [`ServerError::Process`] if that fails.
    pub fn resume(&self) -> Result<(), ServerError> {
        self.process.as_ref().map_or(Ok(()), Process::resume).map_err(ServerError::Process)
    }

    /// Kills a running process, starts the host again on the same data and address, and waits until
    /// it accepts work.
    ///
    /// # Errors
    /// [`ServerError`], with the end of the host's output.
    pub async fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        let mut command = Command::new(&self.options.binary);
        command
            .arg("serve")
            .arg("--data")
            .arg(&self.options.data)
            .arg("--listen")
            .arg(self.options.listen.to_string())
            .args(&self.options.arguments)
            .env("SEGNO_LOG", LOG)
            .envs(self.options.environment.iter().map(|(name, value)| (name, value)));
        let process = Process::start("host", command, &self.options.log)?;
        self.starts += 1;
        self.process = Some(process);
        self.is_ready_within(START).await
    }

    /// Waits until the running process accepts work.
    ///
    /// # Errors
    /// [`ServerError::Process`] if the process ended, or is not ready within `limit`.
    pub async fn is_ready_within(&mut self, limit: Millis) -> Result<(), ServerError> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let client = self.client.clone();
        process.ready(&self.env, limit, async || client.ready().await.is_ok()).await?;
        Ok(())
    }

    /// Drains and terminates the host.
    ///
    /// # Errors
    /// [`ServerError::Process`] if the process had to be killed.
    pub async fn stop(mut self) -> Result<(), ServerError> {
        self.drain().await
    }

    /// Like [`DemoServer::stop`], for a host that will be restarted.
    ///
    /// # Errors
    /// [`ServerError::Process`] if the process had to be killed.
    pub async fn drain(&mut self) -> Result<(), ServerError> {
        if let Some(process) = self.process.take() {
            process.terminate(&self.env, STOP).await?;
        }
        Ok(())
    }
}
