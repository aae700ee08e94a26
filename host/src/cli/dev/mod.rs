//! `segno dev`: build, check and deploy after every change of a project.

mod own_host;
mod sources;
mod watch;

use std::path::{Path, PathBuf};

use clap::Args;
use segno_build::Project;
use segno_client::Client;
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::{own_host::ChildHost, watch::FolderWatch};
use super::{
    CliError, Console, Exit,
    build::{BuildFlags, build, other},
    check::{CheckReport, ShownDifferences},
    console::{BOLD, CYAN, DIM, GREEN, RED},
    deploy::{COSTS, MigrationSelection, is_known},
    runtimes::upload,
    show::{plain_lines, short_digest},
    time::{length, now_ms},
};

/// Watch a project: build, check and deploy it after every change
///
/// After each change the project is built, the executions in flight are replayed on the new code,
/// and the code is put under the name. Executions in flight finish on the code that they began
/// with, or move to the new code if their journal is the same on it (--migrate same). An error of
/// the compiler is shown, and the next change tries again. Build output, hidden files and files
/// named by a `.gitignore` are not watched. If no host answers, one is started on this machine,
/// with its store in `segno-dev` in the project's folder, and stopped with the command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno dev
  segno dev examples/order --as shop
  segno dev --migrate same        # executions that repeat their journal continue on the new code
  segno dev --once                # one round, for scripts; exit code 7 if something diverges

Ctrl-C ends it.")]
pub(super) struct DevArgs {
    /// Folder of the project
    #[arg(value_name = "PROJECT", default_value = ".")]
    path: PathBuf,
    /// Name for the module (default: the name of the project)
    #[arg(long = "as", value_name = "NAME")]
    alias: Option<String>,
    #[command(flatten)]
    how: BuildFlags,
    /// Move executions to each new code: those whose journal is the same on it
    #[arg(long, value_name = "WHICH")]
    migrate: Option<MigrationSelection>,
    /// Number of ended executions that are replayed as well
    #[arg(long, value_name = "N", default_value_t = 5)]
    ended: u32,
    /// Open the console in a browser
    #[arg(long)]
    open: bool,
    /// Build, check and deploy once, and end
    #[arg(long, conflicts_with = "open")]
    once: bool,
}

/// The result of one change.
#[derive(Debug, Serialize)]
struct DevRound {
    /// The digest of the module. `None` if it did not build or was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    /// True if the module is the one deployed before.
    unchanged: bool,
    /// The check of the executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<CheckReport>,
    /// The reason that it did not build or was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
    /// Time from the change to the verdict, in milliseconds.
    took_ms: i64,
}

