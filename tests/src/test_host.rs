//! A directory, a payment service and a real host for one test, removed after it.

use std::path::Path;

use segno::{
    api::model::{Invocation, StartInvocation, Started},
    client::{Client, ClientError},
    demo::{
        payments::PaymentsOptions,
        server::{Server, ServerError, ServerOptions},
    },
    runtime::Env,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::payments::PaymentService;

/// The real processes of one test.
pub struct TestHost {
    /// The host. It is ended before the folder goes.
    pub server: Server,
    /// The payment service.
    pub payments: PaymentService,
    /// Time.
    pub env: Env,
    folder: TempDir,
}

impl TestHost {
    /// A host on an empty data directory; `binary` is the command `segno`. Modules called `order`
    /// may speak to the payment service.
    ///
    /// # Panics
    /// The host does not come up; the message carries the end of its output.
    pub async fn start(binary: &str) -> Self {
        Self::with(binary, PaymentsOptions::default(), &[]).await
    }

    /// The same with a payment service that behaves as `payments` says, and further arguments of
    /// `segno serve`.
    ///
    /// # Panics
    /// The host does not come up; the message carries the end of its output.
    pub async fn with(binary: &str, payments: PaymentsOptions, arguments: &[&str]) -> Self {
        let env = Env::system();
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let payments = PaymentService::start(folder.path(), payments, &env).await;
        let mut options = options(binary, folder.path());
        options.arguments = arguments.iter().map(ToString::to_string).collect();
        options.allow_http("order", payments.address()).expect("the policy can be written");
        let started = Server::start(options, env.clone()).await;
        let server = started.unwrap_or_else(|error| panic!("{error}"));
        Self { server, payments, env, folder }
    }

    /// Speaks to the host.
    pub fn client(&self) -> &Client {
        self.server.client()
    }

    /// Where data, ledger and log are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Uploads `component` as `alias` and gives its digest.
    ///
    /// # Panics
    /// The host refuses it.
    pub async fn deploy(&self, alias: &str, component: Vec<u8>) -> String {
        let deployed = self.client().deploy(component, Some(alias)).await;
        deployed.unwrap_or_else(|error| panic!("{alias}: {error}")).module.digest
    }

    /// Starts `target` as `id`.
    ///
    /// # Errors
    /// What the host refuses.
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

    /// Looks at `id` until `seen` says that it is as expected.
    ///
    /// # Panics
    /// It is not within 30 seconds; the message shows what it is.
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

    /// `id` when it has ended.
    ///
    /// # Panics
    /// It does not within 30 seconds.
    pub async fn ended(&self, id: &str) -> Invocation {
        self.until(id, "at its end", |invocation| invocation.state.is_settled()).await
    }
}

/// How a host in `folder` is run.
///
/// # Panics
/// The folder cannot be used, or there is no free port.
pub fn options(binary: &str, folder: &Path) -> ServerOptions {
    ServerOptions::within(folder, Path::new(binary)).expect("the folder can be used")
}

/// Why a host with these options does not come up.
///
/// # Panics
/// It does come up.
pub async fn refusal_to_start(options: ServerOptions) -> ServerError {
    match Server::start(options, Env::system()).await {
        Ok(_) => panic!("the host came up"),
        Err(error) => error,
    }
}
