//! The border: checks values that a guest hands over, before anything stores them. Payloads must be
//! [JSON](segno_core::json), and numbers in options must be finite.
//!
//! Replayed values are not checked again, so journals of hosts with weaker checks stay readable.

use segno_core::json;

use super::{
    StopReason,
    commands::{
        AppendStreamCommand, CallCommand, ContinueAsNewCommand, GuestCommand, HttpCommand,
        PublishCommand, SendCommand, SendSignalCommand, SetStateCommand, SettleCommand,
        SettleObjectPromiseCommand, StepCommand,
    },
    contract::{CallOptions, Failure, Outcome, Payload, RetryOptions},
};

/// Checks a command that is issued for the first time.
///
/// # Errors
/// [`StopReason::Contract`] names the command, the place and the reason.
pub fn command(command: &GuestCommand) -> Result<(), StopReason> {
    command.check().map_err(StopReason::Contract)
}

/// Checks the result of a `run` that was executed.
///
/// # Errors
/// [`StopReason::Contract`], as for commands.
pub fn run_result(command: u32, outcome: &Outcome) -> Result<(), StopReason> {
    let place = || format!("result of the `run` with index {command}");
    outcome_is_json(outcome, place).map_err(StopReason::Contract)
}

/// Checks the result of an invocation.
///
/// # Errors
/// [`StopReason::Contract`], as for commands.
pub fn result(outcome: &Outcome) -> Result<(), StopReason> {
    outcome_is_json(outcome, || "result".to_owned()).map_err(StopReason::Contract)
}

impl GuestCommand {
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Call(call) | Self::Send(SendCommand(call)) => call.check(),
            Self::SagaCall(step) => step.command.check(),
            Self::Undo(undo) => undo.call.check(),
            Self::Http(http) => http.check(),
            Self::SagaHttp(step) => {
                let StepCommand { command, .. } = &**step;
                command.check()
            }
            Self::Settle(SettleCommand { promise_id, outcome }) => {
                outcome_is_json(outcome, || format!("outcome for promise `{promise_id}`"))
            }
            Self::SettleObjectPromise(SettleObjectPromiseCommand { name, outcome }) => {
                outcome_is_json(outcome, || format!("outcome for promise `{name}` of the object"))
            }
            Self::Publish(PublishCommand { topic, payload }) => {
                is_json(payload, || format!("event on topic `{topic}`"))
            }
            Self::SetState(SetStateCommand { name, value }) => {
                is_json(value, || format!("value of state `{name}`"))
            }
            Self::SendSignal(SendSignalCommand { name, payload, .. }) => {
                is_json(payload, || format!("value of signal `{name}`"))
            }
            Self::ContinueAsNew(ContinueAsNewCommand { input, .. }) => {
                is_json(input, || "input of the next generation".to_owned())
            }
            Self::AppendStream(AppendStreamCommand { name, item, .. }) => {
                is_json(item, || format!("item of the stream `{name}`"))
            }
            Self::Sleep(_)
            | Self::CloseStream(_)
            | Self::Unread(_)
            | Self::Promise(_)
            | Self::Cancel(_)
            | Self::Run(_)
            | Self::AskAboutStep(_)
            | Self::GetState(_)
            | Self::StateNames(_)
            | Self::ClearState(_)
            | Self::ClearAllState(_)
            | Self::WaitObjectPromise(_)
            | Self::PeekObjectPromise(_) => Ok(()),
        }
    }
}

impl CallCommand {
    fn check(&self) -> Result<(), String> {
        is_json(&self.input, || format!("input of `{}`", self.function))?;
        options_are_finite(&self.options, || format!("call of `{}`", self.function))
    }
}

impl HttpCommand {
    fn check(&self) -> Result<(), String> {
        let place = || format!("HTTP request to `{}`", self.request.url);
        if let Some(body) = &self.request.body {
            is_json(body, || format!("body of the {}", place()))?;
        }
        options_are_finite(&self.options, place)
    }
}

/// Checks that a payload is JSON. An empty text is accepted as `null`, as in earlier versions.
pub(super) fn is_json(payload: &Payload, place: impl FnOnce() -> String) -> Result<(), String> {
    match payload {
        Payload::Json(text) if !text.trim_ascii().is_empty() => {
            json::check(text).map_err(|reason| format!("the {} is not JSON: {reason}", place()))
        }
        Payload::Json(_) | Payload::Bytes(_) => Ok(()),
    }
}

pub(super) fn outcome_is_json(
    outcome: &Outcome,
    place: impl FnOnce() -> String,
) -> Result<(), String> {
    match outcome {
        Outcome::Success(value) => is_json(value, place),
        Outcome::Failure(failure) => failure_is_json(failure, place),
    }
}

