//! The server that the SDKs are made for: the standard that answers are recorded from.

use std::{
    fs::File,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
};

use segno::runtime::{Env, Proxies, http_client};
use segno_core::time::Millis;

use super::{Runtime, original as program};

/// Time limit of its start.
const START: Millis = Millis(60_000);

/// A server on an empty folder; it is killed when this is dropped.
pub struct Original {
    process: Child,
    /// Where it listens.
    pub runtime: Runtime,
}

impl Original {
    /// Starts it with its files in `folder`; none if it cannot be had here, and standard error says
    /// why.
    ///
    /// # Panics
    /// It does not start.
    pub async fn start(folder: &Path) -> Option<Self> {
        Self::configured(folder, &[]).await
    }

    /// The same with scopes, signing requests with the key in the file `identity`.
    ///
    /// # Panics
    /// It does not start.
    pub async fn signing(folder: &Path, identity: &Path) -> Option<Self> {
        let identity = identity.to_str().expect("the path is UTF-8");
        let variables = [
            ("RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", identity),
            ("RESTATE_EXPERIMENTAL_ENABLE_VQUEUES", "true"),
        ];
        Self::configured(folder, &variables).await
    }

    async fn configured(folder: &Path, variables: &[(&str, &str)]) -> Option<Self> {
        // All of them at the same time, so that they differ.
        let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("there is a port"));
        let [ingress, admin, node] =
            free.map(|free| free.local_addr().expect("it is bound").to_string());
        let log = File::create(folder.join("server.log")).expect("a log");
        let mut command = Command::new(program()?);
        command
            .arg("--no-logo")
            .env("RESTATE_BASE_DIR", folder.join("server"))
            .env("RESTATE_INGRESS__BIND_ADDRESS", &ingress)
            .env("RESTATE_ADMIN__BIND_ADDRESS", &admin)
            .env("RESTATE_BIND_ADDRESS", &node)
            .env("RESTATE_LISTEN_MODE", "tcp")
            .env("RESTATE_DEFAULT_NUM_PARTITIONS", "2")
            .env("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "256MB")
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("RESTATE_LOG_DISABLE_ANSI_CODES", "true")
            .envs(variables.iter().copied())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .stdin(Stdio::null());
        let process = command.spawn().expect("the server starts");
        let runtime = Runtime::at(&ingress, &admin);
        let server = Self { process, runtime };
        let env = Env::system();
        let ready = env.within(START, async {
            let health = [
                format!("{}/restate/health", server.runtime.ingress),
                format!("{}/health", server.runtime.admin),
            ];
            // As every client of a host: reqwest has to be told which cryptography there is.
            let client = http_client(Proxies::None).build().expect("a client");
            for url in health {
                let asked = || client.get(&url).send();
                while !asked().await.is_ok_and(|answer| answer.status().is_success()) {
                    env.runtime.sleep(Millis(50)).await;
                }
            }
        });
        ready.await.expect("the server becomes ready");
        Some(server)
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
