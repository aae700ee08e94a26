//! `segno update`.

use std::time::Duration;

use clap::Args;
use segno_api::model::{SendUpdate, StartFirst, UpdateAnswer, UpdateState, UpdateWait};
use segno_client::Client;
use serde_json::Value;

use super::{
    CliError, Console, Exit, budget,
    input::read_json,
    time::{as_ms, read_length},
};

/// Send an update to a workflow, and print its answer
///
/// The workflow validates the update first; one that it refuses leaves no trace.
/// `segno modules NAME` lists the updates of a module's functions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno update order-1001 add-item '{\"sku\": \"tea\"}'
  segno update order-1001 add-item @item.json --key item-7   # sent twice with one key, it is done once
  segno update order-1001 close --accepted                   # do not wait for the answer
  segno update cart-7 add '\"tea\"' --start shop/cart --start-input '{\"for\": \"ada\"}'   # start it if it is not there

The exit code is 0 if the workflow answered (with --accepted: if it took the update), 4 if it answered with a failure or
ended before it answered, 6 if it had not answered after --wait, and 1 if it refused.")]
pub(super) struct UpdateArgs {
    /// Id of the invocation
    id: String,
    /// Name of the update
    name: String,
    /// Input: JSON, @FILE, or - for standard input (default: null)
    #[arg(value_name = "JSON")]
    input: Option<String>,
    /// Key for repetitions: the same key again is the same update
    #[arg(long)]
    key: Option<String>,
    /// Function that is started first, under this id, if the invocation does not exist
    #[arg(long, value_name = "MODULE/FUNCTION")]
    start: Option<String>,
    /// Input of that function: JSON, or @FILE (default: null)
    #[arg(long, value_name = "JSON", requires = "start")]
    start_input: Option<String>,
    /// Budget of that execution and everything below it; may be repeated
    #[arg(long, value_name = "UNIT=AMOUNT", requires = "start")]
    start_budget: Vec<String>,
    /// Wait only until the update is accepted
    #[arg(long)]
    accepted: bool,
    /// Maximum wait for the answer; the update continues beyond it
    #[arg(long, value_name = "LENGTH", value_parser = read_length, default_value = "30s")]
    wait: Duration,
}

impl UpdateArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let input = self.input.as_deref().map_or(Ok(Value::Null), read_json)?;
        let wait = if self.accepted { UpdateWait::Accepted } else { UpdateWait::Completed };
        let timeout_ms = Some(as_ms(self.wait)?);
        let start_input = self.start_input.as_deref().map_or(Ok(Value::Null), read_json)?;
        let budget = budget::read(&self.start_budget)?;
        let start = self.start.map(|target| StartFirst {
            target,
            input: start_input,
            budget,
            ..StartFirst::default()
        });
        let update = SendUpdate { input, key: self.key, start, wait, timeout_ms };
        let progress = console.progress(format!("waiting for {}", self.id));
        let answer = client.update(&self.id, &self.name, &update).await;
        drop(progress);
        shown(&answer?, self.accepted, console)
    }
}

fn shown(answer: &UpdateAnswer, is_enough: bool, console: &mut Console) -> Result<Exit, CliError> {
    let exit = match answer.state {
        UpdateState::Completed => Exit::Done,
        UpdateState::Failed => Exit::Failed,
        UpdateState::Accepted if is_enough => Exit::Done,
        UpdateState::Accepted => Exit::TimedOut,
    };
    if console.json() {
        console.document(answer)?;
        return Ok(exit);
    }
    let UpdateAnswer { id, name, promise, .. } = answer;
    match (answer.state, &answer.failure) {
        (UpdateState::Completed, _) => {
            console.document(answer.output.as_ref().unwrap_or(&Value::Null))?;
        }
        (UpdateState::Accepted, _) => console.remark(&format!(
            "`{id}` has accepted `{name}`; `segno promise get {promise}` prints its answer"
        )),
        (UpdateState::Failed, failure) => {
            let (code, why) =
                failure.as_ref().map_or((500, ""), |failure| (failure.code, &failure.message));
            console.remark(&format!("`{name}` failed: {why} (code {code})"));
            if let Some(details) = failure.as_ref().and_then(|failure| failure.details.as_ref()) {
                console.remark(&format!("{details:#}"));
            }
        }
    }
    Ok(exit)
}
