//! A monitored child process, which may be killed on purpose and is never left behind.
//!
//! Its output goes to a file, whose end is part of every error. Dropping a [`Process`] kills it, so
//! a panic, an early return or Ctrl-C (which drops the future that holds it) leaves no process
//! behind.

use std::{
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal};
use segno_core::time::Millis;
use segno_env::Env;

/// Interval between checks if a process is ready or has ended.
const ASK_EVERY: Millis = Millis(10);

/// Time limit of one check.
const PROBE: Millis = Millis(1_000);

/// Number of lines of output in an error.
const TAIL: usize = 20;

/// Reason why a process is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("the {name} could not be started")]
    Start {
        name: &'static str,
        /// The system's error.
        source: io::Error,
    },
    #[error("the {name} ended by itself ({status}); the end of `{log}`:\n{tail}")]
    Ended {
        name: &'static str,
        status: ExitStatus,
        /// The file with the output.
        log: PathBuf,
        /// The last lines of the output.
        tail: String,
    },
    /// The process runs, but did not become ready.
    #[error("the {name} was not ready within {} s; the end of `{log}`:\n{tail}", limit.0 / 1000)]
    NotReady {
        name: &'static str,
        limit: Millis,
        /// The file with the output.
        log: PathBuf,
        /// The last lines of the output.
        tail: String,
    },
    /// The system did not report the state of the process.
    #[error("the {name} could not be watched")]
    Watch {
        name: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// A running child process.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; its output is appended to the file `log`. `name` is for errors.
    ///
    /// The process gets its own process group, so that Ctrl-C reaches only the parent, which
    /// decides the order of shutdown.
    ///
    /// # Errors
    /// [`ProcessError::Start`].
    pub fn start(
        name: &'static str,
        mut command: Command,
        log: &Path,
    ) -> Result<Self, ProcessError> {
        let failed = |source| ProcessError::Start { name, source };
        let output = File::options().create(true).append(true).open(log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let child = command.spawn().map_err(failed)?;
        Ok(Self { name, child, log: log.to_owned() })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The file with its output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Waits until `probe` returns true.
    ///
    /// # Errors
    /// [`ProcessError::Ended`] if the process ends first; [`ProcessError::NotReady`] after `limit`,
    /// in which case the process still runs.
    pub async fn ready(
        &mut self,
        env: &Env,
        limit: Millis,
        mut probe: impl AsyncFnMut() -> bool,
    ) -> Result<(), ProcessError> {
        let name = self.name;
        let answer = env.within(limit, async {
            loop {
                self.check()?;
                // Another program on the port may never answer; even then the end of the process
                // must be noticed.
                if env.within(PROBE, probe()).await == Some(true) {
                    return Ok(());
                }
                env.runtime.sleep(ASK_EVERY).await;
            }
        });
        match answer.await {
            Some(answer) => answer,
            None => {
                let tail = tail(&self.log);
                Err(ProcessError::NotReady { name, limit, log: self.log.clone(), tail })
            }
        }
    }

    /// Checks that the process still runs.
    ///
    /// # Errors
    /// [`ProcessError::Ended`] if it has ended.
    pub fn check(&mut self) -> Result<(), ProcessError> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => Err(ProcessError::Ended {
                name: self.name,
                status,
                log: self.log.clone(),
                tail: tail(&self.log),
            }),
        }
    }

    /// The exit status; `None` while the process runs.
    ///
    /// # Errors
    /// [`ProcessError::Watch`].
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        self.child.try_wait().map_err(|source| ProcessError::Watch { name: self.name, source })
    }

    /// Stops the process until [`Process::resume`].
    ///
    /// # Errors
    /// [`ProcessError::Watch`].
    pub fn pause(&self) -> Result<(), ProcessError> {
        self.signal(Signal::STOP)
    }

    /// Continues the process after [`Process::pause`].
    ///
    /// # Errors
    /// [`ProcessError::Watch`].
    pub fn resume(&self) -> Result<(), ProcessError> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), ProcessError> {
        // The child was not reaped yet, so the id still belongs to it.
        rustix::process::kill_process(Pid::from_child(&self.child), signal)
            .map_err(|error| ProcessError::Watch { name: self.name, source: error.into() })
    }

    /// Kills the process with SIGKILL: no handler runs, nothing is flushed. The process is gone
    /// when this returns.
    ///
    /// # Errors
    /// [`ProcessError::Watch`]; the process may then still run.
    pub fn kill(mut self) -> Result<ExitStatus, ProcessError> {
        self.end()
    }

    /// Terminates the process with SIGTERM, and kills it with SIGKILL after `limit`.
    ///
    /// # Errors
    /// [`ProcessError::NotReady`] if it had to be killed, with the end of its output.
    pub async fn terminate(mut self, env: &Env, limit: Millis) -> Result<ExitStatus, ProcessError> {
        if let Some(status) = self.ended()? {
            return Ok(status);
        }
        self.signal(Signal::TERM)?;
        let ended = env.within(limit, async {
            loop {
                if let Some(status) = self.ended()? {
                    return Ok(status);
                }
                env.runtime.sleep(ASK_EVERY).await;
            }
        });
        match ended.await {
            Some(answer) => answer,
            None => {
                let (name, log) = (self.name, self.log.clone());
                self.end()?;
                let tail = tail(&log);
                Err(ProcessError::NotReady { name, limit, log, tail })
            }
        }
    }

    fn end(&mut self) -> Result<ExitStatus, ProcessError> {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        ended.map_err(|source| ProcessError::Watch { name: self.name, source })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Drop cannot return an error; killing a process that has ended is not an error.
        let _ = self.end();
    }
}

