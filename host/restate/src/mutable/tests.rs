//! Tests of the family's numbers and fields against a table written from the protocol's
//! description, and round trips of all its messages.

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*};
use prost::Message as _;

use super::*;
use crate::{
    custom::Custom,
    frame::{Flags, Frame},
    version::ProtocolVersion::{self, *},
    wire::{
        Failure, Header, IdempotentRequestTarget, StartMessage, StateEntry, StateKeys,
        WorkflowTarget, tests::fields,
    },
};

const VERSIONS: [ProtocolVersion; 3] = [V1, V2, V3];

/// `(type, name, fields besides name and result, results, completable, fallible, since)`: copied
/// from the protocol's description, independent of the code.
type Row = (u16, &'static str, &'static [u32], &'static [u32], bool, bool, ProtocolVersion);

const ENTRIES: [Row; 20] = [
    (0x0400, "Input", &[1], &[14], false, false, V1),
    (0x0401, "Output", &[], &[14, 15], false, false, V1),
    (0x0800, "GetState", &[1], &[13, 14, 15], true, false, V1),
    (0x0801, "SetState", &[1, 3], &[], false, false, V1),
    (0x0802, "ClearState", &[1], &[], false, false, V1),
    (0x0803, "ClearAllState", &[], &[], false, false, V1),
    (0x0804, "GetStateKeys", &[], &[14, 15], true, false, V1),
    (0x0808, "GetPromise", &[1], &[14, 15], true, false, V1),
    (0x0809, "PeekPromise", &[1], &[13, 14, 15], true, false, V1),
    (0x080A, "CompletePromise", &[1, 2], &[13, 15], true, false, V1),
    (0x0C00, "Sleep", &[1], &[13, 15], true, false, V1),
    (0x0C01, "Call", &[1, 2, 3, 4, 5, 6], &[14, 15], true, true, V1),
    (0x0C02, "OneWayCall", &[1, 2, 3, 4, 5, 6, 7], &[], false, true, V1),
    (0x0C03, "Awakeable", &[], &[14, 15], true, false, V1),
    (0x0C04, "CompleteAwakeable", &[1], &[14, 15], false, true, V1),
    (0x0C05, "Run", &[], &[14, 15], false, false, V1),
    (0x0C06, "CancelInvocation", &[2], &[], false, true, V3),
    (0x0C07, "GetCallInvocationId", &[1], &[14, 15], true, true, V3),
    (0x0C08, "AttachInvocation", &[3], &[14, 15], true, true, V3),
    (0x0C09, "GetInvocationOutput", &[4], &[13, 14, 15], true, true, V3),
];

/// An entry of each kind with all its fields and this result.
fn whole(kind: EntryKind, result: Option<EntryResult>) -> Entry {
    let text = |text: &str| text.to_owned();
    let name = text("n");
    let bytes = || Bytes::from_static(b"b");
    let headers = || vec![Header { key: text("h"), value: text("v") }];
    let idempotency_key = Some(text("i"));
    match kind {
        EntryKind::Input => Input { headers: headers(), name, result }.into(),
        EntryKind::Output => Output { name, result }.into(),
        EntryKind::GetState => GetState { key: bytes(), name, result }.into(),
        EntryKind::SetState => SetState { key: bytes(), value: bytes(), name, result }.into(),
        EntryKind::ClearState => ClearState { key: bytes(), name, result }.into(),
        EntryKind::ClearAllState => ClearAllState { name, result }.into(),
        EntryKind::GetStateKeys => GetStateKeys { name, result }.into(),
        EntryKind::GetPromise => GetPromise { key: text("k"), name, result }.into(),
        EntryKind::PeekPromise => PeekPromise { key: text("k"), name, result }.into(),
        EntryKind::CompletePromise => CompletePromise {
            key: text("k"),
            completion: Some(PromiseCompletion::Value(bytes())),
            name,
            result,
        }
        .into(),
        EntryKind::Sleep => Sleep { wake_up_at_ms: 1, name, result }.into(),
        EntryKind::Call => Call {
            service_name: text("s"),
            handler_name: text("h"),
            parameter: bytes(),
            headers: headers(),
            key: text("k"),
            idempotency_key,
            name,
            result,
        }
        .into(),
        EntryKind::OneWayCall => OneWayCall {
            service_name: text("s"),
            handler_name: text("h"),
            parameter: bytes(),
            invoke_at_ms: 1,
            headers: headers(),
            key: text("k"),
            idempotency_key,
            name,
            result,
        }
        .into(),
        EntryKind::Awakeable => Awakeable { name, result }.into(),
        EntryKind::CompleteAwakeable => CompleteAwakeable { id: text("i"), name, result }.into(),
        EntryKind::Run => Run { name, result }.into(),
        EntryKind::CancelInvocation => {
            let target = Some(CancelTarget::CallEntryIndex(1));
            CancelInvocation { target, name, result }.into()
        }
        EntryKind::GetCallInvocationId => {
            GetCallInvocationId { call_entry_index: 1, name, result }.into()
        }
        EntryKind::AttachInvocation => {
            let target = InvocationTarget::IdempotentRequest(IdempotentRequestTarget {
                service_name: text("s"),
                service_key: Some(text("k")),
                handler_name: text("h"),
                idempotency_key: text("i"),
                scope: None,
            });
            AttachInvocation { target: Some(target), name, result }.into()
        }
        EntryKind::GetInvocationOutput => {
            let target = InvocationTarget::Workflow(WorkflowTarget {
                workflow_name: text("w"),
                workflow_key: text("k"),
                scope: None,
            });
            GetInvocationOutput { target: Some(target), name, result }.into()
        }
    }
}

/// A result in the field with this number, in the form of the kind.
fn result(kind: EntryKind, field: u32) -> EntryResult {
    match field {
        13 => EntryResult::EMPTY,
        14 if kind == EntryKind::GetStateKeys => {
            EntryResult::Value(StateKeys { keys: vec!["k".into()] }.encode_to_vec().into())
        }
        14 => EntryResult::Value("v".into()),
        _ => EntryResult::Failure(Failure::new(409, "m")),
    }
}

#[test]
fn entries_have_the_numbers_fields_and_results_of_the_description() {
    assert_eq!(EntryKind::ALL.len(), ENTRIES.len());
    for (kind, row) in EntryKind::ALL.iter().zip(ENTRIES) {
        let (number, name, own, results, completable, fallible, since) = row;
        assert_eq!((kind.number(), kind.name()), (number, name));
        assert_eq!(kind.completes() == CompletionMode::Later, completable, "{name}");
        assert_eq!(kind.is_fallible(), fallible, "{name}");
        assert_eq!(kind.since(), since, "{name}");
        for field in [None, Some(13), Some(14), Some(15)] {
            let result = field.map(|field| result(*kind, field));
            let message = Message::Entry(whole(*kind, result));
            let frame = message.encode(V3);
            assert_eq!(frame.number, number, "{name}");
            assert_eq!(frame.flags.has(Flags::COMPLETED), completable && field.is_some(), "{name}");
            let mut expected = own.to_vec();
            expected.push(12);
            expected.extend(field);
            expected.sort_unstable();
            assert_eq!(fields(&frame.payload), expected, "{name}");
            let allowed = match field {
                Some(field) => results.contains(&field),
                // Entries written with their result must have one, except for an empty input and a
                // run that returned nothing.
                None => completable || results.is_empty() || matches!(number, 0x0400 | 0x0C05),
            };
            for version in VERSIONS {
                let frame = message.encode(version);
                let read = Message::decode(&frame, version);
                let expected = allowed && version >= since;
                assert_eq!(read.is_ok(), expected, "{name} with {field:?}: {read:?}");
            }
        }
    }
}

#[test]
fn control_frames_have_the_numbers_and_fields_of_the_description() {
    let error = ErrorMessage {
        code: 500,
        message: "m".into(),
        description: "d".into(),
        related_entry_index: Some(0),
        related_entry_name: Some("n".into()),
        related_entry_type: Some(0x0C05),
        next_retry_delay_ms: Some(1),
    };
    let start = StartMessage {
        retry_count: 1,
        since_last_entry_ms: 2,
        key: "k".into(),
        ..StartMessage::default()
    };
    let completion =
        |result| Message::Completion(Completion { entry_index: 1, result: Some(result) });
    let suspension = Message::Suspension(Suspension { entry_indexes: vec![1, 2] });
    let rows: [(Message, u16, &[u32], &[u32]); 8] = [
        (Message::Start(start), 0x0000, &[6, 7, 8], &[6]),
        (completion(EntryResult::EMPTY), 0x0001, &[1, 13], &[1, 13]),
        (completion(EntryResult::Value(Bytes::new())), 0x0001, &[1, 14], &[1, 14]),
        (completion(EntryResult::Failure(Failure::default())), 0x0001, &[1, 15], &[1, 15]),
        // Packed: one field for both indexes.
        (suspension, 0x0002, &[1], &[1]),
        (Message::Error(error), 0x0003, &[1, 2, 3, 4, 5, 6, 8], &[1, 2, 3, 4, 5, 6]),
        (Message::EntryAck(EntryAck { entry_index: 1 }), 0x0004, &[1], &[1]),
        (Message::End, 0x0005, &[], &[]),
    ];
    for (message, number, in_v2, in_v1) in rows {
        for (version, expected) in [(V3, in_v2), (V2, in_v2), (V1, in_v1)] {
            let frame = message.encode(version);
            assert_eq!(frame.number, number);
            assert_eq!(fields(&frame.payload), expected, "{message:?} in {version}");
            let later = message.encode(V3);
            assert_eq!(Message::decode(&later, version), Message::decode(&frame, version));
        }
        assert_eq!(Message::decode(&message.encode(V3), V3), Ok(message));
    }
}

#[test]
fn flags_are_allowed_where_they_mean_something() {
    for (number, name, _, _, completable, _, _) in ENTRIES {
        let violated = |flags| {
            let frame = Frame { number, flags, payload: Bytes::new() };
            Message::decode(&frame, V3).err().is_some_and(|it| it.what.contains("flags"))
        };
        assert!(!violated(Flags::REQUIRES_ACK), "{name}");
        assert_eq!(violated(Flags::COMPLETED), !completable, "{name}");
        assert!(violated(Flags(0x0002)), "{name}");
    }
    for number in 0..=5 {
        for flags in [Flags::COMPLETED, Flags::REQUIRES_ACK, Flags(0x4000)] {
            let frame = Frame { number, flags, payload: Bytes::new() };
            let violation = Message::decode(&frame, V3).unwrap_err();
            assert!(violation.what.contains("flags"), "{violation}");
        }
    }
}

#[test]
fn a_flag_and_a_result_go_together() {
    let sleep = Message::Entry(whole(EntryKind::Sleep, Some(EntryResult::EMPTY))).encode(V1);
    let bare = Frame { flags: Flags::NONE, ..sleep.clone() };
    let violation = Message::decode(&bare, V1).unwrap_err();
    assert_eq!(violation.to_string(), "Sleep (0x0c00): has a result and is not completed");
    let empty = Frame { payload: Bytes::new(), ..sleep };
    let violation = Message::decode(&empty, V1).unwrap_err();
    assert_eq!(violation.to_string(), "Sleep (0x0c00): is completed without a result");
}

#[test]
fn an_entry_without_what_gives_it_meaning_is_refused() {
    let rows = [
        (0x0401, "has no result"),
        (0x080A, "has no value or failure"),
        (0x0C04, "has no result"),
        (0x0C06, "has no target"),
        (0x0C08, "has no target"),
        (0x0C09, "has no target"),
        (0x0001, "has no result"),
    ];
    for (number, expected) in rows {
        let violation = Message::decode(&Frame::new(number, Bytes::new()), V3).unwrap_err();
        assert_eq!(violation.what, expected, "{violation}");
    }
}

#[test]
fn unknown_types_are_named_and_custom_ones_are_kept() {
    for number in [0x0006, 0x0402, 0x0805, 0x0807, 0x080B, 0x0C0A, 0x8000, 0xFBFF] {
        let violation = Message::decode(&Frame::new(number, Bytes::new()), V3).unwrap_err();
        let expected = format!("unknown (0x{number:04x}): is not part of V3");
        assert_eq!(violation.to_string(), expected);
    }
    let frame = Frame::new(0xFC02, &b"\x0a\x01\x05\x62\x01n"[..]);
    let Ok(Message::Entry(Entry::Custom(custom))) = Message::decode(&frame, V1) else {
        panic!("a custom entry");
    };
    assert_eq!(custom, Custom { number: 0xFC02, name: "n".into(), payload: frame.payload.clone() });
    assert_eq!(Message::Entry(Entry::Custom(custom)).encode(V1), frame);
    let violation = Message::decode(&Frame::new(0xFFFF, &b"\x6a\0"[..]), V1).unwrap_err();
    assert!(
        violation.to_string().starts_with("custom entry (0xffff): has field 13"),
        "{violation}"
    );
}

#[test]
fn an_idempotency_key_is_of_v3() {
    for kind in [EntryKind::Call, EntryKind::OneWayCall] {
        let message = Message::Entry(whole(kind, None));
        for version in [V1, V2] {
            let field = if kind == EntryKind::Call { 6 } else { 7 };
            assert!(!fields(&message.encode(version).payload).contains(&field));
            let read = Message::decode(&message.encode(V3), version).unwrap();
            assert_eq!(read, Message::decode(&message.encode(version), version).unwrap());
        }
    }
}

#[test]
fn an_entry_gets_the_results_that_it_may_have_and_keeps_all_else() {
    for (kind, (_, name, _, results, completable, _, _)) in EntryKind::ALL.iter().zip(ENTRIES) {
        for field in [13, 14, 15] {
            let result = result(*kind, field);
            let own = if kind.completes() == CompletionMode::Written && *kind != EntryKind::Input {
                Some(result.clone())
            } else {
                None
            };
            let mut entry = Message::Entry(whole(*kind, own)).encode(V3);
            // Appends an unknown field.
            entry.payload = [&entry.payload[..], &[0x98, 0x06, 0x05]].concat().into();
            let completed = complete(&entry, &result, V3);
            assert_eq!(
                completed.is_ok(),
                completable && results.contains(&field),
                "{name} {field}"
            );
            let Ok(completed) = completed else { continue };
            assert_eq!(completed.flags, Flags::COMPLETED);
            assert!(completed.payload.starts_with(&entry.payload));
            let expected = Message::Entry(whole(*kind, Some(result.clone())));
            assert_eq!(Message::decode(&completed, V3), Ok(expected), "{name} {field}");
            let again = complete(&completed, &result, V3).unwrap_err();
            assert!(again.what.contains("already"), "{again}");
        }
    }
    let custom = Frame::new(0xFC00, Bytes::new());
    assert!(complete(&custom, &EntryResult::EMPTY, V3).is_err());
    let keys = Message::Entry(whole(EntryKind::GetStateKeys, None)).encode(V3);
    let odd = complete(&keys, &EntryResult::Value("\x0a\x09".into()), V3).unwrap_err();
    assert!(odd.what.contains("no list of keys"), "{odd}");
    let id = Message::Entry(whole(EntryKind::GetCallInvocationId, None)).encode(V3);
    let odd = complete(&id, &EntryResult::Value(vec![0xff].into()), V3).unwrap_err();
    assert!(odd.what.contains("no text"), "{odd}");
}

#[test]
fn a_wish_to_be_acknowledged_outlives_a_result() {
    let entry = Message::Entry(whole(EntryKind::Sleep, None)).encode(V1);
    let entry = entry.flagged(Flags::REQUIRES_ACK);
    let completed = complete(&entry, &EntryResult::EMPTY, V1).unwrap();
    assert_eq!(completed.flags, Flags::COMPLETED.with(Flags::REQUIRES_ACK));
}

fn text() -> impl Strategy<Value = String> {
    "[ -~]{0,8}"
}

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..16).prop_map(Bytes::from)
}

