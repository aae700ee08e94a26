//! Divergence between a handler and its journal, field by field.

use std::fmt;

use bytes::Bytes;

use crate::{
    failure,
    immutable::{
        Command, CommandKind, Completion, EagerState, ErrorMessage, InvocationTarget, OutputResult,
        SignalKey, SignalResult, frame_type,
    },
    violation::FrameType,
    wire::{Failure, Header},
};

/// Maximum number of characters of a value in an error message.
const SHOWN: usize = 80;

/// A divergence between the handler and the journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerDivergence {
    /// The handler issued another command than the journal has.
    #[error("{}", of_command(*index, *recorded, *asked, differences))]
    Command {
        /// The index of the command in the journal.
        index: u32,
        /// Type of the recorded command.
        recorded: FrameType,
        /// Name of the recorded command.
        name: String,
        /// Type of the command that the handler issued.
        asked: FrameType,
        /// The differing fields; empty if the types differ.
        differences: Vec<FieldMismatch>,
    },
    /// The handler waits, but the journal has another command at this position.
    #[error(
        "command {index}: the journal has {recorded}, but the handler waits for a result that it has neither requested nor received"
    )]
    Waits {
        /// The index of the command in the journal.
        index: u32,
        /// Type of the recorded command.
        recorded: FrameType,
        /// Name of the recorded command.
        name: String,
    },
    /// The next notification answers a command that the handler has not issued.
    #[error(
        "the journal has the result of completion {completion_id} next ({kind}), but the handler asked for none"
    )]
    NeverAsked {
        completion_id: u32,
        /// Type of the notification.
        kind: FrameType,
    },
}

/// One field in which two commands differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldMismatch {
    /// Name of the field.
    pub field: &'static str,
    /// The recorded value, formatted for display.
    pub recorded: String,
    /// The handler's value, formatted for display.
    pub asked: String,
}

impl fmt::Display for FieldMismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} was {} and is now {}", self.field, self.recorded, self.asked)
    }
}

fn of_command(
    index: u32,
    recorded: FrameType,
    asked: FrameType,
    differences: &[FieldMismatch],
) -> String {
    if recorded.number != asked.number {
        return format!(
            "command {index}: the journal has {recorded}, but the handler asks {asked}"
        );
    }
    let differences: Vec<_> = differences.iter().map(ToString::to_string).collect();
    format!("command {index}, {recorded}, is another one: {}", differences.join("; "))
}

impl HandlerDivergence {
    /// Compares two commands; `None` if they agree. Ignores instants, because those of the first
    /// attempt apply, and completion ids, because the journal's replace them.
    pub(super) fn between(index: u32, recorded: &Command, asked: &Command) -> Option<Self> {
        let mut differences = Vec::new();
        let other_kind = recorded.number() != asked.number();
        if !other_kind {
            for ((field, recorded), (_, asked)) in fields(recorded).into_iter().zip(fields(asked)) {
                if recorded != asked {
                    let recorded = recorded.to_string();
                    let mut asked = asked.to_string();
                    if recorded == asked {
                        asked.push_str(", with a difference further on");
                    }
                    differences.push(FieldMismatch { field, recorded, asked });
                }
            }
        }
        (other_kind || !differences.is_empty()).then(|| Self::Command {
            index,
            recorded: frame_type(recorded.number()),
            name: recorded.entry_name().to_owned(),
            asked: frame_type(asked.number()),
            differences,
        })
    }

    pub(super) fn waits(index: u32, recorded: &Command) -> Self {
        let name = recorded.entry_name().to_owned();
        Self::Waits { index, recorded: frame_type(recorded.number()), name }
    }

    /// Builds the error frame that reports the divergence and names the related command.
    pub fn to_message(&self) -> ErrorMessage {
        let mut error = ErrorMessage::new(failure::JOURNAL_MISMATCH, self.to_string());
        if let Self::Command { index, recorded, name, .. } | Self::Waits { index, recorded, name } =
            self
        {
            error.related_command_index = Some(*index);
            error.related_command_type = Some(recorded.number.into());
            error.related_command_name = (!name.is_empty()).then(|| name.clone());
        }
        error
    }
}

/// A field's value, for comparison and display.
#[derive(Clone, Debug, PartialEq)]
enum ComparedValue {
    Nothing,
    Number(u32),
    Text(String),
    Bytes(Bytes),
    Failure(Failure),
    Headers(Vec<Header>),
}

impl ComparedValue {
    fn optional(text: &Option<String>) -> Self {
        text.clone().map_or(Self::Nothing, Self::Text)
    }
}

impl fmt::Display for ComparedValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => out.write_str("nothing"),
            Self::Number(number) => write!(out, "{number}"),
            Self::Text(text) => shortened(out, text),
            Self::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains(char::is_control) => shortened(out, text),
                _ => {
                    let hex = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}"));
                    shortened(out, &hex.collect::<String>())?;
                    write!(out, " in hex, {} bytes", bytes.len())
                }
            },
            Self::Failure(failure) => {
                write!(out, "failure {} `{}`", failure.code, failure.message)?;
                for fact in &failure.metadata {
                    write!(out, " {}=`{}`", fact.key, fact.value)?;
                }
                Ok(())
            }
            Self::Headers(headers) if headers.is_empty() => out.write_str("none"),
            Self::Headers(headers) => {
                let headers: Vec<_> = headers
                    .iter()
                    .map(|header| format!("{}: {}", header.key, header.value))
                    .collect();
                shortened(out, &headers.join(", "))
            }
        }
    }
}

fn shortened(out: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    match text.char_indices().nth(SHOWN) {
        None => write!(out, "`{text}`"),
        Some((end, _)) => write!(out, "`{}…` ({} bytes)", &text[..end], text.len()),
    }
}

