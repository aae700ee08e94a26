//! A recorded conversation, frame by frame; violations of the protocol, each provoked; and
//! evaluation of waits.

use super::*;
use crate::{
    ProtocolVersion::*,
    custom::Custom,
    mutable::{
        Awakeable, Call, CancelInvocation, ClearState, ErrorMessage, GetCallInvocationId, GetState,
        Input, OneWayCall, Output, Run, Sleep, Suspension, complete,
    },
    wire::{Failure, Void},
};

fn value() -> EntryResult {
    EntryResult::Value("v".into())
}

fn input() -> Entry {
    Input { result: Some(value()), ..Input::default() }.into()
}

fn run() -> Entry {
    Run { name: "r".into(), result: Some(value()) }.into()
}

fn sleep() -> Entry {
    Sleep { wake_up_at_ms: 9, ..Sleep::default() }.into()
}

fn output() -> Entry {
    Output { result: Some(value()), ..Output::default() }.into()
}

fn eager_state() -> Entry {
    GetState { key: "k".into(), result: Some(EntryResult::EMPTY), ..GetState::default() }.into()
}

fn stored(entry: &Entry) -> Bytes {
    Message::Entry(entry.clone()).encode(V3).to_bytes()
}

fn open(version: ProtocolVersion, entries: &[Entry]) -> MutableRuntimeAttempt {
    let journal: Vec<_> = [input()].iter().chain(entries).map(stored).collect();
    let records = journal.iter().map(|record| &record[..]);
    MutableRuntimeAttempt::open(version, StartMessage::default(), records)
        .expect("a valid journal")
        .0
}

fn send(
    attempt: &mut MutableRuntimeAttempt,
    message: &Message,
) -> Result<EntryAction, ProtocolViolation> {
    let frame = message.encode(attempt.version);
    attempt.receive(&frame.to_bytes()).map(|mut actions| actions.pop().expect("one action"))
}

fn ask_for_ack(attempt: &mut MutableRuntimeAttempt, entry: Entry) {
    let frame = Message::Entry(entry).encode(attempt.version).flagged(Flags::REQUIRES_ACK);
    attempt.receive(&frame.to_bytes()).unwrap();
}

#[test]
fn a_run_a_sleep_and_a_return() {
    let (mut attempt, sent) = MutableRuntimeAttempt::open(
        V2,
        StartMessage { debug_id: "i".into(), ..StartMessage::default() },
        [&stored(&input())[..]],
    )
    .unwrap();
    // Start with one entry; then the input with its value.
    let expected: &[u8] = b"\0\0\0\0\0\0\0\x05\x12\x01i\x18\x01\x04\0\0\0\0\0\0\x03\x72\x01v";
    assert_eq!(sent[..], *expected);
    // Type 0c05, with the `REQUIRES_ACK` flag, a name and a value.
    let record = b"\x0c\x05\0\0\0\0\0\x06\x62\x01r\x72\x01v";
    let actions = attempt.receive(b"\x0c\x05\x80\0\0\0\0\x06\x62\x01r\x72\x01v").unwrap();
    let record = Bytes::from_static(record);
    assert_eq!(
        actions,
        [EntryAction::Append { index: 1, entry: run(), record, requires_ack: true }]
    );
    assert_eq!(attempt.acknowledge(1).unwrap()[..], *b"\0\x04\0\0\0\0\0\x02\x08\x01");
    let actions = attempt.receive(b"\x0c\0\0\0\0\0\0\x02\x08\x09").unwrap();
    let record = Bytes::from_static(b"\x0c\0\0\0\0\0\0\x02\x08\x09");
    assert_eq!(
        actions,
        [EntryAction::Append { index: 2, entry: sleep(), record, requires_ack: false }]
    );
    let sent = attempt.complete(2, &EntryResult::EMPTY).unwrap();
    assert_eq!(sent[..], *b"\0\x01\0\0\0\0\0\x04\x08\x02\x6a\0");
    let actions = attempt.receive(b"\x04\x01\0\0\0\0\0\x03\x72\x01v\0\x05\0\0\0\0\0\0").unwrap();
    assert!(
        matches!(&actions[0], EntryAction::Append { index: 3, entry, .. } if *entry == output())
    );
    assert_eq!(actions[1], EntryAction::Ended);
    assert_eq!(attempt.end_of_input(), Ok(()));
}

