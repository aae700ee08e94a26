//! `segno signal`.

use clap::Args;
use serde_json::Value;

use super::{CliError, Console, Exit, console::CYAN, input::read_json};
use crate::{
    api::model::{SendSignal, StartFirst},
    client::Client,
};

/// Send a signal to an invocation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno signal order-1001 address-changed '{\"city\": \"Basel\"}'
  segno signal order-1001 nudge --key nudge-1   # sent twice with one key, it arrives once
  segno signal cart-7 add '\"tea\"' --start shop/cart   # starts cart-7 in the same step, if it is not there")]
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
    /// Function that is started in the same step, as MODULE/FUNCTION, if there is no invocation of this id
    #[arg(long, value_name = "FUNCTION")]
    start: Option<String>,
    /// Its input: JSON, @FILE, or - for standard input (default: null)
    #[arg(long, value_name = "JSON", requires = "start")]
    start_input: Option<String>,
}

impl Signal {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let payload = self.payload.as_deref().map_or(Ok(Value::Null), read_json)?;
        let input = self.start_input.as_deref().map_or(Ok(Value::Null), read_json)?;
        let start = self.start.map(|target| StartFirst { target, input, ..StartFirst::default() });
        let signal = SendSignal { name: self.name, payload, key: self.key, start };
        let accepted = client.signal(&self.id, &signal).await?;
        if console.json() {
            console.document(&accepted)?;
        } else {
            let id = console.paint(CYAN, &accepted.id);
            let started = if accepted.started { "started, " } else { "" };
            console.line(format!("{id}  {started}signal {} `{}`", accepted.signal, signal.name))?;
        }
        Ok(Exit::Done)
    }
}