fn entry() -> impl Strategy<Value = Entry> {
    let kinds = proptest::sample::select(EntryKind::ALL);
    let parts = (kinds, any::<prop::sample::Index>(), any::<bool>(), text(), bytes(), any::<u64>());
    parts.prop_map(|(kind, which, with_result, word, content, number)| {
        let fields = ENTRIES.iter().find(|row| row.0 == kind.number()).unwrap().3;
        let needed = kind.completes() == CompletionMode::Written;
        let result = (!fields.is_empty() && (needed || with_result)).then(|| {
            match (which.get(fields), kind) {
                (14, EntryKind::GetStateKeys) => EntryResult::Value(
                    StateKeys { keys: vec![content.clone(); 2] }.encode_to_vec().into(),
                ),
                (14, EntryKind::GetCallInvocationId) => EntryResult::Value(word.clone().into()),
                (14, _) => EntryResult::Value(content.clone()),
                (13, _) => EntryResult::EMPTY,
                _ => EntryResult::Failure(Failure::new(number as u16, word.clone())),
            }
        });
        let mut entry = whole(kind, result);
        match &mut entry {
            Entry::Input(it) => it.name = word,
            Entry::SetState(it) => it.value = content,
            Entry::GetState(it) => it.key = content,
            Entry::CompletePromise(it) => {
                it.completion = Some(PromiseCompletion::Failure(Failure::new(1, word)));
            }
            Entry::Sleep(it) => it.wake_up_at_ms = number,
            Entry::Call(it) => (it.parameter, it.idempotency_key) = (content, None),
            Entry::OneWayCall(it) => (it.parameter, it.invoke_at_ms) = (content, number),
            Entry::CancelInvocation(it) => it.target = Some(CancelTarget::InvocationId(word)),
            Entry::AttachInvocation(it) => it.target = Some(InvocationTarget::InvocationId(word)),
            Entry::GetInvocationOutput(it) => {
                it.target = Some(InvocationTarget::CallEntryIndex(number as u32));
            }
            _ => {}
        }
        entry
    })
}

