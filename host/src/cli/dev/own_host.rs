//! The host that `segno dev` starts if no host answers.

use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use segno_client::{Client, ClientError};
use segno_core::time::Millis;
use segno_env::{Runtime as _, SystemRuntime};
use tokio::process::{Child, Command};

use crate::cli::{CliError, polling::PollDeadline};

/// Maximum time for the host's start, and for its orderly end.
const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_MS: Millis = Millis::seconds(20);

/// A host that the command started: a child process, stopped in an orderly way.
pub(super) struct ChildHost {
    child: Child,
    /// The folder of its store and log.
    pub folder: PathBuf,
}

impl ChildHost {
    /// Starts `segno serve` at the address of `client`, with its store in `folder`. Returns `None`
    /// if a host already answers there.
    ///
    /// # Errors
    /// The address is not on this machine, or the host does not start; its log has the reason.
    pub(super) async fn start(client: &Client, folder: &Path) -> Result<Option<Self>, CliError> {
        match client.health().await {
            Ok(_) => return Ok(None),
            Err(ClientError::Unreachable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let server = client.server();
        let Some(address) = loopback(&server) else {
            let message = format!(
                "no host answers at {server}, and one can be started on this machine only: give an address like http://127.0.0.1:7766, or start one there"
            );
            return Err(CliError::Usage(message));
        };
        let failed = |what: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |source| CliError::File { what, path, source }
        };
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
        let log = folder.join("host.log");
        let file = File::create(&log).map_err(failed("write", &log))?;
        let program = std::env::current_exe().map_err(failed("find", Path::new("segno")))?;
        let mut command = Command::new(&program);
        command
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(folder.join("data"));
        // Ctrl-C on the terminal goes to the command, which then stops its host.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let child = command.spawn().map_err(failed("start", &program))?;
        let mut host = Self { child, folder: folder.to_owned() };
        let ready = async || client.ready().await;
        let passes = |error: &ClientError| matches!(error, ClientError::Unreachable { .. });
        let answered = tokio::select! {
            biased;
            _ = host.child.wait() => None,
            answered = PollDeadline::of(Some(PATIENCE))?.ask(ready, passes) => Some(answered),
        };
        match answered {
            Some(Ok(_)) => Ok(Some(host)),
            Some(Err(error)) => Err(error.into()),
            None => Err(CliError::Other {
                code: "no-host",
                message: format!("the host ended at once; {} says why", log.display()),
            }),
        }
    }

    /// Waits for its unexpected end.
    pub(super) async fn ended(&mut self) {
        // If waiting fails, the host counts as ended.
        let _ = self.child.wait().await;
    }

    /// Stops it like an operator does.
    pub(super) async fn stop(mut self) {
        use rustix::process::{Pid, Signal, kill_process};

        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        // Without an id it has already ended. If it does not end in time, it is killed on drop.
        if let Some(id) = id
            && kill_process(id, Signal::TERM).is_ok()
        {
            tokio::select! {
                biased;
                _ = self.child.wait() => {}
                () = SystemRuntime.sleep(PATIENCE_MS) => {}
            }
        }
    }
}

/// The address of a server on this machine. `None` for a remote server.
fn loopback(server: &str) -> Option<SocketAddr> {
    let authority = server.strip_prefix("http://")?.split('/').next()?;
    let address: SocketAddr = authority.replace("localhost", "127.0.0.1").parse().ok()?;
    address.ip().is_loopback().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::loopback;

    #[test]
    fn hosts_are_started_on_this_machine_only() {
        let of = |server: &str| loopback(server).map(|address| address.to_string());
        assert_eq!(of("http://127.0.0.1:7766").as_deref(), Some("127.0.0.1:7766"));
        assert_eq!(of("http://localhost:1/").as_deref(), Some("127.0.0.1:1"));
        assert_eq!(of("http://[::1]:7766").as_deref(), Some("[::1]:7766"));
        assert_eq!(of("http://10.0.0.1:7766"), None);
        assert_eq!(of("https://127.0.0.1:7766"), None);
        assert_eq!(of("http://example.org"), None);
    }
}
