//! Commands with a host that listens on loopback; no worker runs, so promises are settled manually.

mod usage;

mod damage;
mod graphs;
mod invocations;
mod limits;
mod modules;
mod promises;
mod ready;
mod resources;
mod runs;
mod sagas;
mod schedules;
mod tree;
mod why;
mod width;

mod store;

use std::sync::{Arc, Mutex, PoisonError};

use segno_api::{serve, testing::ApiWorld};
use serde_json::Value;
use tokio::net::TcpListener;

use super::{Cli, Console, Exit};

/// The written bytes.
#[derive(Clone, Default)]
pub(super) struct WrittenBytes(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for WrittenBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl WrittenBytes {
    pub(super) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The exit code and the output of a command.
#[derive(Debug)]
struct CommandOutput {
    exit: Exit,
    out: String,
    err: String,
}

impl CommandOutput {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect("JSON on standard output")
    }
}

async fn run(server: &str, arguments: &[&str]) -> CommandOutput {
    run_in(None, server, arguments).await
}

/// Runs a command on a terminal of this width.
async fn run_in(columns: Option<usize>, server: &str, arguments: &[&str]) -> CommandOutput {
    let given: Vec<&str> =
        ["segno", "--server", server].into_iter().chain(arguments.iter().copied()).collect();
    let cli = Cli::read(given).expect("the arguments are right");
    let (out, err) = (WrittenBytes::default(), WrittenBytes::default());
    let mut console = Console::plain(out.clone(), err.clone(), cli.json());
    if let Some(columns) = columns.filter(|_| !cli.full()) {
        console = console.of_width(columns);
    }
    let exit = cli.run(&mut console).await;
    CommandOutput { exit, out: out.text(), err: err.text() }
}

/// A host with the module `shop`, and its address.
pub(super) async fn host() -> (ApiWorld, String) {
    served(ApiWorld::shop().await).await
}

/// A listening host, and its address.
async fn served(world: ApiWorld) -> (ApiWorld, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let served = serve(listener, world.api.clone(), std::future::pending());
    world.api.host.env.runtime.spawn("server", Box::pin(served));
    (world, server)
}