/// The last lines of the file `log`.
pub fn tail(log: &Path) -> String {
    let text = match std::fs::read(log) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return format!("(it cannot be read: {error})"),
    };
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return "(nothing was printed)".to_owned();
    }
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

/// A loopback port that was free when this was called.
///
/// # Errors
/// Fails if the system has none.
pub fn free_port() -> io::Result<u16> {
    std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr().map(|address| address.port())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn shell(script: &str, folder: &tempfile::TempDir) -> Process {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        Process::start("script", command, &folder.path().join("log")).unwrap()
    }

    fn exists(pid: u32) -> bool {
        Path::new(&format!("/proc/{pid}")).exists()
    }

    #[tokio::test]
    async fn a_process_that_ends_before_it_is_ready_shows_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell("echo the port is taken; exit 3", &folder);
        let ready = process.ready(&Env::system(), Millis(10_000), async || false).await;
        let error = ready.unwrap_err().to_string();
        assert!(error.contains("the port is taken") && error.contains("status: 3"), "{error}");
    }

    #[tokio::test]
    async fn a_process_that_is_never_ready_is_not_waited_for_longer_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell("exec sleep 60", &folder);
        let ready = process.ready(&Env::system(), Millis(50), async || false).await;
        assert!(matches!(ready, Err(ProcessError::NotReady { .. })));
    }

    #[test]
    fn a_killed_process_is_gone_and_so_is_a_dropped_one() {
        let folder = tempfile::tempdir().unwrap();
        let process = shell("exec sleep 60", &folder);
        assert_eq!(process.kill().unwrap().signal(), Some(9));

        let process = shell("exec sleep 60", &folder);
        let pid = process.pid();
        assert!(exists(pid));
        drop(process);
        assert!(!exists(pid));
    }

    #[tokio::test]
    async fn a_process_may_end_itself_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done";
        let mut process = shell(script, &folder);
        let log = process.log().to_owned();
        let env = Env::system();
        let says_ready = async || tail(&log).contains("ready");
        process.ready(&env, Millis(10_000), says_ready).await.unwrap();
        let status = process.terminate(&env, Millis(10_000)).await.unwrap();
        assert_eq!(status.code(), Some(7));
    }
}
