//! The treatment of commands that the original journal does not answer, in a dry run.

use segno_core::invocation::{CommandKind, IssuedCommand};
use segno_guest::{Failure, Outcome, Payload};

use super::given::misfit;
use crate::{
    values::{code, journals},
    worker::commands,
};

/// Maximum number of characters of a request in the message of a failure.
const REQUEST_MAX: usize = 200;

/// The answer to a command that the original journal does not answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissingAnswer {
    /// None: the run ends when nothing else is left to do.
    #[default]
    Stop,
    /// A failure with code 404, or null for a command that cannot fail.
    Fail,
    /// Null, or a failure with code 404 for a command that cannot have this value.
    Null,
}

impl MissingAnswer {
    /// The outcome of the command. `None` if it gets no answer.
    pub(super) fn outcome(self, asked: &IssuedCommand) -> Option<Outcome> {
        let failure = || {
            let message = format!("the recording has no answer to: {}", in_words(asked));
            Outcome::Failure(Failure { code: code::NOT_FOUND, message, details: None })
        };
        let names = || Outcome::Success(Payload::Json("[]".to_owned()));
        let choices = match self {
            Self::Stop => return None,
            Self::Fail => [failure(), journals::null(), names()],
            Self::Null => [journals::null(), failure(), names()],
        };
        choices.into_iter().find(|outcome| misfit(asked.kind, outcome).is_none())
    }
}

/// Formats a command as `call model {"input":…}`.
fn in_words(IssuedCommand { kind, name, request }: &IssuedCommand) -> String {
    let request = commands::display(request).to_string();
    let cut: String = request.chars().take(REQUEST_MAX).collect();
    let more = if cut.len() < request.len() { "…" } else { "" };
    let name = if name.is_empty() { String::new() } else { format!(" {name}") };
    format!("{}{name} {cut}{more}", CommandKind::name(*kind))
}

#[cfg(test)]
mod tests {
    use segno_core::invocation::CommandRequest;

    use super::*;

    fn asked(kind: CommandKind) -> IssuedCommand {
        IssuedCommand { kind, name: "model".into(), request: CommandRequest::default() }
    }

    #[test]
    fn a_command_gets_what_its_kind_can_have() {
        let failure = |outcome: &Outcome| match outcome {
            Outcome::Failure(failure) => Some((failure.code, failure.message.clone())),
            Outcome::Success(_) => None,
        };
        for (policy, kind, value) in [
            (MissingAnswer::Fail, CommandKind::Call, None),
            (MissingAnswer::Null, CommandKind::Call, Some("null")),
            (MissingAnswer::Fail, CommandKind::GetState, Some("null")),
            (MissingAnswer::Null, CommandKind::Http, None),
            (MissingAnswer::Fail, CommandKind::StateKeys, Some("[]")),
            (MissingAnswer::Null, CommandKind::StateKeys, Some("[]")),
        ] {
            let outcome = policy.outcome(&asked(kind)).expect("it has one");
            match value {
                Some(json) => {
                    assert_eq!(outcome, Outcome::Success(Payload::Json(json.to_owned())), "{kind}");
                }
                None => {
                    let (code, message) = failure(&outcome).expect("it fails");
                    assert_eq!(code, 404, "{kind}");
                    let wanted = format!("the recording has no answer to: {kind} model");
                    assert!(message.starts_with(&wanted), "{message}");
                }
            }
        }
        assert_eq!(MissingAnswer::Stop.outcome(&asked(CommandKind::Call)), None);
    }
}
