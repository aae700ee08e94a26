//! `segno signal`.

use std::time::Duration;

use clap::Args;
use segno_api::model::{InvocationOutcome, SendSignal, SignalAccepted, StartFirst};
use segno_client::{Client, ClientError};
use serde_json::Value;

use super::{
    CliError, Console, Exit, budget, console::CYAN, input::read_json, polling::PollDeadline,
    result::wait_for, settle::waited_for, time::read_length,
};

/// Send a signal to an invocation
///
/// With --wait the exit code is that of `segno result` of the invocation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno signal order-1001 address-changed '{\"city\": \"Basel\"}'
  segno signal order-1001 nudge --key nudge-1   # sent twice with one key, it arrives once
  segno signal cart-7 add '\"tea\"' --start shop/cart   # starts cart-7 in the same step, if it is not there
  segno signal order-1001 approve true --wait 30s && segno result order-1001")]
pub(super) struct SignalArgs {
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
    /// Function to start in the same step, as MODULE/FUNCTION, if no invocation has this id
    #[arg(long, value_name = "FUNCTION")]
    start: Option<String>,
    /// Input of that function: JSON, @FILE, or - for standard input (default: null)
    #[arg(long, value_name = "JSON", requires = "start")]
    start_input: Option<String>,
    /// Budget of that execution and everything below it; may be repeated
    #[arg(long, value_name = "UNIT=AMOUNT", requires = "start")]
    start_budget: Vec<String>,
    /// Maximum wait for the invocation, if it does not exist yet, and then for its end
    #[arg(long, value_name = "LENGTH", value_parser = read_length)]
    wait: Option<Duration>,
}

/// The answer of a command that waited.
#[derive(serde::Serialize)]
struct SignalOutput<'a> {
    #[serde(flatten)]
    accepted: &'a SignalAccepted,
    invocation: &'a InvocationOutcome,
}

impl SignalArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let payload = self.payload.as_deref().map_or(Ok(Value::Null), read_json)?;
        let input = self.start_input.as_deref().map_or(Ok(Value::Null), read_json)?;
        let budget = budget::read(&self.start_budget)?;
        let start =
            self.start.map(|target| StartFirst { target, input, budget, ..StartFirst::default() });
        let signal = SendSignal { name: self.name, payload, key: self.key, start };
        let polling = PollDeadline::of(self.wait)?;
        let accepted =
            polling.ask(async || client.signal(&self.id, &signal).await, is_missing).await?;
        let invocation = match self.wait {
            Some(_) => {
                let _progress = console.progress(format!("waiting for {}", self.id));
                Some(wait_for(client, &self.id, Some(polling.left())).await?)
            }
            None => None,
        };
        if console.json() {
            match &invocation {
                Some(invocation) => {
                    console.document(&SignalOutput { accepted: &accepted, invocation })?
                }
                None => console.document(&accepted)?,
            }
        } else {
            let id = console.paint(CYAN, &accepted.id);
            let started = if accepted.started { "started, " } else { "" };
            console.line(format!("{id}  {started}signal {} `{}`", accepted.signal, signal.name))?;
        }
        match &invocation {
            Some(invocation) => waited_for(invocation, console),
            None => Ok(Exit::Done),
        }
    }
}

/// Returns true if the invocation may be created soon.
fn is_missing(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(problem) if problem.code == "unknown-invocation")
}
