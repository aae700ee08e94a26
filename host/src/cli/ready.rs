//! `segno ready`.

use clap::Args;
use serde_json::json;

use super::{CliError, Console, Exit, console::GREEN};
use crate::client::Client;

/// Check whether a host takes work
///
/// The exit code is 0 if it does, 1 if it does not (the reason is printed), and 8 if no host
/// answers: for scripts, and for the health check of a container.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno ready && segno deploy . --as shop
  segno ready --server http://127.0.0.1:7766")]
pub struct Ready {}

impl Ready {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let readiness = client.ready().await?;
        let version = client.health().await?.version;
        if console.json() {
            console.document(&json!({ "status": readiness.status, "version": version }))?;
        } else {
            let status = console.paint(GREEN, &readiness.status);
            console.line(format!("{status}  {}, version {version}", client.server()))?;
        }
        Ok(Exit::Done)
    }
}
