//! Violations of the protocol, each provoked; and evaluation of waits.

use super::*;
use crate::{
    ProtocolVersion::*,
    immutable::{
        self, Call, ClearAllState, Combinator, ErrorMessage, Input, NotificationKind,
        NotificationResult, Output, OutputResult, Proposal, ProposeRunCompletion, Run, Sleep,
        Suspension,
    },
    wire::OperationOutcome,
};

fn input() -> Bytes {
    stored(Input::default())
}

fn stored(command: impl Into<Command>) -> Bytes {
    Message::Command(command.into()).encode(V8).to_bytes()
}

fn told(notification: Notification) -> Bytes {
    Message::Notification(notification).encode(V8).to_bytes()
}

fn run(id: u32) -> Run {
    Run { result_completion_id: id, name: "r".into() }
}

fn sleep(id: u32) -> Sleep {
    Sleep { result_completion_id: id, ..Sleep::default() }
}

fn output() -> Output {
    Output { result: Some(OutputResult::Value(ValueMessage::default())), name: String::new() }
}

fn slept(id: u32) -> Notification {
    Notification::completion(NotificationKind::Sleep, id, NotificationResult::Void)
}

fn ran(id: u32) -> Notification {
    Notification::run(id, OperationOutcome::Success("v".into()))
}

fn suspension(awaiting: Future) -> Message {
    Message::Suspension(Suspension { awaiting })
}

fn first_of(ids: &[u32]) -> Future {
    Future::first_of(ids.iter().map(|id| NotificationId::Completion(*id)))
}

fn proposal(id: u32) -> Message {
    let result = Some(Proposal::Value("v".into()));
    Message::ProposeRunCompletion(ProposeRunCompletion { result_completion_id: id, result })
}

fn open(version: ProtocolVersion, journal: &[Bytes]) -> ImmutableRuntimeAttempt {
    let journal = std::iter::once(input()).chain(journal.iter().cloned()).collect::<Vec<_>>();
    let records = journal.iter().map(|record| &record[..]);
    ImmutableRuntimeAttempt::open(version, StartMessage::default(), records)
        .expect("a valid journal")
        .0
}

fn send(
    attempt: &mut ImmutableRuntimeAttempt,
    message: &Message,
) -> Result<CommandAction, ProtocolViolation> {
    let frame = message.encode(attempt.version);
    attempt.receive(&frame.to_bytes()).map(|mut actions| actions.pop().expect("one action"))
}

fn ask(
    attempt: &mut ImmutableRuntimeAttempt,
    command: impl Into<Command>,
) -> Result<CommandAction, ProtocolViolation> {
    send(attempt, &Message::Command(command.into()))
}

#[test]
fn an_attempt_opens_with_the_journal_as_it_was_stored() {
    let journal = [input(), stored(sleep(1)), stored(run(2)), told(ran(2)), told(slept(1))];
    let start =
        StartMessage { debug_id: "inv".into(), known_entries: 77, ..StartMessage::default() };
    let records = journal.iter().map(|record| &record[..]);
    let (_, sent) = ImmutableRuntimeAttempt::open(V6, start.clone(), records).unwrap();
    let start = Message::Start(StartMessage { known_entries: 5, ..start }).encode(V6).to_bytes();
    let expected: Vec<u8> = start.into_iter().chain(journal.into_iter().flatten()).collect();
    assert_eq!(sent[..], expected);
}