fn message() -> impl Strategy<Value = Message> {
    let start = (bytes(), text(), any::<u32>(), any::<bool>()).prop_map(
        |(id, key, number, partial_state)| StartMessage {
            state_map: vec![StateEntry { key: id.clone(), value: id.clone() }],
            id,
            debug_id: key.clone(),
            known_entries: number,
            partial_state,
            key,
            retry_count: number,
            since_last_entry_ms: number.into(),
            ..StartMessage::default()
        },
    );
    let error = (any::<u32>(), text(), option::of(any::<u32>()), option::of(text())).prop_map(
        |(code, message, number, name)| ErrorMessage {
            code,
            description: message.clone(),
            message,
            related_entry_index: number,
            related_entry_name: name,
            related_entry_type: number,
            next_retry_delay_ms: number.map(Into::into),
        },
    );
    prop_oneof![
        start.prop_map(Message::Start),
        (any::<u32>(), bytes()).prop_map(|(entry_index, value)| {
            let result = Some(EntryResult::Value(value));
            Message::Completion(Completion { entry_index, result })
        }),
        vec(any::<u32>(), 0..5)
            .prop_map(|entry_indexes| Message::Suspension(Suspension { entry_indexes })),
        error.prop_map(Message::Error),
        any::<u32>().prop_map(|entry_index| Message::EntryAck(EntryAck { entry_index })),
        Just(Message::End),
        entry().prop_map(Message::Entry),
    ]
}

proptest! {
    #[test]
    fn messages_are_read_as_they_are_written(message in message()) {
        let frame = message.encode(V3);
        prop_assert_eq!(Message::decode(&frame, V3), Ok(message));
    }

    #[test]
    fn foreign_bytes_are_refused_or_read(number: u16, flags: u16, payload in vec(any::<u8>(), 0..64)) {
        for version in VERSIONS {
            let frame = Frame { flags: Flags(flags), ..Frame::new(number, payload.clone()) };
            if let Err(violation) = Message::decode(&frame, version) {
                prop_assert_eq!(violation.frame.map(|frame| frame.number), Some(number));
            }
        }
    }
}
