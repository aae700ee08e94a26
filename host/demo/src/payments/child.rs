//! The payment service as a child process: `segno payments`.

use std::{path::Path, process::Command};

use segno_core::time::Millis;
use segno_env::Env;

use super::{LedgerView, ledger::LedgerEntry};
use crate::process::{Process, ProcessError, free_port};

const START: Millis = Millis(30_000);

/// Reason why the payment service is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The process failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// There is no free port.
    #[error("there is no free port for the payment service")]
    Port(#[source] std::io::Error),
    /// The service does not answer.
    #[error("the payment service does not answer")]
    Http(#[from] reqwest::Error),
}

/// A running payment service; killed when dropped.
pub struct PaymentsChild {
    process: Process,
    address: String,
    http: reqwest::Client,
}

impl PaymentsChild {
    /// Starts `binary payments` on a free port, with ledger and output in `folder`; every answer is
    /// delayed by `delay`.
    ///
    /// # Errors
    /// See [`ChildError`].
    pub async fn start(
        binary: &Path,
        folder: &Path,
        delay: Millis,
        env: &Env,
    ) -> Result<Self, ChildError> {
        let listen = format!("127.0.0.1:{}", free_port().map_err(ChildError::Port)?);
        let mut command = Command::new(binary);
        command.args(["payments", "--listen", &listen, "--delay-ms", &delay.0.to_string()]);
        command.arg("--ledger").arg(folder.join("ledger.jsonl"));
        let process = Process::start("payment service", command, &folder.join("payments.log"))?;
        let http = segno_env::http_client(segno_env::Proxies::None).build()?;
        let mut child = Self { process, address: format!("http://{listen}"), http };
        let health = child.http.get(format!("{}/health", child.address));
        let healthy = async || match health.try_clone() {
            Some(request) => request.send().await.is_ok_and(|answer| answer.status().is_success()),
            None => false,
        };
        child.process.ready(env, START, healthy).await?;
        Ok(child)
    }

    /// The address of the service, such as `http://127.0.0.1:9000`.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// All requests received so far.
    ///
    /// # Errors
    /// [`ChildError::Http`].
    pub async fn entries(&self) -> Result<Vec<LedgerEntry>, ChildError> {
        let answer = self.http.get(format!("{}/ledger", self.address)).send().await?;
        let view: LedgerView = answer.error_for_status()?.json().await?;
        Ok(view.entries)
    }
}