pub(super) fn failure_is_json(
    failure: &Failure,
    place: impl FnOnce() -> String,
) -> Result<(), String> {
    let details = failure.details.as_ref();
    details.map_or(Ok(()), |details| is_json(details, || format!("details of the {}", place())))
}

fn options_are_finite(options: &CallOptions, place: impl FnOnce() -> String) -> Result<(), String> {
    match options.retry.as_ref().and_then(not_finite) {
        Some(reason) => Err(format!("the {}: {reason}", place())),
        None => Ok(()),
    }
}

/// Describes the number of a retry policy that is not finite. `None` if all are finite.
pub(super) fn not_finite(retry: &RetryOptions) -> Option<String> {
    let numbers = [("factor", retry.factor), ("jitter", retry.jitter)];
    let (name, number) = numbers.into_iter().find(|(_, number)| !number.is_finite())?;
    Some(format!("its `retry.{name}` is {number}, and has to be a finite number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::HttpRequest;

    fn json(text: &str) -> Payload {
        Payload::Json(text.to_owned())
    }

    fn options(retry: Option<RetryOptions>) -> CallOptions {
        CallOptions { timeout_ms: None, start_at_ms: None, retry, labels: Vec::new() }
    }

    fn call(text: &str) -> CallCommand {
        CallCommand { function: "echo".to_owned(), input: json(text), options: options(None) }
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_command_and_place() {
        let failure = |text| {
            Outcome::Failure(Failure { code: 1, message: "no".into(), details: Some(json(text)) })
        };
        let success = |text| Outcome::Success(json(text));
        let request = HttpRequest {
            method: "POST".to_owned(),
            url: "http://a/".to_owned(),
            headers: Vec::new(),
            body: Some(json("{'a': 1}")),
        };
        let retry = |factor, jitter| RetryOptions {
            initial_ms: 1,
            factor,
            max_ms: 1,
            jitter,
            max_attempts: None,
            non_retryable: Vec::new(),
        };
        let with = |policy| CallCommand { options: options(Some(policy)), ..call("1") };
        let (name, id) = (|| "n".to_owned(), "p".to_owned());
        let commands: [(GuestCommand, &str); 10] = [
            (call("NaN").into(), "the input of `echo` is not JSON: NaN at column 1"),
            (
                SendCommand(call(r#""\ud83d""#)).into(),
                "the input of `echo` is not JSON: half of a surrogate pair",
            ),
            (
                HttpCommand { request, options: options(None) }.into(),
                "the body of the HTTP request to `http://a/` is not JSON: key must be a string",
            ),
            (
                SettleCommand { promise_id: id.clone(), outcome: success("[1,]") }.into(),
                "the outcome for promise `p` is not JSON: trailing comma",
            ),
            (
                SettleCommand { promise_id: id, outcome: failure("-Infinity") }.into(),
                "the details of the outcome for promise `p` is not JSON: -Infinity at column 1",
            ),
            (
                PublishCommand { topic: name(), payload: json("undefined") }.into(),
                "the event on topic `n` is not JSON: undefined at column 1",
            ),
            (
                SetStateCommand { name: name(), value: json("{\"a\":1,\"a\":2}") }.into(),
                "the value of state `n` is not JSON: the key `a` a second time",
            ),
            (
                SettleObjectPromiseCommand { name: name(), outcome: success("1 2") }.into(),
                "the outcome for promise `n` of the object is not JSON: trailing characters",
            ),
            (
                with(retry(f64::INFINITY, 0.0)).into(),
                "the call of `echo`: its `retry.factor` is inf, and has to be a finite number",
            ),
            (
                with(retry(2.0, f64::NAN)).into(),
                "the call of `echo`: its `retry.jitter` is NaN, and has to be a finite number",
            ),
        ];
        let commands = commands.into_iter().map(|(refused, said)| (command(&refused), said));
        let results = [
            (run_result(3, &success("nul")), "the result of the `run` with index 3 is not JSON"),
            (result(&success("Infinity")), "the result is not JSON: Infinity at column 1"),
        ];
        for (checked, said) in commands.chain(results) {
            let refused = checked.expect_err(said).to_string();
            assert!(refused.starts_with(said), "{refused}");
        }
        for fine in [call("1e400"), call("")] {
            assert_eq!(command(&fine.into()), Ok(()));
        }
        for fine in [failure("{}"), Outcome::Success(Payload::Bytes(b"NaN".to_vec()))] {
            assert_eq!(result(&fine), Ok(()));
        }
    }
}
