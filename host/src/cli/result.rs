//! `segno result`.

use std::time::Duration;

use clap::Args;
use segno_api::model::{InvocationOutcome, InvocationState};
use segno_client::Client;

use super::{
    CliError, Console, Exit,
    show::plain_lines,
    time::{as_ms, now_ms, read_length},
};

/// Durations of the first long poll, and of the longest. The end of an invocation is noticed
/// immediately; a halt only between two polls.
const POLLS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(5)];

/// Print the outcome of an invocation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno result order-1001
  segno result order-1001 --wait 5m | jq .receipt

The exit code says how it ended: 0 resolved, 4 rejected, 5 cancelled, 6 timed out, halted, or still running.")]
pub(super) struct ResultArgs {
    /// Id of the invocation
    id: String,
    /// Maximum wait for the end
    #[arg(long, value_name = "LENGTH", value_parser = read_length)]
    wait: Option<Duration>,
}

impl ResultArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let invocation = match self.wait {
            Some(limit) => {
                let _progress = console.progress(format!("waiting for {}", self.id));
                wait_for(client, &self.id, Some(limit)).await?
            }
            None => client.wait(&self.id, Duration::ZERO).await?,
        };
        answer(&invocation, console)
    }
}

/// Waits until the invocation has ended or is halted. Returns its state after `limit` at the
/// latest.
pub(super) async fn wait_for(
    client: &Client,
    id: &str,
    limit: Option<Duration>,
) -> Result<InvocationOutcome, CliError> {
    let until = match limit {
        Some(limit) => now_ms().saturating_add(i64::try_from(as_ms(limit)?).unwrap_or(i64::MAX)),
        None => i64::MAX,
    };
    let [mut poll, longest] = POLLS;
    loop {
        let left = u64::try_from(until.saturating_sub(now_ms())).unwrap_or(0);
        let invocation = client.wait(id, poll.min(Duration::from_millis(left))).await?;
        poll = (poll * 2).min(longest);
        // A halted invocation needs a person, so the wait ends.
        let halted = invocation.state == InvocationState::Halted;
        if invocation.state.is_settled() || halted || now_ms() >= until {
            return Ok(invocation);
        }
    }
}

/// Prints the outcome of an invocation and returns its exit code.
pub(super) fn answer(
    invocation: &InvocationOutcome,
    console: &mut Console,
) -> Result<Exit, CliError> {
    if console.json() {
        console.document(invocation)?;
        return Ok(Exit::of(invocation.state));
    }
    let id = &invocation.id;
    match (invocation.state, &invocation.output, &invocation.failure) {
        (InvocationState::Resolved, Some(output), _) => console.document(output)?,
        (InvocationState::Resolved, None, _) => console.document(&())?,
        (_, _, Some(failure)) if invocation.killed => {
            console.remark(&format!("`{id}` was killed (code {})", failure.code));
        }
        (state, _, Some(failure)) => {
            console
                .remark(&format!("`{id}` is {state}: {} (code {})", failure.message, failure.code));
            if let Some(details) = &failure.details {
                console.remark(&format!("{details:#}"));
            }
        }
        (InvocationState::Rejected, Some(output), None) => {
            console.remark(&format!("`{id}` is rejected: {output}"));
        }
        (state, _, None) if state.is_settled() => console.remark(&format!("`{id}` is {state}")),
        (InvocationState::Halted, ..) => halted(invocation, console),
        (state, ..) => {
            console.remark(&format!(
                "`{id}` has not ended: it is {state}; `segno inspect {id}` shows why"
            ));
        }
    }
    Ok(Exit::of(invocation.state))
}

/// Says why an invocation is halted.
pub(super) fn halted(invocation: &InvocationOutcome, console: &mut Console) {
    let why = invocation.note.as_ref().map_or("no reason is known", |note| &note.message);
    let (id, why) = (&invocation.id, plain_lines(why, 2));
    console.remark(&format!("`{id}` is halted: {why}; `segno inspect {id}` shows more"));
}