/// The compared fields of a command. Commands of the same kind have the same fields.
fn fields(command: &Command) -> Vec<(&'static str, ComparedValue)> {
    let text = |text: &String| ComparedValue::Text(text.clone());
    let bytes = |bytes: &Bytes| ComparedValue::Bytes(bytes.clone());
    let completion = |completion: &Option<Completion>| match completion {
        None => ComparedValue::Nothing,
        Some(Completion::Value(value)) => ComparedValue::Bytes(value.content.clone()),
        Some(Completion::Failure(failure)) => ComparedValue::Failure(failure.clone()),
    };
    let mut fields = match command {
        // These fields are set by the runtime or are its answers, so the handler does not control
        // them.
        Command::Input(_) | Command::ClearAllState(_) | Command::GetLazyStateKeys(_) => vec![],
        Command::GetEagerStateKeys(_) | Command::Sleep(_) | Command::Run(_) => vec![],
        Command::GetLazyState(it) => vec![("key", bytes(&it.key))],
        Command::GetEagerState(it) => {
            let result = match &it.result {
                Some(EagerState::Value(value)) => ComparedValue::Bytes(value.content.clone()),
                Some(EagerState::Void(_)) | None => ComparedValue::Nothing,
            };
            vec![("key", bytes(&it.key)), ("value", result)]
        }
        Command::Output(it) => {
            let result = match &it.result {
                None => ComparedValue::Nothing,
                Some(OutputResult::Value(value)) => ComparedValue::Bytes(value.content.clone()),
                Some(OutputResult::Failure(failure)) => ComparedValue::Failure(failure.clone()),
            };
            vec![("result", result)]
        }
        Command::SetState(it) => {
            let value = it.value.as_ref().map(|value| value.content.clone()).unwrap_or_default();
            vec![("key", bytes(&it.key)), ("value", ComparedValue::Bytes(value))]
        }
        Command::ClearState(it) => vec![("key", bytes(&it.key))],
        Command::GetPromise(it) => vec![("promise", text(&it.key))],
        Command::PeekPromise(it) => vec![("promise", text(&it.key))],
        Command::CompletePromise(it) => {
            vec![("promise", text(&it.key)), ("completion", completion(&it.completion))]
        }
        Command::Call(it) => vec![
            ("service", text(&it.service_name)),
            ("handler", text(&it.handler_name)),
            ("key", text(&it.key)),
            ("parameter", bytes(&it.parameter)),
            ("headers", ComparedValue::Headers(it.headers.clone())),
            ("idempotency key", ComparedValue::optional(&it.idempotency_key)),
            ("scope", ComparedValue::optional(&it.scope)),
            ("limit key", ComparedValue::optional(&it.limit_key)),
        ],
        Command::OneWayCall(it) => vec![
            ("service", text(&it.service_name)),
            ("handler", text(&it.handler_name)),
            ("key", text(&it.key)),
            ("parameter", bytes(&it.parameter)),
            ("headers", ComparedValue::Headers(it.headers.clone())),
            ("idempotency key", ComparedValue::optional(&it.idempotency_key)),
            ("scope", ComparedValue::optional(&it.scope)),
            ("limit key", ComparedValue::optional(&it.limit_key)),
        ],
        Command::SendSignal(it) => {
            let signal = match &it.signal {
                None => ComparedValue::Nothing,
                Some(SignalKey::Index(index)) => ComparedValue::Number(*index),
                Some(SignalKey::Name(name)) => text(name),
            };
            let result = match &it.result {
                None | Some(SignalResult::Void(_)) => ComparedValue::Nothing,
                Some(SignalResult::Value(value)) => ComparedValue::Bytes(value.content.clone()),
                Some(SignalResult::Failure(failure)) => ComparedValue::Failure(failure.clone()),
            };
            let target = text(&it.target_invocation_id);
            vec![("invocation", target), ("signal", signal), ("value", result)]
        }
        Command::AttachInvocation(it) => target(&it.target),
        Command::GetInvocationOutput(it) => target(&it.target),
        Command::CompleteAwakeable(it) => {
            vec![("awakeable", text(&it.awakeable_id)), ("completion", completion(&it.result))]
        }
        Command::Custom(it) => vec![("content", ComparedValue::Bytes(it.payload.clone()))],
    };
    fields.push(("name", ComparedValue::Text(command.entry_name().to_owned())));
    fields
}

fn target(target: &Option<InvocationTarget>) -> Vec<(&'static str, ComparedValue)> {
    let [mut invocation, mut service, mut key, mut handler, mut idempotency, mut scope] =
        [const { ComparedValue::Nothing }; 6];
    match target.clone() {
        None => {}
        Some(InvocationTarget::InvocationId(id)) => invocation = ComparedValue::Text(id),
        Some(InvocationTarget::Workflow(it)) => {
            service = ComparedValue::Text(it.workflow_name);
            key = ComparedValue::Text(it.workflow_key);
            scope = ComparedValue::optional(&it.scope);
        }
        Some(InvocationTarget::IdempotentRequest(it)) => {
            service = ComparedValue::Text(it.service_name);
            key = ComparedValue::optional(&it.service_key);
            handler = ComparedValue::Text(it.handler_name);
            idempotency = ComparedValue::Text(it.idempotency_key);
            scope = ComparedValue::optional(&it.scope);
        }
    }
    vec![
        ("invocation", invocation),
        ("service", service),
        ("key", key),
        ("handler", handler),
        ("idempotency key", idempotency),
        ("scope", scope),
    ]
}

/// Returns true for a read of one state key, eager or lazy.
pub(super) fn is_state_read(command: &Command) -> bool {
    matches!(command.kind(), Some(CommandKind::GetEagerState | CommandKind::GetLazyState))
}
