//! Results that replace recorded ones, given on the command line, and the policy for commands
//! without a recorded answer.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use segno_api::model::{FailureView, GivenResult, UnansweredPolicy};

use super::{CliError, input::read_json};

/// The options for results in place of recorded ones.
#[derive(Debug, Args)]
pub(super) struct GivenOptions {
    /// Give command K another result than it had, or one if it had none at that place: JSON, @FILE,
    /// or - for standard input
    #[arg(long, value_name = "K=JSON", value_parser = read_command)]
    set: Vec<(u32, String)>,
    /// Let command K fail: with this message and code 500, or as {"code", "message", "details"}
    #[arg(long, value_name = "K=TEXT|JSON", value_parser = read_command)]
    fail: Vec<(u32, String)>,
}

impl GivenOptions {
    /// The results, by command.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(super) fn results(&self) -> Result<Vec<GivenResult>, CliError> {
        let mut results = Vec::new();
        for (command, json) in &self.set {
            let value = Some(read_json(json)?);
            results.push(GivenResult { command: *command, value, failure: None });
        }
        for (command, text) in &self.fail {
            let failure = Some(failure(text)?);
            results.push(GivenResult { command: *command, value: None, failure });
        }
        Ok(results)
    }
}

/// The parser of the policy's name.
pub(super) fn policy_parser() -> impl clap::builder::TypedValueParser<Value = UnansweredPolicy> {
    let named = |name: String| UnansweredPolicy::ALL.into_iter().find(|it| it.as_str() == name);
    PossibleValuesParser::new(UnansweredPolicy::ALL.map(UnansweredPolicy::as_str))
        .map(move |name| named(name).unwrap_or_default())
}

/// Parses `K=…`.
fn read_command(text: &str) -> Result<(u32, String), String> {
    let (command, result) = text.split_once('=').ok_or("write it as K=JSON")?;
    let command = command.trim_start_matches('#').parse();
    let command = command.map_err(|_| "K is the number of a command, as in `#3`".to_owned())?;
    Ok((command, result.to_owned()))
}

fn failure(text: &str) -> Result<FailureView, CliError> {
    let is_object = text.trim_start().starts_with('{') || text.starts_with('@') || text == "-";
    if !is_object {
        return Ok(FailureView { code: 500, message: text.to_owned(), details: None });
    }
    serde_json::from_value(read_json(text)?).map_err(|error| {
        CliError::Usage(format!(
            "a failure is a text, or {{\"code\": NUMBER, \"message\": TEXT, \"details\": …}}: {error}"
        ))
    })
}