#[test]
fn an_attempt_opens_with_the_journal_and_the_results_in_it() {
    let slept = Frame::from_bytes(&stored(&sleep())).unwrap();
    let slept = complete(&slept, &EntryResult::EMPTY, V2).unwrap();
    let asking = Message::Entry(run()).encode(V2).flagged(Flags::REQUIRES_ACK).to_bytes();
    let journal = [stored(&input()), slept.to_bytes(), asking, stored(&sleep())];
    let records = journal.iter().map(|record| &record[..]);
    let (mut attempt, sent) =
        MutableRuntimeAttempt::open(V2, StartMessage::default(), records).unwrap();
    let mut expected = Message::Start(StartMessage { known_entries: 4, ..StartMessage::default() })
        .encode(V2)
        .to_bytes()
        .to_vec();
    for record in [&stored(&input()), &slept.to_bytes(), &stored(&run()), &stored(&sleep())] {
        expected.extend_from_slice(record);
    }
    assert_eq!(sent[..], expected);
    // Entries with a result are not completed again; entries without one are.
    assert!(attempt.complete(1, &EntryResult::EMPTY).is_err());
    assert!(attempt.acknowledge(2).is_err(), "the journal says so");
    assert!(!attempt.complete(3, &EntryResult::EMPTY).unwrap().is_empty());
}

#[test]
fn the_frames_of_a_deployment_are_checked() {
    let entry = |entry: Entry| Message::Entry(entry);
    let suspension =
        |indexes: &[u32]| Message::Suspension(Suspension { entry_indexes: indexes.to_vec() });
    let cancel = |index| {
        let target = Some(CancelTarget::CallEntryIndex(index));
        entry(CancelInvocation { target, ..CancelInvocation::default() }.into())
    };
    let begun = |index| {
        let get = GetCallInvocationId { call_entry_index: index, ..GetCallInvocationId::default() };
        entry(get.into())
    };
    let error = || Message::Error(ErrorMessage::default());
    let completion = Completion { entry_index: 0, result: Some(EntryResult::EMPTY) };
    let rows: Vec<(&str, Vec<Message>, u16, Option<u32>)> = vec![
        ("after End", vec![entry(output()), Message::End, Message::End], 5, None),
        ("after Error", vec![error(), entry(sleep())], 0x0C00, None),
        ("after Suspension", vec![entry(sleep()), suspension(&[1]), error()], 3, None),
        ("without an output", vec![Message::End], 5, None),
        ("after the output", vec![entry(output()), entry(output())], 0x0401, Some(2)),
        ("after the output", vec![entry(output()), entry(sleep())], 0x0C00, Some(2)),
        ("after the output", vec![entry(sleep()), entry(output()), suspension(&[1])], 2, None),
        ("by the runtime", vec![entry(input())], 0x0400, Some(1)),
        ("for nothing", vec![suspension(&[])], 2, None),
        ("entry 1, which the journal", vec![suspension(&[1])], 2, None),
        ("entry 0, which gets no result", vec![suspension(&[0])], 2, None),
        (
            "entry 2, which gets no result",
            vec![entry(sleep()), entry(ClearState::default().into()), suspension(&[1, 2])],
            2,
            None,
        ),
        ("results that it has received", vec![entry(run()), suspension(&[1])], 2, None),
        ("results that it has received", vec![entry(eager_state()), suspension(&[1])], 2, None),
        ("names entry 0, which is no call", vec![cancel(0)], 0x0C06, Some(1)),
        ("names entry 2, which is no call", vec![entry(sleep()), cancel(2)], 0x0C06, Some(2)),
        ("names entry 1, which is no call", vec![entry(sleep()), begun(1)], 0x0C07, Some(2)),
        ("never from a deployment", vec![Message::Start(StartMessage::default())], 0, None),
        ("never from a deployment", vec![Message::Completion(completion)], 1, None),
        ("never from a deployment", vec![Message::EntryAck(EntryAck { entry_index: 0 })], 4, None),
    ];
    for (expected, messages, number, index) in rows {
        let mut attempt = open(V3, &[]);
        let (last, before) = messages.split_last().unwrap();
        for message in before {
            send(&mut attempt, message).unwrap_or_else(|early| panic!("{expected}: {early}"));
        }
        let violation = send(&mut attempt, last).expect_err(expected);
        assert!(violation.what.contains(expected), "{violation} is not {expected}");
        assert_eq!(violation.code, 571);
        assert_eq!(violation.frame.map(|frame| frame.number), Some(number), "{violation}");
        assert_eq!(violation.index, index, "{violation}");
        assert!(attempt.is_over(), "{violation}");
        assert!(send(&mut attempt, &error()).unwrap_err().what.contains("comes after"));
    }
    // References to both kinds of calls are valid.
    let mut attempt = open(V3, &[Call::default().into(), OneWayCall::default().into()]);
    for message in [cancel(1), cancel(2), begun(1), begun(2)] {
        send(&mut attempt, &message).unwrap();
    }
}

