//! `segno resolve` and `segno reject`.

use std::time::Duration;

use clap::Args;
use segno_api::model::{
    FailureView, InvocationOutcome, InvocationState, KeptFor, PromiseState, PromiseView, WaitKind,
};
use segno_client::{Client, ClientError};
use segno_core::tags;
use serde_json::Value;

use super::{
    CliError, Console, Exit,
    console::CYAN,
    input::read_json,
    polling::PollDeadline,
    result::{halted, wait_for},
    show::{failure_line, plain, state_style},
    text,
    time::read_length,
};

/// Settle a promise with a value
///
/// A promise settles once: a later attempt changes nothing and prints the first outcome. If that is
/// another than resolved, the exit code is that of `segno result` for it: 4, 5 or 6. With --wait
/// the exit code is that of `segno result` of the invocation.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno resolve order-1001/p/approval '{\"approved\": true}'
  segno resolve order-1001/p/approval @decision.json
  segno resolve order-1001/p/approval true --wait 30s && segno result order-1001
  segno resolve order-1001/3")]
pub(super) struct ResolveArgs {
    /// Id of the promise
    id: String,
    /// Value: JSON, @FILE, or - for standard input (default: null)
    #[arg(value_name = "JSON")]
    value: Option<String>,
    #[command(flatten)]
    then: SettleWaitArgs,
}

/// Settle a promise with a failure
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno reject order-1001/p/approval 'over the limit'
  segno reject order-1001/p/approval --message 'no stock' --code 409 --details '{\"sku\": 7}'")]
pub(super) struct RejectArgs {
    /// Id of the promise
    id: String,
    /// Message of the failure (default: rejected from outside)
    #[arg(value_name = "MESSAGE", conflicts_with = "named_message")]
    message: Option<String>,
    /// The same as MESSAGE
    #[arg(long = "message", short = 'm', value_name = "MESSAGE")]
    named_message: Option<String>,
    /// Code of the failure; 400 to 599 have the meaning that they have in HTTP
    #[arg(long, value_name = "N", default_value_t = 400)]
    code: u32,
    /// Further data for programs: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    details: Option<String>,
    #[command(flatten)]
    then: SettleWaitArgs,
}

/// Options for the time after the settlement.
#[derive(Debug, Args)]
struct SettleWaitArgs {
    /// Maximum wait for the promise to be created, if it does not exist yet, and then for the end
    /// of the invocation that created it
    #[arg(long, value_name = "LENGTH", value_parser = read_length)]
    wait: Option<Duration>,
}

/// The answer of a command that waited.
#[derive(serde::Serialize)]
struct SettleOutput<'a> {
    #[serde(flatten)]
    promise: &'a PromiseView,
    invocation: &'a InvocationOutcome,
}

impl ResolveArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let value = self.value.as_deref().map_or(Ok(Value::Null), read_json)?;
        self.then
            .settle(
                client,
                (&self.id, PromiseState::Resolved),
                async || client.resolve(&self.id, value.clone()).await,
                console,
            )
            .await
    }
}

impl RejectArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let details = self.details.as_deref().map(read_json).transpose()?;
        let message = self.message.or(self.named_message);
        let message = message.unwrap_or_else(|| "rejected from outside".to_owned());
        let failure = FailureView { code: self.code, message, details };
        self.then
            .settle(
                client,
                (&self.id, PromiseState::Rejected),
                async || client.reject(&self.id, failure.clone()).await,
                console,
            )
            .await
    }
}

impl SettleWaitArgs {
    async fn settle(
        &self,
        client: &Client,
        (id, wanted): (&str, PromiseState),
        settle: impl AsyncFn() -> Result<PromiseView, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let polling = PollDeadline::of(self.wait)?;
        let promise = match polling.ask(settle, is_missing).await {
            Err(error) if is_missing(&error) && !console.json() => {
                name_others(client, id, console).await;
                return Err(error.into());
            }
            promise => promise?,
        };
        let exit = match promise.state {
            state if state == wanted => Exit::Done,
            PromiseState::Resolved | PromiseState::Pending => Exit::Error,
            PromiseState::Rejected => Exit::Failed,
            PromiseState::Cancelled => Exit::Cancelled,
            PromiseState::TimedOut => Exit::TimedOut,
        };
        if self.wait.is_none() {
            settled(&promise, console)?;
            return Ok(exit);
        }
        let parent = promise.tags.get(tags::PARENT).map(String::as_str);
        let Some(owner) = promise.made_by.as_deref().or(parent) else {
            console.warn(&format!(
                "no invocation made `{}`, so there is none to wait for; leave out --wait",
                promise.id
            ));
            settled(&promise, console)?;
            return Ok(exit);
        };
        let invocation = {
            let _progress = console.progress(format!("waiting for {owner}"));
            wait_for(client, owner, Some(polling.left())).await?
        };
        if console.json() {
            console.document(&SettleOutput { promise: &promise, invocation: &invocation })?;
            return Ok(Exit::of(invocation.state));
        }
        settled(&promise, console)?;
        waited_for(&invocation, console)
    }
}

