//! `segno start`.

use std::time::Duration;

use clap::Args;
use segno_api::model::{InvocationState, StartInvocation, StartRetry, Started};
use segno_client::Client;
use serde_json::Value;

use super::{
    CliError, Console, Exit, behind, budget,
    console::{CYAN, DIM},
    input::{read_json, read_label},
    show::plain,
    time::{as_ms, now_ms, read_instant, read_limit},
};

/// Start a function and return immediately
///
/// The same id again starts nothing: the command prints the first execution. If that one has ended,
/// the exit code is that of `segno result`; if it was started with another target or input, only an
/// error is printed, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno start shop/order '{\"order\": 1001}' --id order-1001
  segno start shop/order @order.json --timeout 2h
  jq .order big.json | segno start shop/order -
  segno start reminders/remind --delay 3days --label customer=42")]
pub(super) struct StartArgs {
    #[command(flatten)]
    what: InvocationArgs,
    /// Refused: `segno call` waits.
    #[arg(long, hide = true, value_name = "LENGTH", num_args = 0..=1)]
    wait: Option<Option<String>>,
}

/// The parameters of a start; shared with `call`.
#[derive(Debug, Args)]
pub(super) struct InvocationArgs {
    /// Function, as MODULE/FUNCTION
    #[arg(value_name = "MODULE/FUNCTION")]
    target: String,
    /// Input: JSON, @FILE, or - for standard input (default: null)
    #[arg(value_name = "INPUT", conflicts_with = "named_input")]
    input: Option<String>,
    /// The same as INPUT
    #[arg(long = "input", short = 'i', value_name = "JSON")]
    named_input: Option<String>,
    /// Id of the invocation (default: generated)
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Time limit, from now
    #[arg(long, value_name = "LENGTH", value_parser = read_limit)]
    timeout: Option<Duration>,
    /// Time limit of each attempt of an activity
    #[arg(long, value_name = "LENGTH", value_parser = read_limit)]
    attempt_timeout: Option<Duration>,
    /// Maximum number of attempts of an activity (default: the function's own)
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// Earliest start
    #[arg(long, value_name = "INSTANT", value_parser = read_instant, conflicts_with = "delay")]
    at: Option<i64>,
    /// Delay of the start, from now
    #[arg(long, value_name = "LENGTH", value_parser = read_limit)]
    delay: Option<Duration>,
    /// Budget of the invocation and everything below it; may be repeated
    #[arg(long = "budget", value_name = "UNIT=AMOUNT")]
    budget: Vec<String>,
    /// Label of the invocation; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = read_label)]
    labels: Vec<(String, String)>,
}

impl InvocationArgs {
    pub(super) fn request(&self, wait: Option<Duration>) -> Result<StartInvocation, CliError> {
        let input = self.input.as_deref().or(self.named_input.as_deref());
        let input = input.map_or(Ok(Value::Null), read_json)?;
        let delayed = match self.delay {
            Some(delay) => {
                let delay = i64::try_from(as_ms(delay)?).unwrap_or(i64::MAX);
                Some(now_ms().saturating_add(delay))
            }
            None => self.at,
        };
        Ok(StartInvocation {
            id: self.id.clone(),
            target: self.target.clone(),
            input,
            timeout_ms: self.timeout.map(as_ms).transpose()?,
            start_at_ms: delayed,
            labels: self.labels.iter().cloned().collect(),
            budget: budget::read(&self.budget)?,
            wait_ms: wait.map(as_ms).transpose()?,
            retry: self
                .max_attempts
                .map(|most| StartRetry { max_attempts: Some(most), ..StartRetry::default() }),
            attempt_timeout_ms: self.attempt_timeout.map(as_ms).transpose()?,
        })
    }
}

impl StartArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        if self.wait.is_some() {
            return Err(CliError::Usage(
                "`segno start` does not wait for the end; `segno call` takes the same arguments, waits and prints the output"
                    .to_owned(),
            ));
        }
        let started = client.start(&self.what.request(None)?).await?;
        report(&started, "started", console)
    }
}

/// Prints the result of a start; `how` is the text for a new invocation.
pub(super) fn report(
    started: &Started,
    how: &str,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let (id, state) = (&started.id, started.invocation.state);
    let is_over = !started.created && state.is_settled();
    let unbegun = unbegun(started);
    let exit = match is_over || unbegun.is_some() {
        true => Exit::of(state),
        false => Exit::Done,
    };
    if let Some(why) = unbegun {
        console.warn(&plain(why));
    } else if is_over {
        console.warn(&format!(
            "nothing was started: `{id}` ended before (`segno result {id}` shows its outcome); give another --id to start the function again"
        ));
    }
    if console.json() {
        console.document(started)?;
        return Ok(exit);
    }
    let id = console.paint(CYAN, id);
    let how = match (started.created, &started.behind) {
        (true, _) if unbegun.is_some() => "does not begin".to_owned(),
        (true, Some(limit)) => format!("waits behind the limit of {}", behind::name(limit)),
        (true, None) => how.to_owned(),
        (false, Some(_)) => format!("exists, {state} behind a limit"),
        (false, None) => format!("exists, {state}"),
    };
    let how = console.paint(DIM, &how);
    console.line(format!("{id}  {how}"))?;
    Ok(exit)
}

/// The reason that a new invocation does not begin: its key has another one (`singleton`).
fn unbegun(started: &Started) -> Option<&str> {
    let failure = started.invocation.failure.as_ref();
    let of_limit = failure.filter(|failure| {
        let names_other = |details: &Value| details.get("other").is_some_and(Value::is_string);
        failure.code == 409 && failure.details.as_ref().is_some_and(names_other)
    });
    let is_new = started.created && started.invocation.state == InvocationState::Rejected;
    of_limit.filter(|_| is_new).map(|failure| failure.message.as_str())
}
