//! `segno serve` as a child process that may be killed at any instant and started again on the same data and address.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use segno_core::time::Millis;

use super::process::{Process, ProcessError, free_port};
use segno_client::{Client, ClientError};
use segno_env::Env;

/// What a start may take at most, recovery included. A slow machine that builds at the same time needs it.
const START: Millis = Millis(60_000);

/// What the host says of itself: as usual, and each replay.
const LOG: &str = "warn,segno=info,segno::replays=debug";

/// What draining may take at most.
const STOP: Millis = Millis(30_000);

/// How the host is run.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The command `segno`.
    pub binary: PathBuf,
    /// The data directory.
    pub data: PathBuf,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The file for its output.
    pub log: PathBuf,
    /// Further arguments of `segno serve`.
    pub arguments: Vec<String>,
    /// Further variables of its environment.
    pub environment: Vec<(String, String)>,
}

impl ServerOptions {
    /// On a free port, with data and log in `folder`.
    ///
    /// # Errors
    /// [`ServerError::Io`] when there is no free port or the folder cannot be used.
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

    /// Lets `module` speak HTTP to `address`, by the policy in the data directory.
    ///
    /// # Errors
    /// [`ServerError::Io`].
    pub fn allow_http(&self, module: &str, address: &str) -> Result<(), ServerError> {
        let grants = toml::toml! { http = { allow = [address] } };
        let policy = toml::Table::from_iter([(module.to_owned(), grants.into())]);
        std::fs::write(self.data.join("policy.toml"), policy.to_string()).map_err(ServerError::Io)
    }
}

/// Why there is no running host.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The process is not as it should be.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Its address is none.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The data directory, the port or the log cannot be used.
    #[error("the data directory or the log cannot be used")]
    Io(#[source] std::io::Error),
}

/// A host that runs, or was just killed.
pub struct Server {
    options: ServerOptions,
    client: Client,
    env: Env,
    process: Option<Process>,
    starts: u32,
}

impl Server {
    /// Starts a host and waits until it takes work.
    ///
    /// # Errors
    /// [`ServerError`], with the end of the host's output.
    pub async fn start(options: ServerOptions, env: Env) -> Result<Self, ServerError> {
        let client = Client::new(&format!("http://{}", options.listen), None)?;
        let mut server = Self { options, client, env, process: None, starts: 0 };
        server.restart().await?;
        Ok(server)
    }

    /// Speaks to this host, also after it was killed and started again.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// How it is run.
    pub fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// How often it was started.
    pub fn starts(&self) -> u32 {
        self.starts
    }

    /// The id of the process that runs; 0 while none does.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::pid)
    }

    /// How often each execution was run again from its journal, in all lives of this host so far: its own log says so.
    ///
    /// # Errors
    /// [`ServerError::Io`] when the log cannot be read.
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

    /// Ends the process with SIGKILL; nothing is flushed or said goodbye to.
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

    /// Holds the process up, as a machine that is overloaded or asleep would; [`Server::resume`] lets it go on.
    ///
    /// # Errors
    /// [`ServerError::Process`] when it cannot be.
    pub fn pause(&self) -> Result<(), ServerError> {
        self.process.as_ref().map_or(Ok(()), Process::pause).map_err(ServerError::Process)
    }

    /// Lets a process that was held up go on.
    ///
    /// # Errors
    /// [`ServerError::Process`] when it cannot.
    pub fn resume(&self) -> Result<(), ServerError> {
        self.process.as_ref().map_or(Ok(()), Process::resume).map_err(ServerError::Process)
    }

    /// Starts it again on the same data and address, after whatever ran before is gone.
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

    /// Waits until the process that runs takes work.
    ///
    /// # Errors
    /// [`ServerError::Process`] if it ended, or does not within `limit`.
    pub async fn is_ready_within(&mut self, limit: Millis) -> Result<(), ServerError> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let client = self.client.clone();
        process.ready(&self.env, limit, async || client.ready().await.is_ok()).await?;
        Ok(())
    }

    /// Asks it to drain and end.
    ///
    /// # Errors
    /// [`ServerError::Process`] if it had to be killed.
    pub async fn stop(mut self) -> Result<(), ServerError> {
        self.drain().await
    }

    /// The same where it is to be started again.
    ///
    /// # Errors
    /// [`ServerError::Process`] if it had to be killed.
    pub async fn drain(&mut self) -> Result<(), ServerError> {
        if let Some(process) = self.process.take() {
            process.terminate(&self.env, STOP).await?;
        }
        Ok(())
    }
}
