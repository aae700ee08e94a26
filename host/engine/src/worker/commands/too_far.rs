//! Checks for delays and time limits that end after the last valid due time.

use segno_core::time::Timestamp;
use segno_guest::{CallOptions, GuestCommand, commands::SleepCommand};

use super::site::instant;

/// The reason why a command that is issued at this instant ends too late. `None` if it does not.
pub fn too_far(command: &GuestCommand, at: Timestamp) -> Option<String> {
    match command {
        GuestCommand::Sleep(SleepCommand { until_ms }) => {
            is_far(*until_ms).then(|| told("the sleep", *until_ms))
        }
        GuestCommand::Promise(promise) => limit(promise.options.timeout_ms, at),
        GuestCommand::Call(call) => options(&call.options, at),
        GuestCommand::Send(send) => options(&send.0.options, at),
        GuestCommand::Http(http) => options(&http.options, at),
        GuestCommand::SagaCall(step) => options(&step.command.options, at),
        GuestCommand::SagaHttp(step) => options(&step.command.options, at),
        GuestCommand::Undo(undo) => options(&undo.call.options, at),
        GuestCommand::Settle(_)
        | GuestCommand::Cancel(_)
        | GuestCommand::Publish(_)
        | GuestCommand::Run(_)
        | GuestCommand::AskAboutStep(_)
        | GuestCommand::GetState(_)
        | GuestCommand::StateNames(_)
        | GuestCommand::SetState(_)
        | GuestCommand::ClearState(_)
        | GuestCommand::ClearAllState(_)
        | GuestCommand::WaitObjectPromise(_)
        | GuestCommand::PeekObjectPromise(_)
        | GuestCommand::SettleObjectPromise(_)
        | GuestCommand::SendSignal(_)
        | GuestCommand::Unread(_)
        | GuestCommand::ContinueAsNew(_)
        | GuestCommand::AppendStream(_)
        | GuestCommand::CloseStream(_) => None,
    }
}

fn options(options: &CallOptions, at: Timestamp) -> Option<String> {
    let start = options.start_at_ms.unwrap_or_default();
    if is_far(start) {
        return Some(told("the start", start));
    }
    limit(options.timeout_ms, at.max(instant(start)))
}

fn limit(timeout_ms: Option<u64>, begins: Timestamp) -> Option<String> {
    let timeout_ms = timeout_ms?;
    begins
        .in_time(timeout_ms)
        .err()
        .map(|refused| format!("the time limit of {timeout_ms} ms {refused}"))
}

fn is_far(ms: u64) -> bool {
    instant(ms) >= Timestamp::NEVER
}

fn told(what: &str, ms: u64) -> String {
    format!("{what} at {ms} ms is after the year 9999, the last in which something can be due")
}

#[cfg(test)]
mod tests {
    use segno_guest::{PromiseOptions, commands::PromiseCommand};

    use super::*;

    #[test]
    fn what_ends_after_the_year_9999_is_refused_by_name() {
        let sleep = |until_ms| GuestCommand::Sleep(SleepCommand { until_ms });
        let promise = |timeout_ms| {
            let options = PromiseOptions { timeout_ms: Some(timeout_ms) };
            GuestCommand::Promise(PromiseCommand { name: None, options })
        };
        let last = Timestamp::NEVER.0.unsigned_abs() - 1;
        for fine in [sleep(0), sleep(last), promise(last - 1_000)] {
            assert_eq!(too_far(&fine, Timestamp(1_000)), None, "{fine:?}");
        }
        for (command, said) in [
            (sleep(last + 1), "the sleep at 253402300799999 ms"),
            (sleep(u64::MAX), "the sleep at"),
            (promise(last), "the time limit of 253402300799998 ms"),
            (promise(u64::MAX), "the time limit of"),
        ] {
            let refused = too_far(&command, Timestamp(1_000)).expect("it is too far");
            assert!(refused.contains(said) && refused.contains("after the year 9999"), "{refused}");
        }
    }
}
