//! Several hosts on one PostgreSQL database, with one payment service.

use std::path::Path;

use segno_client::Client;
use segno_demo::{
    payments::PaymentsOptions,
    server::{DemoServer, ServerOptions},
};
use segno_env::Env;
use tempfile::TempDir;

use crate::payments::PaymentService;

/// The hosts of one test. They are stopped before the folder is removed.
pub struct HostGroup {
    pub hosts: Vec<DemoServer>,
    pub payments: PaymentService,
    pub env: Env,
    /// Folder of data directories, ledger and logs.
    pub folder: TempDir,
}

impl HostGroup {
    /// Starts hosts on the database at `url`, with additional arguments of `segno serve`. Modules
    /// named `order` may call the payment service.
    ///
    /// # Panics
    /// If a host does not start. The message has the end of its output.
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
            let started = DemoServer::start(options, group.env.clone()).await;
            group.hosts.push(started.unwrap_or_else(|error| panic!("host {number}: {error}")));
        }
        group
    }

    /// Options of host `number`.
    ///
    /// # Panics
    /// If the folder cannot be used, or there is no free port.
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

    /// Client of host `number`, modulo the number of hosts.
    pub fn client(&self, number: usize) -> &Client {
        self.hosts[number % self.hosts.len()].client()
    }

    /// Uploads `component` as `alias` for all hosts.
    ///
    /// # Panics
    /// If the upload is refused.
    pub async fn deploy(&self, alias: &str, component: Vec<u8>) {
        self.deploy_at(0, alias, component).await;
    }

    /// Uploads `component` as `alias` at host `number`.
    ///
    /// # Panics
    /// If the host refuses the upload.
    pub async fn deploy_at(&self, number: usize, alias: &str, component: Vec<u8>) {
        let deployed = self.client(number).deploy(component, Some(alias)).await;
        deployed.unwrap_or_else(|error| panic!("{alias}: {error}"));
    }
}
