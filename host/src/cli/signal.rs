//! `segno signal`.

use clap::Args;
use serde_json::Value;

use super::{CliError, Console, Exit, console::CYAN, input::read_json};
use crate::{api::model::SendSignal, client::Client};

/// Send a signal to an invocation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno signal order-1001 address-changed '{\"city\": \"Basel\"}'
  segno signal order-1001 nudge --key nudge-1   # sent twice with one key, it arrives once")]
pub struct Signal {
    /// Id of the invocation
    id: String,
    /// Name of the signal, by which the function receives it
    name: String,
    /// Payload: JSON, @FILE, or - for standard input (default: null)
    #[arg(value_name = "JSON")]
    payload: Option<String>,
    /// Key for repetitions: the same key again sends nothing
    #[arg(long)]
    key: Option<String>,
}

impl Signal {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let payload = self.payload.as_deref().map_or(Ok(Value::Null), read_json)?;
        let signal = SendSignal { name: self.name, payload, key: self.key };
        let accepted = client.signal(&self.id, &signal).await?;
        if console.json() {
            console.document(&accepted)?;
        } else {
            let id = console.paint(CYAN, &accepted.id);
            console.line(format!("{id}  signal {} `{}`", accepted.signal, signal.name))?;
        }
        Ok(Exit::Done)
    }
}
