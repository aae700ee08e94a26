//! A folder, a payment service and a real host for one test, removed afterwards.

use std::path::Path;

use segno_api::model::{Invocation, StartInvocation, Started};
use segno_client::{Client, ClientError};
use segno_demo::{
    payments::PaymentsOptions,
    server::{DemoServer, ServerError, ServerOptions},
};
use segno_env::Env;
use serde_json::Value;
use tempfile::TempDir;

use crate::payments::PaymentService;

/// The real processes of one test.
pub struct TestHost {
    /// The host. It is ended before the folder is removed.
    pub server: DemoServer,
    pub payments: PaymentService,
    pub env: Env,
    folder: TempDir,
}

impl TestHost {
    /// Starts a host on an empty data directory. `binary` is the command `segno`. Modules named
    /// `order` may call the payment service.
    ///
    /// # Panics
    /// If the host does not start. The message has the end of its output.
    pub async fn start(binary: &str) -> Self {
        Self::with(binary, PaymentsOptions::default(), &[]).await
    }

    /// Does the same with options of the payment service, and with additional arguments of `segno
    /// serve`.
    ///
    /// # Panics
    /// If the host does not start. The message has the end of its output.
    pub async fn with(binary: &str, payments: PaymentsOptions, arguments: &[&str]) -> Self {
        let env = Env::system();
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let payments = PaymentService::start(folder.path(), payments, &env).await;
        let mut options = options(binary, folder.path());
        options.arguments = arguments.iter().map(ToString::to_string).collect();
        options.allow_http("order", payments.address()).expect("the policy can be written");
        let started = DemoServer::start(options, env.clone()).await;
        let server = started.unwrap_or_else(|error| panic!("{error}"));
        Self { server, payments, env, folder }
    }

    /// Client of the host.
    pub fn client(&self) -> &Client {
        self.server.client()
    }

    /// Folder of data, ledger and log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Uploads `component` as `alias`. Returns its digest.
    ///
    /// # Panics
    /// If the host refuses it.
    pub async fn deploy(&self, alias: &str, component: Vec<u8>) -> String {
        let deployed = self.client().deploy(component, Some(alias)).await;
        deployed.unwrap_or_else(|error| panic!("{alias}: {error}")).module.digest
    }

    /// Starts `target` as `id`.
    ///
    /// # Errors
    /// The host's refusal.
    pub async fn start_as(
        &self,
        id: &str,
        target: &str,
        input: Value,
    ) -> Result<Started, ClientError> {
        let start = StartInvocation {
            id: Some(id.to_owned()),
            target: target.to_owned(),
            input,
            ..StartInvocation::default()
        };
        self.client().start(&start).await
    }

    /// Reads `id` repeatedly until `seen` returns true.
    ///
    /// # Panics
    /// If that takes longer than 30 s. The message shows the last state.
    pub async fn until(
        &self,
        id: &str,
        what: &str,
        seen: impl Fn(&Invocation) -> bool,
    ) -> Invocation {
        let give_up_at = self.env.clock.now() + segno_core::time::Millis(30_000);
        loop {
            let invocation =
                self.client().invocation(id).await.unwrap_or_else(|error| panic!("{id}: {error}"));
            if seen(&invocation) {
                return invocation;
            }
            let now = self.env.clock.now();
            assert!(now < give_up_at, "`{id}` is not {what}: {invocation:#?}");
            self.env.runtime.sleep(segno_core::time::Millis(20)).await;
        }
    }

    /// Waits until `id` has ended.
    ///
    /// # Panics
    /// If that takes longer than 30 s.
    pub async fn ended(&self, id: &str) -> Invocation {
        self.until(id, "at its end", |invocation| invocation.state.is_settled()).await
    }
}

/// Options of a host in `folder`.
///
/// # Panics
/// If the folder cannot be used, or there is no free port.
pub fn options(binary: &str, folder: &Path) -> ServerOptions {
    ServerOptions::within(folder, Path::new(binary)).expect("the folder can be used")
}

/// Error with which a host with these options fails to start.
///
/// # Panics
/// If the host starts.
pub async fn refusal_to_start(options: ServerOptions) -> ServerError {
    match DemoServer::start(options, Env::system()).await {
        Ok(_) => panic!("the host came up"),
        Err(error) => error,
    }
}
