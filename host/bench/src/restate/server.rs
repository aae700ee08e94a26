//! A runtime in a separate process: a Segno host, or Restate's server. Both are started, registered
//! with, called and killed in the same way.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, ensure};
use segno_core::time::Millis;
use segno_demo::process::{Process, free_port};
use segno_env::{Env, Proxies, http_client};
use serde_json::json;
use tempfile::TempDir;

use super::deployment::HANDLER;
use crate::context::BenchContext;

/// Time limit of a start.
const START: Millis = Millis(60_000);
/// Interval between calls of a starting server.
const ASK_EVERY: Millis = Millis(2);
/// Time limit of one such call.
const CALL: Millis = Millis(1_000);
/// Name of the log file, in the server's folder.
const LOG: &str = "server.log";

/// A server with its data folder.
pub(super) struct BenchServer {
    program: ServerProgram,
    /// Its three addresses: for callers, for operators, and for internal use.
    listens: [String; 3],
    caller: ServiceCaller,
    env: Env,
    // Dropped, and thereby killed, before its folder is removed.
    process: Option<Process>,
    folder: TempDir,
}

/// The program of a server.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ServerProgram {
    /// The command `segno` at this path.
    Segno(PathBuf),
    /// Restate's server, with its default settings and those of the environment.
    Restate(PathBuf),
}

/// Calls the service through a server. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub(super) struct ServiceCaller {
    http: reqwest::Client,
    url: String,
}

impl BenchServer {
    /// Starts a server on an empty folder, and registers the deployment at `url`.
    ///
    /// # Errors
    /// Fails if the server does not start, or refuses the deployment.
    pub(super) async fn start(
        context: &BenchContext,
        program: ServerProgram,
        url: &str,
    ) -> anyhow::Result<Self> {
        let ports = [free_port()?, free_port()?, free_port()?];
        let listens = ports.map(|port| format!("127.0.0.1:{port}"));
        let http = http_client(Proxies::None).tcp_nodelay(true).build()?;
        let caller = ServiceCaller { http, url: format!("http://{}", listens[0]) };
        let (folder, env) = (context.place()?, context.env.clone());
        let health = format!("http://{}/health", listens[1]);
        let register = format!("http://{}/deployments", listens[1]);
        let mut server = Self { program, listens, caller, env, process: None, folder };
        server.process = Some(server.spawn()?);
        let http = server.caller.http.clone();
        server.answers(async || Ok(http.get(&health).send().await?.error_for_status()?)).await?;
        let answer = http.post(&register).json(&json!({ "uri": url })).send().await?;
        let status = answer.status();
        ensure!(status.is_success(), "registering was answered {status}: {}", answer.text().await?);
        server.first_answer().await?;
        Ok(server)
    }

    /// A caller for this server.
    pub(super) fn caller(&self) -> &ServiceCaller {
        &self.caller
    }

    /// Id of the running process; 0 if none runs.
    pub(super) fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::pid)
    }

    /// Kills the process with SIGKILL and starts another on the same data. Returns when the new one
    /// has answered a call.
    ///
    /// # Errors
    /// Fails if the server does not start again.
    pub(super) async fn kill_and_restart(&mut self) -> anyhow::Result<()> {
        if let Some(process) = self.process.take() {
            process.kill()?;
        }
        self.process = Some(self.spawn()?);
        self.first_answer().await
    }

    /// Waits until a call is answered.
    async fn first_answer(&mut self) -> anyhow::Result<()> {
        let caller = self.caller.clone();
        self.answers(async || caller.steps(0).await).await
    }

    /// Repeats `ask` until it succeeds.
    async fn answers<T>(
        &mut self,
        mut ask: impl AsyncFnMut() -> anyhow::Result<T>,
    ) -> anyhow::Result<()> {
        let env = self.env.clone();
        let process = self.process.as_mut().expect("it was started");
        let answered = env.within(START, async {
            // A call may reach a server that never answers, so each has a time limit.
            while !matches!(env.within(CALL, ask()).await, Some(Ok(_))) {
                process.check()?;
                env.runtime.sleep(ASK_EVERY).await;
            }
            anyhow::Ok(())
        });
        let log = self.folder.path().join(LOG);
        let answered = answered.await;
        answered.with_context(|| format!("it does not answer; see `{}`", log.display()))?
    }

    fn spawn(&self) -> anyhow::Result<Process> {
        let data = self.folder.path().join("data");
        let [ingress, admin, own] = &self.listens;
        let (name, command) = match &self.program {
            ServerProgram::Segno(program) => {
                let mut command = Command::new(program);
                command.args(["serve", "--restate", "--listen", own, "--data"]).arg(data);
                command.args(["--restate-ingress", ingress, "--restate-admin", admin]);
                ("host", command)
            }
            ServerProgram::Restate(program) => {
                let mut command = Command::new(program);
                command
                    .arg("--no-logo")
                    .env("RESTATE_BASE_DIR", data)
                    .env("RESTATE_LISTEN_MODE", "tcp")
                    .env("RESTATE_INGRESS__BIND_ADDRESS", ingress)
                    .env("RESTATE_ADMIN__BIND_ADDRESS", admin)
                    .env("RESTATE_BIND_ADDRESS", own)
                    .env("RESTATE_DISABLE_TELEMETRY", "true");
                ("Restate server", command)
            }
        };
        Ok(Process::start(name, command, &self.folder.path().join(LOG))?)
    }
}

impl ServiceCaller {
    /// Runs one invocation with this many steps, and checks its result.
    ///
    /// # Errors
    /// Fails if there is no result, or a wrong one.
    pub(super) async fn steps(&self, count: u32) -> anyhow::Result<()> {
        self.call(count, None).await
    }

    /// Like [`ServiceCaller::steps`], with an idempotency key: another call with the key gets the result
    /// of the first.
    ///
    /// # Errors
    /// Fails if there is no result, or a wrong one.
    pub(super) async fn steps_once(&self, count: u32, name: &str) -> anyhow::Result<()> {
        self.call(count, Some(name)).await
    }

    async fn call(&self, count: u32, name: Option<&str>) -> anyhow::Result<()> {
        let mut request = self.http.post(format!("{}/{HANDLER}", self.url)).json(&count);
        if let Some(name) = name {
            request = request.header("idempotency-key", name);
        }
        let answer = request.send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        ensure!(
            status.is_success() && text == count.to_string(),
            "{count} steps were answered {status}: {text}"
        );
        Ok(())
    }
}
