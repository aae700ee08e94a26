//! The server that the SDKs are made for. The golden answers are recorded from it.

use std::{
    fs::File,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
};

use segno_core::time::Millis;
use segno_env::{Env, Proxies, http_client};

use super::{Runtime, original as program};

/// Time limit of the server's start.
const START: Millis = Millis(60_000);

/// A server on an empty folder. Dropping it kills the server.
pub struct Original {
    process: Child,
    /// Addresses on which the server listens.
    pub runtime: Runtime,
}

impl Original {
    /// Starts the server with its files in `folder`. `None` if it is unavailable, with the reason
    /// on standard error.
    ///
    /// # Panics
    /// If the server does not start.
    pub async fn start(folder: &Path) -> Option<Self> {
        Self::configured(folder, &[]).await
    }

    /// Does the same with scopes enabled. The server signs requests with the key in the file
    /// `identity`.
    ///
    /// # Panics
    /// If the server does not start.
    pub async fn signing(folder: &Path, identity: &Path) -> Option<Self> {
        let identity = identity.to_str().expect("the path is UTF-8");
        let variables = [
            ("RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", identity),
            ("RESTATE_EXPERIMENTAL_ENABLE_VQUEUES", "true"),
        ];
        Self::configured(folder, &variables).await
    }

    async fn configured(folder: &Path, variables: &[(&str, &str)]) -> Option<Self> {
        // All ports are bound at the same time, so that they differ.
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
            // Uses the same client as a host: reqwest needs an explicit cryptography provider.
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