#[test]
fn a_command_is_stored_without_its_wish_to_be_acknowledged() {
    let mut attempt = open(V6, &[]);
    let frame = Message::Command(sleep(4).into()).encode(V6);
    let asking = frame.clone().flagged(Flags::REQUIRES_ACK);
    let actions = attempt.receive(&asking.to_bytes()).unwrap();
    let record = frame.to_bytes();
    let command = sleep(4).into();
    assert_eq!(actions, [CommandAction::Append { index: 1, command, record, requires_ack: true }]);
    let ack = attempt.acknowledge(1).unwrap();
    assert_eq!(ack[..], [0, 4, 0, 0, 0, 0, 0, 2, 8, 1]);
    assert!(attempt.acknowledge(1).is_err(), "once");
    ask(&mut attempt, run(5)).unwrap();
    assert!(attempt.acknowledge(2).is_err(), "only what asked");
    // A journal record with the flag is sent without it.
    let (_, sent) = ImmutableRuntimeAttempt::open(
        V6,
        StartMessage::default(),
        [&input()[..], &asking.to_bytes()[..]],
    )
    .unwrap();
    assert!(sent.ends_with(&frame.to_bytes()));
}

#[test]
fn a_run_is_answered_as_its_proposal_asks() {
    // Version, flags, and expected type of the answer.
    for (version, flags, expected) in [
        (V5, Flags::NONE, 0x8011),
        (V6, Flags::NONE, 0x8011),
        (V7, Flags::NONE, 0x8011),
        (V7, Flags::REQUIRES_ACK, 0x0007),
        (V8, Flags::REQUIRES_ACK, 0x0007),
    ] {
        let mut attempt = open(version, &[]);
        ask(&mut attempt, run(1)).unwrap();
        let frame = proposal(1).encode(version).flagged(flags);
        let actions = attempt.receive(&frame.to_bytes()).unwrap();
        let outcome = OperationOutcome::Success("v".into());
        let requires_ack = flags == Flags::REQUIRES_ACK;
        let expected_action = CommandAction::ProposeRun { completion_id: 1, outcome, requires_ack };
        assert_eq!(actions, [expected_action], "{version}");
        let sent = Frame::from_bytes(&attempt.notify(&ran(1)).unwrap()).unwrap();
        assert_eq!(sent.number, expected, "{version}");
    }
}