impl DevArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let project = Project::locate(&self.path).map_err(|error| other("no-project", &error))?;
        let mut ended = StopSignals::new()?;
        let folder = self.path.join("segno-dev");
        let mut host = tokio::select! {
            biased;
            () = ended.came() => return Ok(Exit::Done),
            started = ChildHost::start(client, &folder) => started?,
        };
        if !console.json() {
            let server = console.paint(CYAN, &client.server());
            console.line(match &host {
                Some(host) => format!(
                    "{server}  a host was started; its store is in {}",
                    host.folder.display()
                ),
                None => format!("{server}  a host is here already"),
            })?;
        }
        let alias = self.alias.as_deref().unwrap_or(project.name());
        let page = format!("{}/console/modules/{alias}/check", client.server());
        if !console.json() {
            let shown = console.paint(CYAN, &page);
            console.line(format!("{shown}  each verdict, in a browser"))?;
        }
        if self.open && open::that_detached(&page).is_err() {
            console.warn(&format!("no browser could be started; the verdicts are at {page}"));
        }
        let host_ends = async {
            match &mut host {
                Some(host) => host.ended().await,
                None => std::future::pending().await,
            }
        };
        let exit = tokio::select! {
            biased;
            () = ended.came() => Ok(Exit::Done),
            () = host_ends => Err(CliError::Other {
                code: "no-host",
                message: format!("the host ended; {}/host.log says why", folder.display()),
            }),
            exit = self.rounds(&project, client, console) => exit,
        };
        if let Some(host) = host {
            host.stop().await;
        }
        exit
    }

    /// Runs one round immediately, and one after each change.
    async fn rounds(
        &self,
        project: &Project,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let alias = self.alias.as_deref().unwrap_or(project.name());
        // Created before the first build: changes during the build trigger another one.
        let mut watch = FolderWatch::new(project.sources())?;
        let mut before = None;
        loop {
            let began = now_ms();
            let round = match self.round(alias, before.as_deref(), client, console).await {
                Ok(round) => DevRound { took_ms: now_ms() - began, ..round },
                Err(error @ (CliError::Output(_) | CliError::Usage(_))) => return Err(error),
                Err(error) if self.once => return Err(error),
                Err(error) => DevRound {
                    module: None,
                    unchanged: false,
                    report: None,
                    error: Some(error.document()),
                    took_ms: now_ms() - began,
                },
            };
            self.tell(alias, &round, console)?;
            if self.once {
                return Ok(round.report.map_or(Exit::Done, |report| report.exit()));
            }
            before = round.module.or(before);
            let changed = watch.changed().await?;
            if !console.json() {
                let name = changed.strip_prefix(&self.path).unwrap_or(&changed);
                let name = name.file_name().unwrap_or_default().to_string_lossy();
                let head = console.paint(BOLD, &name);
                console.line(format!("\n{head} changed"))?;
            }
        }
    }

    async fn round(
        &self,
        alias: &str,
        before: Option<&str>,
        client: &Client,
        console: &mut Console,
    ) -> Result<DevRound, CliError> {
        let built = build(Path::new(&self.path), self.how.clone(), console).await?;
        let progress = console.progress("checking what is in flight");
        let candidate = upload(client, built.component.clone(), None).await?.module;
        let mut round =
            DevRound { module: None, unchanged: false, report: None, error: None, took_ms: 0 };
        if before == Some(&candidate.digest) {
            round.unchanged = true;
        } else {
            let digest = &candidate.digest;
            let mut report = match is_known(client, alias).await? {
                true => CheckReport::new(client, alias, digest, self.ended, COSTS, console).await?,
                false => CheckReport::empty(alias, digest),
            };
            upload(client, built.component, Some(alias)).await?;
            if self.migrate.is_some() {
                report.move_same(client, console).await?;
            }
            round.report = Some(report);
        }
        drop(progress);
        round.module = Some(candidate.digest);
        Ok(round)
    }

    fn tell(&self, alias: &str, round: &DevRound, console: &mut Console) -> Result<(), CliError> {
        if console.json() {
            return console.document(round);
        }
        let took = console.paint(DIM, &length(round.took_ms));
        if let Some(error) = &round.error {
            let lead = console.paint(RED.bold(), "not deployed");
            let why = error["detail"].as_str().unwrap_or_default();
            console.line(format!("{lead}  {took}"))?;
            console.line(plain_lines(why, 0))?;
        } else if round.unchanged {
            console.line(format!("the same module as before  {took}"))?;
        } else if let (Some(module), Some(report)) = (&round.module, &round.report) {
            report.print_findings(ShownDifferences::InFlight, console)?;
            let lead = console.paint(GREEN.bold(), "deployed");
            let digest = short_digest(module);
            console.line(format!("{lead}  {alias}  {digest}  {took}"))?;
        }
        if !self.once {
            let waits = console.paint(DIM, "waiting for changes; Ctrl-C ends");
            console.line(waits)?;
        }
        Ok(())
    }
}

/// The signals that end the command.
struct StopSignals {
    interrupted: Signal,
    terminated: Signal,
}

impl StopSignals {
    fn new() -> Result<Self, CliError> {
        Ok(Self {
            interrupted: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
        })
    }

    async fn came(&mut self) {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            _ = self.terminated.recv() => {}
        }
    }
}
