//! Round trips: decoding an encoded message returns the same message.

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*};

use super::{super::*, VERSIONS, whole};
use crate::{custom::Custom, frame::Frame, version::ProtocolVersion::*, wire::*};

fn text() -> impl Strategy<Value = String> {
    "[ -~]{0,8}"
}

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..16).prop_map(Bytes::from)
}

fn failure() -> impl Strategy<Value = Failure> {
    let metadata = (text(), text()).prop_map(|(key, value)| FailureMetadata { key, value });
    (any::<u32>(), text(), vec(metadata, 0..3)).prop_map(|(code, message, metadata)| Failure {
        code,
        message,
        metadata,
    })
}

fn outcome() -> impl Strategy<Value = OperationOutcome> {
    prop_oneof![
        bytes().prop_map(OperationOutcome::Success),
        failure().prop_map(OperationOutcome::Failure)
    ]
}

fn future() -> impl Strategy<Value = Future> {
    let node =
        (vec(any::<u32>(), 0..3), vec(any::<u32>(), 0..3), vec(text(), 0..3), 0..5i32).boxed();
    let leaf = node.clone().prop_map(|(completions, signals, named_signals, combinator)| Future {
        completions,
        signals,
        named_signals,
        nested: Vec::new(),
        combinator,
    });
    leaf.prop_recursive(3, 12, 3, move |inner| {
        (node.clone(), vec(inner, 0..3)).prop_map(|(node, nested)| {
            let (completions, signals, named_signals, combinator) = node;
            Future { completions, signals, named_signals, nested, combinator }
        })
    })
}

fn notification() -> impl Strategy<Value = Notification> {
    let kinds = proptest::sample::select(NotificationKind::ALL);
    (
        kinds,
        any::<u32>(),
        text(),
        any::<bool>(),
        outcome(),
        vec(bytes(), 0..3),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(kind, number, name, named, outcome, keys, which)| {
            let number = number.max(1);
            let id = match kind {
                NotificationKind::Signal if named => NotificationId::NamedSignal(name.clone()),
                NotificationKind::Signal => NotificationId::Signal(number),
                _ => NotificationId::Completion(number),
            };
            let result = match which.get(kind.allowed()) {
                ResultKind::Void => NotificationResult::Void,
                ResultKind::Value => NotificationResult::Value(match outcome {
                    OperationOutcome::Success(value) => value,
                    OperationOutcome::Failure(_) => Bytes::new(),
                }),
                ResultKind::Failure => NotificationResult::Failure(match outcome {
                    OperationOutcome::Failure(failure) => failure,
                    OperationOutcome::Success(_) => Failure::default(),
                }),
                ResultKind::InvocationId => NotificationResult::InvocationId(name),
                ResultKind::StateKeys => NotificationResult::StateKeys(keys),
            };
            Notification { kind, id, result }
        })
}

/// A command with other contents than [`whole`].
fn command() -> impl Strategy<Value = Command> {
    let kinds = proptest::sample::select(CommandKind::ALL);
    let parts = (kinds, text(), bytes(), outcome(), any::<u32>(), any::<u64>(), option::of(text()));
    let custom = (0xFC00..=0xFFFFu16, "[a-z]{0,5}").prop_map(|(number, name)| {
        let payload = prost::Message::encode_to_vec(&ClearAllState { name: name.clone() });
        Command::Custom(Custom { number, name, payload: payload.into() })
    });
    let known = parts.prop_map(|(kind, word, content, outcome, number, instant, maybe)| {
        let mut command = whole(kind);
        match &mut command {
            Command::Input(it) => {
                it.value = maybe.map(|_| ValueMessage { content });
                it.name = word;
            }
            Command::Output(it) => it.result = Some(outcome.into()),
            Command::GetLazyState(it) => (it.key, it.result_completion_id) = (content, number),
            Command::SetState(it) => it.value = Some(ValueMessage { content }),
            Command::ClearState(it) => it.key = content,
            Command::ClearAllState(it) => it.name = word,
            Command::GetLazyStateKeys(it) => it.result_completion_id = number,
            Command::GetEagerState(it) => {
                it.result = maybe
                    .map(|_| EagerState::Void(Void {}))
                    .or(Some(EagerState::Value(ValueMessage { content })))
            }
            Command::GetEagerStateKeys(it) => {
                it.value = Some(StateKeys { keys: vec![content; (number % 3) as usize] })
            }
            Command::GetPromise(it) => it.key = word,
            Command::PeekPromise(it) => it.key = word,
            Command::CompletePromise(it) => it.completion = Some(outcome.into()),
            Command::Sleep(it) => it.wake_up_at_ms = instant,
            Command::Call(it) => {
                (it.parameter, it.idempotency_key, it.scope) = (content, maybe, Some(word))
            }
            Command::OneWayCall(it) => {
                (it.parameter, it.limit_key, it.invoke_at_ms) = (content, maybe, instant)
            }
            Command::SendSignal(it) => {
                it.signal = Some(maybe.map_or(SignalKey::Index(number), SignalKey::Name))
            }
            Command::Run(it) => it.name = word,
            Command::AttachInvocation(it) => it.target = Some(InvocationTarget::InvocationId(word)),
            Command::GetInvocationOutput(it) => it.result_completion_id = number,
            Command::CompleteAwakeable(it) => it.result = Some(outcome.into()),
            Command::Custom(_) => {}
        }
        command
    });
    prop_oneof![9 => known, 1 => custom]
}