#[test]
fn the_frames_of_a_deployment_are_checked() {
    type Row = (ProtocolVersion, &'static str, Vec<Message>, u16, Option<u32>);
    let command = |command: Command| Message::Command(command);
    let call = |first, second| Call {
        invocation_id_completion_id: first,
        result_completion_id: second,
        ..Call::default()
    };
    let signal = |index| Future::first_of([NotificationId::Signal(index)]);
    let read = Message::GetStateEphemeral(immutable::GetStateEphemeral {
        ephemeral_completion_id: 1,
        key: "k".into(),
    });
    let ack = Message::ProposeRunCompletionAck(ProposeRunCompletionAck { completion_id: 1 });
    let rows: Vec<Row> = vec![
        (V6, "after End", vec![command(output().into()), Message::End, Message::End], 3, None),
        (
            V6,
            "after Error",
            vec![Message::Error(ErrorMessage::default()), command(sleep(1).into())],
            0x040C,
            None,
        ),
        (
            V6,
            "after Suspension",
            vec![suspension(signal(1)), Message::Error(ErrorMessage::default())],
            2,
            None,
        ),
        (V6, "without an output", vec![Message::End], 3, None),
        (
            V6,
            "after the output",
            vec![command(output().into()), command(output().into())],
            0x0401,
            Some(2),
        ),
        (
            V6,
            "after the output",
            vec![command(output().into()), command(ClearAllState::default().into())],
            0x0405,
            Some(2),
        ),
        (V6, "after the output", vec![command(output().into()), suspension(signal(1))], 1, None),
        (V6, "by the runtime", vec![command(Input::default().into())], 0x0400, Some(1)),
        (V6, "above 0", vec![command(sleep(0).into())], 0x040C, Some(1)),
        (V6, "above 1", vec![command(sleep(1).into()), command(run(1).into())], 0x0411, Some(2)),
        (V6, "above 5", vec![command(sleep(5).into()), command(run(4).into())], 0x0411, Some(2)),
        (V6, "above 0", vec![command(call(0, 1).into())], 0x040D, Some(1)),
        (V6, "2 twice", vec![command(call(2, 2).into())], 0x040D, Some(1)),
        (
            V6,
            "above 3",
            vec![command(call(3, 2).into()), command(sleep(3).into())],
            0x040C,
            Some(2),
        ),
        (V6, "no run has the completion id 1", vec![proposal(1)], 5, None),
        (V6, "not of a run", vec![command(sleep(1).into()), proposal(1)], 5, Some(1)),
        (V6, "already", vec![command(run(1).into()), proposal(1), proposal(1)], 5, Some(1)),
        (V6, "for nothing", vec![suspension(first_of(&[]))], 1, None),
        (V7, "for nothing", vec![suspension(Future::of(Combinator::AllCompleted))], 1, None),
        (V6, "completion 1, which no command", vec![suspension(first_of(&[1]))], 1, None),
        (
            V7,
            "completion 2, which no command",
            vec![
                command(sleep(1).into()),
                suspension(Future {
                    nested: vec![first_of(&[2])],
                    completions: vec![1],
                    ..Future::default()
                }),
            ],
            1,
            None,
        ),
        (V6, "signal 0", vec![suspension(signal(0))], 1, None),
        (V8, "in progress already", vec![read.clone(), read.clone()], 0x0200, None),
        (V6, "never from a deployment", vec![Message::Start(StartMessage::default())], 0, None),
        (
            V6,
            "never from a deployment",
            vec![Message::CommandAck(CommandAck { command_index: 0 })],
            4,
            None,
        ),
        (
            V6,
            "never from a deployment",
            vec![Message::Notification(Notification::cancel())],
            0xFBFF,
            None,
        ),
        (V7, "never from a deployment", vec![ack], 7, None),
    ];
    for (version, expected, messages, number, index) in rows {
        let mut attempt = open(version, &[]);
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
        // The attempt stays over.
        let after = send(&mut attempt, &Message::Error(ErrorMessage::default()));
        assert!(after.unwrap_err().what.contains("comes after"));
    }
}

#[test]
fn a_broken_command_is_named_with_its_place() {
    let mut attempt = open(V6, &[stored(sleep(1))]);
    let violation = attempt.receive(&Frame::new(0x0401, Bytes::new()).to_bytes()).unwrap_err();
    assert_eq!(violation.to_string(), "Output (0x0401) at index 2: has no result");
    let (mut attempt, _) =
        ImmutableRuntimeAttempt::open_with_limit(V6, StartMessage::default(), [&input()[..]], 3)
            .unwrap();
    let violation = attempt.receive(&[4, 1, 0, 0, 0, 0, 0, 4]).unwrap_err();
    assert!(violation.to_string().starts_with("Output (0x0401): a message"), "{violation}");
    assert!(attempt.is_over());
}

#[test]
fn a_response_has_an_end() {
    let mut attempt = open(V6, &[]);
    let violation = attempt.end_of_input().unwrap_err();
    assert!(violation.what.contains("without End"), "{violation}");
    assert_eq!(violation.code, 500);
    let mut attempt = open(V6, &[stored(output())]);
    attempt.receive(&[0, 3, 0, 0]).unwrap();
    let violation = attempt.end_of_input().unwrap_err();
    assert!(violation.what.contains("4 bytes"), "{violation}");
    let mut attempt = open(V6, &[stored(output())]);
    assert_eq!(attempt.receive(&[0, 3, 0, 0, 0, 0, 0, 0]).unwrap(), [CommandAction::Ended]);
    assert_eq!(attempt.end_of_input(), Ok(()));
}

#[test]
fn a_notification_is_told_once_to_what_asked_for_it() {
    let mut attempt = open(V6, &[stored(sleep(1)), stored(run(2)), told(ran(2))]);
    let refused = |attempt: &mut ImmutableRuntimeAttempt, notification| {
        attempt.notify(&notification).unwrap_err()
    };
    let violation = refused(&mut attempt, slept(3));
    assert!(violation.what.contains("no command asked"), "{violation}");
    let violation = refused(&mut attempt, ran(1));
    assert_eq!(
        violation.to_string(),
        "Run completion (0x8011) at index 1: completion 1 is a Sleep completion"
    );
    let violation = refused(&mut attempt, ran(2));
    assert!(violation.what.contains("came before"), "{violation}");
    let violation = refused(
        &mut attempt,
        Notification::completion(
            NotificationKind::Sleep,
            1,
            NotificationResult::Value(Bytes::new()),
        ),
    );
    assert!(violation.what.contains("must not carry a value"), "{violation}");
    let sent = attempt.notify(&slept(1)).unwrap();
    assert_eq!(sent, told(slept(1)));
    let violation = refused(&mut attempt, slept(1));
    assert!(violation.what.contains("came before"), "{violation}");
    // Signals may arrive at any time and repeatedly.
    for _ in 0..2 {
        assert_eq!(attempt.notify(&Notification::cancel()).unwrap(), told(Notification::cancel()));
    }
}

#[test]
fn a_journal_is_checked_when_it_is_opened() {
    let rows: [(&str, Vec<Bytes>); 9] = [
        ("its input at least", vec![]),
        ("before the input", vec![stored(sleep(1)), input()]),
        ("a second input", vec![input(), input()]),
        ("not one frame", vec![input(), Bytes::from_static(b"\x04\x05\0\0\0\0\0\x01")]),
        ("not part of a journal", vec![input(), proposal(1).encode(V6).to_bytes()]),
        ("no command asked", vec![input(), told(slept(1)), stored(sleep(1))]),
        ("came before", vec![input(), stored(sleep(1)), told(slept(1)), told(slept(1))]),
        ("above 1", vec![input(), stored(sleep(1)), stored(sleep(1))]),
        ("after the output", vec![input(), stored(output()), stored(sleep(1))]),
    ];
    for (expected, journal) in rows {
        let records = journal.iter().map(|record| &record[..]);
        let violation =
            ImmutableRuntimeAttempt::open(V6, StartMessage::default(), records).unwrap_err();
        assert!(violation.what.contains(expected), "{violation} is not {expected}");
    }
    // A signal may precede all commands except the input, which is always the first record.
    open(V6, &[told(Notification::cancel()), stored(sleep(1))]);
}

/// Returns `ready` of a suspension on `awaiting`, after `prepare`.
fn suspended(
    journal: &[Bytes],
    awaiting: Future,
    prepare: impl FnOnce(&mut ImmutableRuntimeAttempt),
) -> Result<bool, ProtocolViolation> {
    let mut attempt = open(V7, journal);
    prepare(&mut attempt);
    match send(&mut attempt, &suspension(awaiting.clone()))? {
        CommandAction::Suspend(suspended) => {
            assert_eq!(suspended.awaiting, awaiting);
            Ok(suspended.ready)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wait_is_over_when_what_it_waits_for_is_there_already() {
    let sleeping = [stored(sleep(1)), stored(sleep(2))];
    let half_close = |attempt: &mut ImmutableRuntimeAttempt| attempt.half_close();
    assert_eq!(suspended(&sleeping, first_of(&[1]), half_close), Ok(false));
    // The notification arrived after the end of the request's body.
    let late = |attempt: &mut ImmutableRuntimeAttempt| {
        attempt.half_close();
        assert!(attempt.notify(&slept(1)).unwrap().is_empty());
    };
    assert_eq!(suspended(&sleeping, first_of(&[1, 2]), late), Ok(true));
    assert_eq!(suspended(&sleeping, first_of(&[2]), late), Ok(false));
    let both = Future::all_of([1, 2].map(NotificationId::Completion));
    assert_eq!(suspended(&sleeping, both.clone(), late), Ok(false));
    // The notification was sent while the deployment was already suspending.
    let crossing = |attempt: &mut ImmutableRuntimeAttempt| drop(attempt.notify(&slept(1)).unwrap());
    assert_eq!(suspended(&sleeping, first_of(&[1]), crossing), Ok(true));
    // The notification was sent before the end of the body, so the deployment saw it: waiting for
    // it alone is a violation.
    let seen = |attempt: &mut ImmutableRuntimeAttempt| {
        attempt.notify(&slept(1)).unwrap();
        attempt.half_close();
    };
    let violation = suspended(&sleeping, first_of(&[1]), seen).unwrap_err();
    assert!(violation.what.contains("results that it has received"), "{violation}");
    assert_eq!(suspended(&sleeping, both, seen), Ok(false));
    let replayed = [stored(sleep(1)), told(slept(1))];
    assert!(suspended(&replayed, first_of(&[1]), half_close).is_err());
}

#[test]
fn a_wait_for_a_run_without_an_outcome_needs_another_attempt_at_once() {
    let running = [stored(run(1)), stored(sleep(2))];
    assert_eq!(suspended(&running, first_of(&[1, 2]), |_| {}), Ok(true));
    assert_eq!(suspended(&running, first_of(&[2]), |_| {}), Ok(false));
    // The outcome is being stored in the journal.
    let proposed = |attempt: &mut ImmutableRuntimeAttempt| {
        attempt.half_close();
        send(attempt, &proposal(1)).unwrap();
    };
    assert_eq!(suspended(&running, first_of(&[1]), proposed), Ok(false));
    let stored = |attempt: &mut ImmutableRuntimeAttempt| {
        proposed(attempt);
        assert!(attempt.notify(&ran(1)).unwrap().is_empty());
    };
    assert_eq!(suspended(&running, first_of(&[1]), stored), Ok(true));
}

#[test]
fn a_signal_that_was_seen_does_not_end_the_wait_for_the_next() {
    let cancel = || Future::first_of([NotificationId::Signal(1)]);
    let told_before = [told(Notification::cancel())];
    assert_eq!(suspended(&told_before, cancel(), |_| {}), Ok(false));
    let seen = |attempt: &mut ImmutableRuntimeAttempt| {
        attempt.notify(&Notification::cancel()).unwrap();
        attempt.half_close();
    };
    assert_eq!(suspended(&[], cancel(), seen), Ok(false));
    let late = |attempt: &mut ImmutableRuntimeAttempt| {
        attempt.half_close();
        attempt.notify(&Notification::cancel()).unwrap();
    };
    assert_eq!(suspended(&[], cancel(), late), Ok(true));
}

#[test]
fn reads_that_are_not_journaled_are_answered_once() {
    let mut attempt = open(V8, &[]);
    let read = immutable::GetStateEphemeral { ephemeral_completion_id: 3, key: "k".into() };
    let action = send(&mut attempt, &Message::GetStateEphemeral(read)).unwrap();
    assert_eq!(action, CommandAction::ReadState { ephemeral_completion_id: 3, key: "k".into() });
    assert!(attempt.answer_state(4, None).is_err());
    let sent = attempt.answer_state(3, Some("v".into())).unwrap();
    let value = ValueMessage { content: "v".into() };
    let expected =
        EphemeralState { ephemeral_completion_id: 3, result: Some(EphemeralResult::Value(value)) };
    assert_eq!(sent, Message::EphemeralState(expected).encode(V8).to_bytes());
    assert!(attempt.answer_state(3, None).is_err());
    // After the end of the request's body nothing can be sent.
    let read = immutable::GetStateEphemeral { ephemeral_completion_id: 5, key: "k".into() };
    send(&mut attempt, &Message::GetStateEphemeral(read)).unwrap();
    attempt.half_close();
    assert!(attempt.answer_state(5, None).unwrap().is_empty());
}
