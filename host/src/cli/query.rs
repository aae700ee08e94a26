//! `segno query`.

use clap::Args;
use segno_api::model::SendQuery;
use segno_client::Client;
use serde_json::Value;

use super::{CliError, Console, Exit, input::read_json};

/// Query a workflow, in any state
///
/// The workflow may run, wait, be halted, or have ended. Nothing is changed, and its journal gets no
/// record. `segno modules NAME` lists the queries of a module's functions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno query order-1001 progress
  segno query order-1001 has-item '\"tea\"'
  segno query order-1001 progress --at 7        # as it was when its journal had 7 records")]
pub(super) struct QueryArgs {
    /// Id of the invocation
    id: String,
    /// Name of the query
    name: String,
    /// Input: JSON, @FILE, or - for standard input (default: null)
    #[arg(value_name = "JSON")]
    input: Option<String>,
    /// Query the workflow as it was when its journal had this number of records
    #[arg(long, value_name = "RECORDS", value_parser = clap::value_parser!(u32).range(1..))]
    at: Option<u32>,
}

impl QueryArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let input = self.input.as_deref().map_or(Ok(Value::Null), read_json)?;
        let query = SendQuery { input, at: self.at };
        let progress = console.progress(format!("asking {}", self.id));
        let answer = client.query(&self.id, &self.name, &query).await;
        drop(progress);
        let answer = answer?;
        if console.json() {
            console.document(&answer)?;
            return Ok(Exit::Done);
        }
        if answer.records < answer.journal_len {
            console.warn(&format!(
                "this is as of record {} of {}: the code does not get further; `segno replay {}` shows why",
                answer.records, answer.journal_len, answer.id
            ));
        }
        console.document(&answer.value)?;
        Ok(Exit::Done)
    }
}