fn message() -> impl Strategy<Value = Message> {
    let start = (bytes(), text(), any::<u32>(), any::<bool>(), option::of(text())).prop_map(
        |(id, key, number, partial_state, scope)| StartMessage {
            state_map: vec![StateEntry { key: id.clone(), value: id.clone() }],
            id,
            debug_id: key.clone(),
            known_entries: number,
            partial_state,
            key,
            retry_count: number,
            since_last_entry_ms: number.into(),
            random_seed: number.into(),
            limit_key: scope.clone(),
            scope,
            idempotency_key: None,
        },
    );
    let error = (any::<u32>(), text(), option::of(any::<u32>()), option::of(text()), 0..3i32)
        .prop_map(|(code, message, number, name, behavior)| ErrorMessage {
            code,
            stacktrace: message.clone(),
            message,
            related_command_index: number,
            related_command_name: name,
            related_command_type: number,
            next_retry_delay_ms: number.map(Into::into),
            behavior,
        });
    prop_oneof![
        start.prop_map(Message::Start),
        future().prop_map(|awaiting| Message::Suspension(Suspension { awaiting })),
        error.prop_map(Message::Error),
        Just(Message::End),
        any::<u32>().prop_map(|command_index| Message::CommandAck(CommandAck { command_index })),
        (any::<u32>(), outcome()).prop_map(|(id, outcome)| {
            let result = Some(outcome.into());
            Message::ProposeRunCompletion(ProposeRunCompletion { result_completion_id: id, result })
        }),
        (option::of(future()), any::<bool>()).prop_map(|(awaiting, executing_side_effects)| {
            Message::AwaitingOn(AwaitingOn { awaiting, executing_side_effects })
        }),
        any::<u32>().prop_map(|completion_id| {
            Message::ProposeRunCompletionAck(ProposeRunCompletionAck { completion_id })
        }),
        (any::<u32>(), bytes()).prop_map(|(ephemeral_completion_id, key)| {
            Message::GetStateEphemeral(GetStateEphemeral { ephemeral_completion_id, key })
        }),
        (any::<u32>(), option::of(bytes())).prop_map(|(ephemeral_completion_id, content)| {
            let result = Some(match content {
                Some(content) => EphemeralResult::Value(ValueMessage { content }),
                None => EphemeralResult::Void(Void {}),
            });
            Message::EphemeralState(EphemeralState { ephemeral_completion_id, result })
        }),
        command().prop_map(Message::Command),
        notification().prop_map(Message::Notification),
    ]
}

proptest! {
    #[test]
    fn messages_are_read_as_they_are_written(message in message()) {
        let frame = message.encode(V8);
        prop_assert_eq!(Message::decode(&frame, V8), Ok(message));
    }

    /// In earlier versions, a message that was encoded and decoded once stays the same.
    #[test]
    fn messages_keep_what_their_version_has(message in message(), version in 0..3usize) {
        let version = VERSIONS[version];
        if let Ok(read) = Message::decode(&message.encode(version), version) {
            prop_assert_eq!(Message::decode(&read.encode(version), version), Ok(read));
        }
    }

    #[test]
    fn a_wait_of_v5_and_v6_is_the_first_of_all_leaves(awaiting in future()) {
        let leaves = awaiting.leaves();
        let frame = Message::Suspension(Suspension { awaiting }).encode(V6);
        let Ok(Message::Suspension(read)) = Message::decode(&frame, V6) else {
            return Err(TestCaseError::fail("a suspension"));
        };
        prop_assert_eq!(read.awaiting.combinator(), Combinator::FirstCompleted);
        prop_assert_eq!(read.awaiting.leaves(), leaves);
        prop_assert_eq!(Message::Suspension(read).encode(V6), frame);
    }

    #[test]
    fn foreign_bytes_are_refused_or_read(number: u16, payload in vec(any::<u8>(), 0..64)) {
        for version in VERSIONS {
            if let Err(violation) = Message::decode(&Frame::new(number, payload.clone()), version) {
                prop_assert_eq!(violation.frame.map(|frame| frame.number), Some(number));
            }
        }
    }
}
