//! Several hosts on one PostgreSQL database, with one payment service.

use std::path::Path;

use segno::{
    client::Client,
    demo::{
        payments::PaymentsOptions,
        server::{Server, ServerOptions},
    },
    runtime::Env,
};
use tempfile::TempDir;

use crate::payments::PaymentService;

/// The hosts of one test. They are stopped before the directory is removed.
pub struct HostGroup {
    /// The hosts.
    pub hosts: Vec<Server>,
    /// The payment service.
    pub payments: PaymentService,
    /// Time.
    pub env: Env,
    /// Where data directories, ledger and logs are.
    pub folder: TempDir,
}

impl HostGroup {
    /// Starts hosts on the database at `url`, with further arguments of `segno serve`. Modules
    /// named `order` may call the payment service.
    ///
    /// # Panics
    /// A host does not come up; the message carries the end of its output.
    pub async fn start(
        binary: &str,
        url: &str,
        hosts: usize,
        payments: PaymentsOptions,
        arguments: &[&str],
    ) -> Self {
        let env = Env::system();
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let payments = PaymentService::start(folder.path(), payments, &env).await;
        let mut group = Self { hosts: Vec::new(), payments, env, folder };
        for number in 0..hosts {
            let options = group.options(binary, url, number, arguments);
            let started = Server::start(options, group.env.clone()).await;
            group.hosts.push(started.unwrap_or_else(|error| panic!("host {number}: {error}")));
        }
        group
    }

    /// How host `number` is run.
    ///
    /// # Panics
    /// The folder cannot be used, or there is no free port.
    pub fn options(
        &self,
        binary: &str,
        url: &str,
        number: usize,
        arguments: &[&str],
    ) -> ServerOptions {
        let own = self.folder.path().join(format!("host-{number}"));
        let mut options =
            ServerOptions::within(&own, Path::new(binary)).expect("a folder and a port");
        options.arguments =
            ["--store", url].iter().chain(arguments).map(ToString::to_string).collect();
        options.allow_http("order", self.payments.address()).expect("the policy can be written");
        options
    }

    /// A client of host `number`, modulo the number of hosts.
    pub fn client(&self, number: usize) -> &Client {
        self.hosts[number % self.hosts.len()].client()
    }

    /// Uploads `component` as `alias` for all of them.
    ///
    /// # Panics
    /// It is refused.
    pub async fn deploy(&self, alias: &str, component: Vec<u8>) {
        self.deploy_at(0, alias, component).await;
    }

    /// Uploads `component` as `alias` at host `number`.
    ///
    /// # Panics
    /// It refuses it.
    pub async fn deploy_at(&self, number: usize, alias: &str, component: Vec<u8>) {
        let deployed = self.client(number).deploy(component, Some(alias)).await;
        deployed.unwrap_or_else(|error| panic!("{alias}: {error}"));
    }
}
