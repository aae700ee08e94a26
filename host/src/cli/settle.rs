//! `segno resolve` and `segno reject`.

use clap::Args;
use serde_json::Value;

use super::{
    CliError, Console, Exit,
    console::CYAN,
    input::read_json,
    show::{failure_line, one_line},
};
use crate::{
    api::model::{FailureView, PromiseView},
    client::Client,
};

/// Settle a promise with a value
///
/// A promise settles once: a later attempt changes nothing and prints the first outcome.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno resolve order-1001/p/approval '{\"approved\": true}'
  segno resolve order-1001/p/approval @decision.json
  segno resolve order-1001/3")]
pub struct Resolve {
    /// Id of the promise
    id: String,
    /// Value: JSON, @FILE, or - for standard input (default: null)
    #[arg(value_name = "JSON")]
    value: Option<String>,
}

/// Settle a promise with a failure
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno reject order-1001/p/approval --message 'over the limit'
  segno reject order-1001/p/approval --message 'no stock' --code 409 --details '{\"sku\": 7}'")]
pub struct Reject {
    /// Id of the promise
    id: String,
    /// Message of the failure
    #[arg(long, short, default_value = "rejected from outside")]
    message: String,
    /// Code of the failure; 400 to 599 have the meaning that they have in HTTP
    #[arg(long, value_name = "N", default_value_t = 400)]
    code: u32,
    /// Further data for programs: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    details: Option<String>,
}

impl Resolve {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let value = self.value.as_deref().map_or(Ok(Value::Null), read_json)?;
        settled(&client.resolve(&self.id, value).await?, console)
    }
}

impl Reject {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let details = self.details.as_deref().map(read_json).transpose()?;
        let failure = FailureView { code: self.code, message: self.message, details };
        settled(&client.reject(&self.id, failure).await?, console)
    }
}

/// Prints the outcome of a promise.
pub(super) fn settled(promise: &PromiseView, console: &mut Console) -> Result<Exit, CliError> {
    if console.json() {
        console.document(promise)?;
        return Ok(Exit::Done);
    }
    let id = console.paint(CYAN, &promise.id);
    let outcome = match (&promise.value, &promise.failure) {
        (_, Some(failure)) => failure_line(failure, 80),
        (Some(value), None) => one_line(value, 80),
        (None, None) => String::new(),
    };
    let state = promise.state.as_str();
    if promise.changed == Some(false) {
        console.warn("it was settled before; the first outcome stays");
    }
    console.line(format!("{id}  {state}  {outcome}").trim_end())?;
    Ok(Exit::Done)
}