#[test]
fn a_broken_entry_is_named_with_its_place() {
    let mut attempt = open(V1, &[sleep()]);
    let violation = attempt.receive(b"\x04\x01\0\0\0\0\0\0").unwrap_err();
    assert_eq!(violation.to_string(), "Output (0x0401) at index 2: has no result");
    let mut attempt = open(V2, &[]);
    let violation = attempt.receive(b"\x0c\x06\0\0\0\0\0\0").unwrap_err();
    let expected = "CancelInvocation (0x0c06) at index 1: is not part of V2, but of V3";
    assert_eq!(violation.to_string(), expected);
    let (mut attempt, _) = MutableRuntimeAttempt::open_with_limit(
        V1,
        StartMessage::default(),
        [&stored(&input())[..]],
        3,
    )
    .unwrap();
    let violation = attempt.receive(b"\x04\x01\0\0\0\0\0\x04").unwrap_err();
    assert!(violation.to_string().starts_with("Output (0x0401): a message"), "{violation}");
    assert!(attempt.is_over());
}

#[test]
fn a_response_has_an_end() {
    let violation = open(V1, &[]).end_of_input().unwrap_err();
    assert!(violation.what.contains("without End"), "{violation}");
    assert_eq!(violation.code, 500);
    let mut attempt = open(V1, &[output()]);
    attempt.receive(b"\0\x05\0").unwrap();
    let violation = attempt.end_of_input().unwrap_err();
    assert!(violation.what.contains("3 bytes"), "{violation}");
}

#[test]
fn a_result_comes_once_to_what_gets_one() {
    let awakeable: Entry = Awakeable::default().into();
    let custom = Custom { number: 0xFC02, name: String::new(), payload: Bytes::new() };
    let mut attempt = open(V3, &[sleep(), run(), eager_state(), awakeable, Entry::Custom(custom)]);
    let failure = EntryResult::Failure(Failure::new(409, "cancelled"));
    let rows = [
        (1, value(), "a Sleep must not have a value"),
        (0, value(), "gets no result"),
        (2, value(), "gets no result"),
        (3, EntryResult::EMPTY, "has its result already"),
        (4, EntryResult::EMPTY, "must not have an empty result"),
        (5, value(), "gets no result"),
        (6, value(), "no such entry"),
    ];
    for (index, result, expected) in rows {
        let violation = attempt.complete(index, &result).unwrap_err();
        assert!(violation.what.contains(expected), "{violation} is not {expected}");
        assert_eq!(violation.index, Some(index));
    }
    for index in [1, 4] {
        assert!(!attempt.complete(index, &failure).unwrap().is_empty(), "as it is cancelled");
        assert!(attempt.complete(index, &failure).is_err(), "once");
    }
    assert!(attempt.acknowledge(2).is_err(), "it did not ask");
    ask_for_ack(&mut attempt, run());
    assert!(!attempt.acknowledge(6).unwrap().is_empty());
    assert!(attempt.acknowledge(6).is_err(), "once");
    assert!(attempt.acknowledge(7).is_err());
}

#[test]
fn a_journal_is_checked_when_it_is_opened() {
    let rows: [(&str, Vec<Bytes>); 7] = [
        ("its input at least", vec![]),
        ("before the input", vec![stored(&sleep()), stored(&input())]),
        ("a second input", vec![stored(&input()), stored(&input())]),
        ("not one frame", vec![stored(&input()), Bytes::from_static(b"\x0c\0\0\0\0\0\0\x01")]),
        ("not part of a journal", vec![stored(&input()), Message::End.encode(V1).to_bytes()]),
        ("without a result", vec![stored(&input()), Bytes::from_static(b"\x0c\0\0\x01\0\0\0\0")]),
        ("after the output", vec![stored(&input()), stored(&output()), stored(&sleep())]),
    ];
    for (expected, journal) in rows {
        let records = journal.iter().map(|record| &record[..]);
        let violation =
            MutableRuntimeAttempt::open(V3, StartMessage::default(), records).unwrap_err();
        assert!(violation.what.contains(expected), "{violation} is not {expected}");
    }
}