/// Prints the state of an invocation after the wait.
pub(super) fn waited_for(
    invocation: &InvocationOutcome,
    console: &mut Console,
) -> Result<Exit, CliError> {
    if !console.json() {
        let id = console.paint(CYAN, &invocation.id);
        let state = console.paint(state_style(invocation.state), invocation.state.as_str());
        console.line(format!("{id}  {state}"))?;
        if invocation.state == InvocationState::Halted {
            halted(invocation, console);
        } else if !invocation.state.is_settled() {
            let id = plain(&invocation.id);
            console.remark(&format!(
                "`{id}` has not ended within --wait; `segno inspect {id}` shows why"
            ));
        }
    }
    Ok(Exit::of(invocation.state))
}

/// Returns true if the promise may be created soon.
fn is_missing(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(problem) if problem.code == "unknown-promise")
}

/// After an unknown promise id, lists the promises that the invocation in that id waits for.
async fn name_others(client: &Client, id: &str, console: &mut Console) {
    let mut owner = id;
    while let Some((parent, _)) = owner.rsplit_once('/') {
        owner = parent;
        let Ok(invocation) = client.invocation(owner).await else { continue };
        let others = invocation.waits.iter().filter(|wait| wait.kind == WaitKind::Promise);
        let others: Vec<String> = others.map(|wait| format!("`{}`", plain(&wait.id))).collect();
        let owner = plain(owner);
        match others.as_slice() {
            [] => console.remark(&format!(
                "`{owner}` waits for no promise now; `segno why {owner}` says for what"
            )),
            others => console.remark(&format!("`{owner}` waits for {}", others.join(", "))),
        }
        return;
    }
}

/// Prints the outcome of a promise.
pub(super) fn settled(promise: &PromiseView, console: &mut Console) -> Result<Exit, CliError> {
    if console.json() {
        console.document(promise)?;
        return Ok(Exit::Done);
    }
    let PromiseView { id, state, value, failure, changed, .. } = promise;
    PromiseStatus { id, state: *state, value: value.as_ref(), failure: failure.as_ref() }
        .print(*changed, console)?;
    if let Some(kept) = &promise.kept_for {
        say_kept(kept, console);
    }
    Ok(Exit::Done)
}

/// Reports that a workflow has not created the promise yet, and if it can.
fn say_kept(kept: &KeptFor, console: &mut Console) {
    let KeptFor { invocation, name, declares } = kept;
    let (of, name) = (plain(invocation), plain(name));
    if declares.is_empty() || declares.contains(&kept.name) {
        console.remark(&format!(
            "`{of}` has not created `{name}` yet: the outcome is kept until it does (`segno inspect {of}` lists what is kept)"
        ));
        return;
    }
    let declares: Vec<String> = declares.iter().map(|one| format!("`{}`", plain(one))).collect();
    console.warn(&format!(
        "`{of}` has not created `{name}`, and its module declares {} only: the outcome is kept, but may never be read",
        declares.join(", ")
    ));
}

/// The status of a promise.
pub(super) struct PromiseStatus<'a> {
    pub(super) id: &'a str,
    pub(super) state: PromiseState,
    pub(super) value: Option<&'a Value>,
    pub(super) failure: Option<&'a FailureView>,
}

impl PromiseStatus<'_> {
    /// Prints the status as one line; `changed` is true if this request settled the promise.
    pub(super) fn print(
        &self,
        changed: Option<bool>,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let id = console.paint(CYAN, &plain(self.id));
        let state = self.state.as_str();
        let beside = text::width(self.id) + state.len() + 4;
        let outcome = match (self.value, self.failure) {
            (_, Some(failure)) => failure_line(failure),
            (Some(value), None) => console.fit(&value.to_string(), beside),
            (None, None) => String::new(),
        };
        if changed == Some(false) {
            console.warn("it was settled before; the first outcome stays");
        }
        console.line(format!("{id}  {state}  {outcome}").trim_end())
    }
}