/// Returns `ready` of a suspension on `indexes` after `prepare`. The journal has two sleeps.
fn suspended(
    indexes: &[u32],
    prepare: impl FnOnce(&mut MutableRuntimeAttempt),
) -> Result<bool, ProtocolViolation> {
    let mut attempt = open(V2, &[sleep(), sleep()]);
    prepare(&mut attempt);
    let suspension = Suspension { entry_indexes: indexes.to_vec() };
    match send(&mut attempt, &Message::Suspension(suspension))? {
        EntryAction::Suspend(suspended) => {
            assert_eq!(suspended.indexes, indexes.iter().copied().collect());
            Ok(suspended.ready)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wait_is_over_when_what_it_waits_for_is_there_already() {
    let empty = EntryResult::Empty(Void {});
    assert_eq!(suspended(&[1, 2], |attempt| attempt.half_close()), Ok(false));
    let late = |attempt: &mut MutableRuntimeAttempt| {
        attempt.half_close();
        assert!(attempt.complete(1, &empty).unwrap().is_empty());
    };
    assert_eq!(suspended(&[1, 2], late), Ok(true));
    assert_eq!(suspended(&[2], late), Ok(false));
    let crossing = |attempt: &mut MutableRuntimeAttempt| drop(attempt.complete(1, &empty).unwrap());
    assert_eq!(suspended(&[1], crossing), Ok(true));
    let seen = |attempt: &mut MutableRuntimeAttempt| {
        crossing(attempt);
        attempt.half_close();
    };
    let violation = suspended(&[1], seen).unwrap_err();
    assert!(violation.what.contains("results that it has received"), "{violation}");
    assert_eq!(suspended(&[1, 2], seen), Ok(false));
}

#[test]
fn a_wait_for_a_run_is_over_when_the_run_is_stored() {
    let stored = |attempt: &mut MutableRuntimeAttempt| {
        attempt.half_close();
        ask_for_ack(attempt, run());
    };
    assert_eq!(suspended(&[3], stored), Ok(true));
    assert_eq!(suspended(&[1], stored), Ok(false));
    let late = |attempt: &mut MutableRuntimeAttempt| {
        stored(attempt);
        assert!(attempt.acknowledge(3).unwrap().is_empty());
    };
    assert_eq!(suspended(&[3], late), Ok(true));
    let seen = |attempt: &mut MutableRuntimeAttempt| {
        ask_for_ack(attempt, run());
        attempt.acknowledge(3).unwrap();
        attempt.half_close();
    };
    assert!(suspended(&[3], seen).is_err());
}

/// Recorded output of the core of an SDK that speaks V3 (restate-sdk-shared-core 0.2.0), with every
/// kind of entry that it has.
const RECORDED: &str = "\
    08000000000000030a016108040000000000000c00000000000002080c0c0100000000000f0a01531201681a01782a01\
    6b3201690c0300000000000008080000000000030a017008090000000000030a0170080a0000000000060a0170120176\
    0c020000000000110a01531201681a0178200532016b3a016908010000000000060a01611a013108020000000000030a\
    016108030000000000000c040000000000170a0c70726f6d5f314141414141417a0708a20312026e6f0c070000000000\
    0208040c0600000000000210040c080000000000050a03696e760c0900000000000822060a017712016b0c0580000000\
    00096201727204646f6e65040100000000000572036f75740005000000000000";

#[test]
fn an_sdk_is_understood_in_everything_it_asks() {
    let digits: Vec<u8> =
        RECORDED.bytes().map(|digit| char::from(digit).to_digit(16).unwrap() as u8).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    let mut attempt = open(V3, &[]);
    let mut actions = Vec::new();
    for piece in bytes.chunks(7) {
        actions.extend(attempt.receive(piece).unwrap());
    }
    let mut asked = Vec::new();
    for action in &actions[..actions.len() - 1] {
        let EntryAction::Append { index, entry, requires_ack, .. } = action else {
            panic!("{action:?}")
        };
        assert_eq!(*index as usize, asked.len() + 1);
        assert_eq!(*requires_ack, entry.kind() == Some(EntryKind::Run));
        asked.push(entry.kind().unwrap());
    }
    use EntryKind as Kind;
    let expected = [
        Kind::GetState,
        Kind::GetStateKeys,
        Kind::Sleep,
        Kind::Call,
        Kind::Awakeable,
        Kind::GetPromise,
        Kind::PeekPromise,
        Kind::CompletePromise,
        Kind::OneWayCall,
        Kind::SetState,
        Kind::ClearState,
        Kind::ClearAllState,
        Kind::CompleteAwakeable,
        Kind::GetCallInvocationId,
        Kind::CancelInvocation,
        Kind::AttachInvocation,
        Kind::GetInvocationOutput,
        Kind::Run,
        Kind::Output,
    ];
    assert_eq!(asked, expected);
    assert_eq!(actions.last(), Some(&EntryAction::Ended));
    assert_eq!(attempt.end_of_input(), Ok(()));
    // In V2 the first entry of a later version is a violation.
    let violation = open(V2, &[]).receive(&bytes).unwrap_err();
    assert!(violation.to_string().starts_with("GetCallInvocationId (0x0c07) at index 14"));
}
