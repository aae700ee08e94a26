//! Conversations as they were seen between released SDKs and servers, frame by frame and field by
//! field; and what is said of handlers that changed.

use super::{server::Server, *};
use crate::{
    ProtocolVersion::{self, *},
    failure,
    frame::Frame,
    immutable::{
        Call, Command, ErrorBehavior, ErrorMessage, Future, InvocationTarget, Message,
        Notification, NotificationId, NotificationKind, NotificationResult, OneWayCall, Output,
        OutputResult, SignalKey, SignalResult,
    },
    runtime::immutable::Action,
    wire::{Failure, FailureMetadata, Outcome, Start, StateEntry, Value, WorkflowTarget},
};

/// A start as a server sends it for a plain service.
fn start() -> Start {
    Start {
        id: vec![7; 24].into(),
        debug_id: "inv_1".into(),
        partial_state: true,
        since_last_entry_ms: 1,
        random_seed: 1,
        ..Start::default()
    }
}

/// And of an object, with the whole state.
fn object(entries: &[(&'static str, &'static str)]) -> Start {
    let entry = |(key, value): &(&'static str, &'static str)| StateEntry {
        key: (*key).into(),
        value: (*value).into(),
    };
    let state_map = entries.iter().map(entry).collect();
    Start { partial_state: false, key: "k1".into(), state_map, ..start() }
}

fn success(value: &'static str) -> Outcome {
    Outcome::Success(value.into())
}

fn value(value: &'static str) -> NotificationResult {
    NotificationResult::Value(value.into())
}

fn completion(kind: NotificationKind, id: u32, result: NotificationResult) -> Notification {
    Notification::completion(kind, id, result)
}

fn wait(id: u32) -> Future {
    Future::first_of([NotificationId::Completion(id), NotificationId::Signal(1)])
}

/// Compares what was sent since the start with `(side, type, fields)`.
fn sent(server: &Server, expected: &[(char, u16, &[u32])]) {
    let actual: Vec<_> = server
        .trace
        .iter()
        .map(|(side, number, fields)| format!("{side} {number:04x} {fields:?}"))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(side, number, fields)| format!("{side} {number:04x} {fields:?}"))
        .collect();
    assert_eq!(actual, expected);
}

const START: (char, u16, &[u32]) = ('R', 0x0000, &[1, 2, 3, 5, 8, 9]);
const INPUT: (char, u16, &[u32]) = ('R', 0x0400, &[14]);
const END: (char, u16, &[u32]) = ('S', 0x0003, &[]);

#[test]
fn echo() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "hi");
    let input = attempt.input().value.clone().unwrap().content;
    attempt.finish(Outcome::Success(input)).unwrap();
    let actions = server.exchange(&mut attempt);
    let Action::Append { index: 1, command: Command::Output(output), .. } = &actions[0] else {
        panic!("{actions:?}");
    };
    assert_eq!(output.result, Some(OutputResult::Value(Value { content: "hi".into() })));
    assert_eq!(actions[1], Action::Ended);
    assert_eq!(server.runtime.end_of_input(), Ok(()));
    sent(&server, &[START, INPUT, ('S', 0x0401, &[14]), END]);
}

#[test]
fn call() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "hi");
    let call = Call {
        service_name: "T".into(),
        handler_name: "echo".into(),
        parameter: "hi".into(),
        ..Call::default()
    };
    let handle = attempt.call(call).unwrap();
    assert_eq!(handle, CallHandle { invocation_id: 1, result: 2 });
    server.exchange(&mut attempt);
    assert_eq!(attempt.next_notification(), Ok(None));
    let callee = NotificationResult::InvocationId("inv_2".into());
    let begun = completion(NotificationKind::CallInvocationId, 1, callee);
    let ended = completion(NotificationKind::Call, 2, value("hi"));
    server.tell(&mut attempt, begun.clone());
    assert_eq!(attempt.next_notification(), Ok(Some(begun)));
    assert_eq!(attempt.open_calls()[0].invocation_id.as_deref(), Some("inv_2"));
    server.tell(&mut attempt, ended.clone());
    assert_eq!(attempt.next_notification(), Ok(Some(ended)));
    assert!(attempt.open_calls().is_empty());
    sent(
        &server,
        &[
            START,
            INPUT,
            ('S', 0x040D, &[1, 2, 3, 10, 11]),
            ('R', 0x800E, &[1, 16]),
            ('R', 0x800D, &[1, 5]),
        ],
    );
}

#[test]
fn an_object_adds_to_state_that_it_has() {
    let (mut server, mut attempt) = Server::begin(V6, object(&[]), "1");
    assert_eq!(attempt.state("v", ""), Ok(StateRead::Known(None)));
    attempt.set_state("v", "1", "").unwrap();
    assert_eq!(attempt.state_keys(""), Ok(KeysRead::Known(vec!["v".into()])));
    attempt.clear_state("w", "").unwrap();
    attempt.finish(success("1")).unwrap();
    server.exchange(&mut attempt);
    sent(
        &server,
        &[
            ('R', 0x0000, &[1, 2, 3, 6, 8, 9]),
            INPUT,
            ('S', 0x0407, &[1, 13]),
            ('S', 0x0403, &[1, 3]),
            ('S', 0x0408, &[14]),
            ('S', 0x0404, &[1]),
            ('S', 0x0401, &[14]),
            END,
        ],
    );
}

#[test]
fn lazy_state_is_asked_for() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    assert_eq!(attempt.state("v", ""), Ok(StateRead::Asked(1)));
    server.exchange(&mut attempt);
    server.tell(&mut attempt, completion(NotificationKind::LazyState, 1, value("1")));
    assert_eq!(attempt.state_keys(""), Ok(KeysRead::Asked(2)));
    server.exchange(&mut attempt);
    let keys = NotificationResult::StateKeys(vec!["v".into()]);
    server.tell(&mut attempt, completion(NotificationKind::LazyStateKeys, 2, keys));
    attempt.clear_all_state("").unwrap();
    assert_eq!(attempt.state("v", ""), Ok(StateRead::Known(None)), "known since it was cleared");
    server.exchange(&mut attempt);
    sent(
        &server,
        &[
            START,
            INPUT,
            ('S', 0x0402, &[1, 11]),
            ('R', 0x8002, &[1, 5]),
            ('S', 0x0406, &[11]),
            ('R', 0x8006, &[1, 17]),
            ('S', 0x0405, &[]),
            ('S', 0x0407, &[1, 13]),
        ],
    );
}

#[test]
fn a_child_is_cancelled() {
    let (mut parent, mut attempt) = Server::begin(V6, start(), "");
    let send =
        OneWayCall { service_name: "T".into(), handler_name: "h".into(), ..Default::default() };
    assert_eq!(attempt.send(send), Ok(1));
    parent.exchange(&mut attempt);
    let callee = NotificationResult::InvocationId("inv_2".into());
    parent.tell(&mut attempt, completion(NotificationKind::CallInvocationId, 1, callee));
    attempt.cancel_invocation("inv_2").unwrap();
    let target = InvocationTarget::InvocationId("inv_2".into());
    assert_eq!(attempt.attach(target, ""), Ok(2));
    let actions = parent.exchange(&mut attempt);
    let Action::Append { command: Command::SendSignal(signal), .. } = &actions[0] else {
        panic!("{actions:?}");
    };
    assert_eq!(signal.signal, Some(SignalKey::Index(1)));

    let (mut child, mut attempt_of_child) = Server::begin(V6, start(), "");
    child.tell(&mut attempt_of_child, Notification::cancel());
    let told = attempt_of_child.next_notification().unwrap().unwrap();
    assert_eq!(told.id, NotificationId::Signal(1));
    let cancelled = Failure::new(failure::CONFLICT, "Cancelled");
    attempt_of_child.finish(Outcome::Failure(cancelled.clone())).unwrap();
    child.exchange(&mut attempt_of_child);
    sent(&child, &[START, INPUT, ('R', 0xFBFF, &[2, 4]), ('S', 0x0401, &[15]), END]);

    let failed = NotificationResult::Failure(cancelled);
    parent.tell(&mut attempt, completion(NotificationKind::AttachInvocation, 2, failed));
    sent(
        &parent,
        &[
            START,
            INPUT,
            ('S', 0x040E, &[1, 2, 10]),
            ('R', 0x800E, &[1, 16]),
            ('S', 0x0410, &[1, 2, 4]),
            ('S', 0x0412, &[1, 11]),
            ('R', 0x8012, &[1, 6]),
        ],
    );
}

#[test]
fn a_promise_is_looked_at_waited_for_and_completed_twice() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    assert_eq!(attempt.peek_promise("p", ""), Ok(1));
    server.exchange(&mut attempt);
    server
        .tell(&mut attempt, completion(NotificationKind::PeekPromise, 1, NotificationResult::Void));
    assert_eq!(attempt.promise("p", ""), Ok(2));
    server.exchange(&mut attempt);
    server.tell(&mut attempt, completion(NotificationKind::GetPromise, 2, value("v")));
    assert_eq!(attempt.complete_promise("p", success("w"), ""), Ok(3));
    server.exchange(&mut attempt);
    let failure = Failure::new(failure::CONFLICT, "promise was already completed");
    let refused = NotificationResult::Failure(failure);
    server.tell(&mut attempt, completion(NotificationKind::CompletePromise, 3, refused));
    sent(
        &server,
        &[
            START,
            INPUT,
            ('S', 0x040A, &[1, 11]),
            ('R', 0x800A, &[1, 4]),
            ('S', 0x0409, &[1, 11]),
            ('R', 0x8009, &[1, 5]),
            ('S', 0x040B, &[1, 2, 11]),
            ('R', 0x800B, &[1, 6]),
        ],
    );
}

#[test]
fn a_sleep_outlasts_an_attempt() {
    let (mut server, mut attempt) = Server::begin(V7, start(), "");
    assert_eq!(attempt.sleep(1_000, ""), Ok(1));
    assert_eq!(attempt.next_notification(), Ok(None));
    for _ in 0..3 {
        attempt.awaiting_on(wait(1), false).unwrap();
    }
    server.exchange(&mut attempt);
    server.tell(&mut attempt, Notification::named_signal("other", NotificationResult::Void));
    assert!(attempt.next_notification().unwrap().is_some());
    attempt.awaiting_on(wait(1), false).unwrap();
    server.exchange(&mut attempt);
    server.half_close(&mut attempt);
    assert!(attempt.input_ended());
    attempt.suspend(wait(1)).unwrap();
    let actions = server.exchange(&mut attempt);
    let [Action::Suspend(suspended)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!((&suspended.awaiting, suspended.ready), (&wait(1), false));
    let slept = completion(NotificationKind::Sleep, 1, NotificationResult::Void);
    server.store(slept.clone());
    let mut attempt = server.again();
    assert_eq!(attempt.start().known_entries, 4);
    // Another instant, as it is later now.
    assert_eq!(attempt.sleep(2_000, ""), Ok(1));
    assert!(attempt.next_notification().unwrap().is_some());
    assert_eq!(attempt.next_notification(), Ok(Some(slept)));
    attempt.finish(success("")).unwrap();
    assert_eq!(server.exchange(&mut attempt).last(), Some(&Action::Ended));
    sent(
        &server,
        &[
            START,
            INPUT,
            ('S', 0x040C, &[1, 11]),
            ('S', 0x0006, &[1]),
            ('R', 0xFBFF, &[3, 4]),
            ('S', 0x0006, &[1]),
            ('S', 0x0001, &[4]),
            START,
            INPUT,
            ('R', 0x040C, &[1, 11]),
            ('R', 0xFBFF, &[3, 4]),
            ('R', 0x800C, &[1, 4]),
            ('S', 0x0401, &[14]),
            END,
        ],
    );
    let Command::Sleep(sleep) = &server.commands()[1] else { panic!("a sleep") };
    assert_eq!(sleep.wake_up_at_ms, 1_000, "the first attempt's instant stays");
    assert_eq!(attempt.wake_up_at_ms(1), Some(1_000), "and is told");
    assert_eq!(attempt.wake_up_at_ms(2), None);
}

#[test]
fn an_outcome_that_a_driver_answers_at_once_is_taken_before_its_turn() {
    let (mut server, mut attempt) = Server::begin(V7, start(), "");
    attempt.run("now").unwrap();
    attempt.propose_run(1, success("7")).unwrap();
    attempt.sleep(1, "").unwrap();
    server.exchange(&mut attempt);
    assert_eq!(attempt.take_run(1), None, "it is not stored yet");
    let slept = completion(NotificationKind::Sleep, 2, NotificationResult::Void);
    for notification in [slept.clone(), Notification::run(1, success("7"))] {
        server.store(notification);
    }
    let mut attempt = server.again();
    assert!(!attempt.run("now").unwrap().execute);
    assert_eq!(attempt.take_run(1), Some(success("7")));
    assert_eq!(attempt.take_run(1), None);
    attempt.sleep(1, "").unwrap();
    assert_eq!(attempt.take_run(2), None, "a sleep is no run");
    assert_eq!(attempt.next_notification(), Ok(Some(slept)));
    assert_eq!(attempt.next_notification(), Ok(None), "it is no event any more");
}

#[test]
fn a_driver_sees_a_request_to_stop_before_the_handler_does() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    assert!(!attempt.is_cancel_due());
    server.tell(&mut attempt, Notification::signal(17, NotificationResult::Void));
    assert!(!attempt.is_cancel_due());
    server.tell(&mut attempt, Notification::signal(1, NotificationResult::Void));
    assert!(attempt.is_cancel_due());
    attempt.next_notification().unwrap();
    attempt.next_notification().unwrap();
    assert!(!attempt.is_cancel_due(), "it was told");
}

#[test]
fn waits_of_v5_and_v6_are_lists() {
    for version in [V5, V6] {
        let (mut server, mut attempt) = Server::begin(version, start(), "");
        attempt.sleep(1, "").unwrap();
        attempt.awaiting_on(wait(1), false).unwrap();
        attempt.suspend(Future { nested: vec![wait(1)], ..Future::default() }).unwrap();
        let actions = server.exchange(&mut attempt);
        let Some(Action::Suspend(suspended)) = actions.last() else { panic!("{actions:?}") };
        assert_eq!(suspended.awaiting, wait(1), "{version}");
        assert_eq!(server.trace.last(), Some(&('S', 0x0001, vec![1, 2])), "{version}");
    }
}

#[test]
fn a_run_is_acknowledged_by_its_version() {
    for (version, answer) in [(V5, 0x8011), (V6, 0x8011), (V7, 0x0007)] {
        let (mut server, mut attempt) = Server::begin(version, start(), "");
        let run = attempt.run("r").unwrap();
        assert_eq!(run, RunHandle { completion_id: 1, execute: true });
        assert_eq!(attempt.open_runs(), [1]);
        attempt.propose_run(1, success("v")).unwrap();
        assert!(attempt.open_runs().is_empty());
        let again = attempt.propose_run(1, success("v"));
        assert_eq!(again, Err(AttemptError::NoSuchRun { completion_id: 1 }));
        let actions = server.exchange(&mut attempt);
        let Action::ProposeRun { completion_id: 1, outcome, requires_ack } = &actions[1] else {
            panic!("{actions:?}");
        };
        assert_eq!(*requires_ack, version == V7);
        let told = Notification::run(1, outcome.clone());
        server.tell(&mut attempt, told.clone());
        assert_eq!(server.trace.last().unwrap().1, answer, "{version}");
        assert!(attempt.open_runs().is_empty(), "not before its event is taken either");
        assert_eq!(attempt.next_notification(), Ok(Some(told.clone())), "{version}");

        let mut attempt = server.again();
        let run = attempt.run("r").unwrap();
        assert_eq!(run, RunHandle { completion_id: 1, execute: false });
        assert!(attempt.open_runs().is_empty());
        assert_eq!(attempt.next_notification(), Ok(Some(told)));
        assert_eq!(server.trace.last().unwrap().1, 0x8011, "the result stands where the ack was");
    }
}

#[test]
fn a_run_without_an_outcome_is_done_again() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    attempt.run("r").unwrap();
    let error = ErrorMessage {
        stacktrace: "trace".into(),
        next_retry_delay_ms: Some(20),
        behavior: ErrorBehavior::Pause.into(),
        ..ErrorMessage::new(500, "boom")
    };
    attempt.fail_run(1, error);
    let actions = server.exchange(&mut attempt);
    let Some(Action::Failed(error)) = actions.last() else { panic!("{actions:?}") };
    assert_eq!(error.related_command_index, Some(1));
    assert_eq!(error.related_command_name.as_deref(), Some("r"));
    assert_eq!(error.related_command_type, Some(1041));
    assert_eq!(error.next_retry_delay_ms, Some(20));
    assert_eq!(error.behavior, 0, "V6 has none");
    server.start.retry_count = 1;
    let mut attempt = server.again();
    assert_eq!(attempt.start().retry_count, 1);
    assert!(attempt.run("r").unwrap().execute);
    sent(
        &server,
        &[
            START,
            INPUT,
            ('S', 0x0411, &[11, 12]),
            ('S', 0x0002, &[1, 2, 3, 4, 5, 6, 8]),
            ('R', 0x0000, &[1, 2, 3, 5, 7, 8, 9]),
            INPUT,
            ('R', 0x0411, &[11, 12]),
        ],
    );
}

#[test]
fn an_awakeable_is_a_signal_from_17_on() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    let first = attempt.awakeable().unwrap();
    let second = attempt.awakeable().unwrap();
    assert_eq!((first.signal, second.signal), (17, 18));
    let id: crate::id::AwakeableId = second.id.parse().unwrap();
    assert!(second.id.starts_with("sign_1"));
    assert_eq!((id.index, &id.invocation[..]), (18, &[7; 24][..]));
    // Completed out of their order, and before anything was asked.
    for signal in [18, 17] {
        server.tell(&mut attempt, Notification::signal(signal, value("v")));
    }
    let order = [attempt.next_notification(), attempt.next_notification()]
        .map(|told| told.unwrap().unwrap().id);
    assert_eq!(order, [NotificationId::Signal(18), NotificationId::Signal(17)]);
}

#[test]
fn notifications_come_in_the_order_of_the_journal() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    for id in 1..=3 {
        assert_eq!(attempt.sleep(1, ""), Ok(id));
    }
    server.exchange(&mut attempt);
    let slept = |id| completion(NotificationKind::Sleep, id, NotificationResult::Void);
    let told = [slept(2), Notification::cancel(), slept(3), slept(1)];
    for notification in told.clone() {
        server.tell(&mut attempt, notification);
    }
    for _ in 0..2 {
        for notification in &told {
            assert_eq!(attempt.next_notification(), Ok(Some(notification.clone())));
        }
        assert_eq!(attempt.next_notification(), Ok(None));
        attempt = server.again();
        for id in 1..=3 {
            assert_eq!(attempt.sleep(1, ""), Ok(id));
        }
    }
}

/// Runs `first` and stores what it asked, then `second` in another attempt.
fn diverge(
    first: impl FnOnce(&mut Attempt),
    second: impl FnOnce(&mut Attempt) -> AttemptError,
) -> String {
    let (mut server, mut attempt) = Server::begin(V7, start(), "");
    first(&mut attempt);
    server.exchange(&mut attempt);
    let mut attempt = server.again();
    let error = second(&mut attempt);
    assert!(matches!(error, AttemptError::Divergence(_)), "{error:?}");
    let message = error.to_message();
    assert_eq!(message.code, 570);
    attempt.fail(message);
    let actions = server.exchange(&mut attempt);
    let [Action::Failed(message)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(message.message, error.to_string());
    assert_eq!(message.related_command_index, Some(1));
    error.to_string()
}

fn other_call(change: impl FnOnce(&mut Call)) -> Call {
    let mut call = Call {
        service_name: "S".into(),
        handler_name: "h".into(),
        parameter: "1".into(),
        key: "k".into(),
        ..Call::default()
    };
    change(&mut call);
    call
}

#[test]
fn a_divergence_names_both_sides_field_by_field() {
    let header = crate::wire::Header { key: "a".into(), value: "b".into() };
    let calls: [(Call, &str); 8] = [
        (other_call(|call| call.service_name = "T".into()), "service was `S` and is now `T`"),
        (other_call(|call| call.handler_name = "i".into()), "handler was `h` and is now `i`"),
        (other_call(|call| call.key = "l".into()), "key was `k` and is now `l`"),
        (other_call(|call| call.parameter = "2".into()), "parameter was `1` and is now `2`"),
        (
            other_call(|call| call.parameter = vec![0, 255].into()),
            "parameter was `1` and is now `00ff` in hex, 2 bytes",
        ),
        (other_call(|call| call.headers = vec![header]), "headers was none and is now `a: b`"),
        (
            other_call(|call| call.idempotency_key = Some("i".into())),
            "idempotency key was nothing and is now `i`",
        ),
        (
            other_call(|call| (call.scope, call.name) = (Some("s".into()), "n".into())),
            "scope was nothing and is now `s`; name was `` and is now `n`",
        ),
    ];
    for (call, expected) in calls {
        let said = diverge(
            |attempt| assert!(attempt.call(other_call(|_| {})).is_ok()),
            |attempt| attempt.call(call).unwrap_err(),
        );
        assert_eq!(said, format!("command 1, Call (0x040d), is another one: {expected}"));
    }
    let target = |key: &str| {
        InvocationTarget::Workflow(WorkflowTarget {
            workflow_name: "W".into(),
            workflow_key: key.into(),
            scope: None,
        })
    };
    type Asks = fn(&mut Attempt, &'static str) -> Result<(), AttemptError>;
    let others: [(Asks, &str); 12] = [
        (|attempt, it| attempt.run(it).map(drop), "name"),
        (|attempt, it| attempt.sleep(1, it).map(drop), "name"),
        (|attempt, it| attempt.state(it, "").map(drop), "key"),
        (|attempt, it| attempt.set_state(it, "", ""), "key"),
        (|attempt, it| attempt.set_state("k", it, ""), "value"),
        (|attempt, it| attempt.clear_state(it, ""), "key"),
        (|attempt, it| attempt.promise(it, "").map(drop), "promise"),
        (|attempt, it| attempt.complete_promise("p", success(it), "").map(drop), "completion"),
        (|attempt, it| attempt.complete_awakeable(it, success(""), ""), "awakeable"),
        (
            |attempt, it| {
                let signal = SignalKey::Name(it.into());
                attempt.send_signal("inv", signal, SignalResult::Void(Default::default()), "")
            },
            "signal",
        ),
        (|attempt, it| attempt.clear_all_state(it), "name"),
        (|attempt, it| attempt.state_keys(it).map(drop), "name"),
    ];
    for (asks, field) in others {
        let said = diverge(
            |attempt| asks(attempt, "one").unwrap(),
            |attempt| asks(attempt, "two").unwrap_err(),
        );
        let expected = format!("is another one: {field} was `one` and is now `two`");
        assert!(said.ends_with(&expected), "{said}");
        // And the same is the same.
        let (mut server, mut attempt) = Server::begin(V7, start(), "");
        asks(&mut attempt, "one").unwrap();
        server.exchange(&mut attempt);
        asks(&mut server.again(), "one").unwrap();
    }
    let said = diverge(
        |attempt| assert!(attempt.attach(target("a"), "").is_ok()),
        |attempt| attempt.attach(target("b"), "").unwrap_err(),
    );
    assert!(said.ends_with("key was `a` and is now `b`"), "{said}");
    let long = |last: &str| format!("{}{last}", "x".repeat(200));
    let said = diverge(
        |attempt| attempt.set_state("k", long("a"), "").unwrap(),
        |attempt| attempt.set_state("k", long("b"), "").unwrap_err(),
    );
    assert!(said.contains("…` (201 bytes), with a difference further on"), "{said}");
}

#[test]
fn a_divergence_names_both_kinds() {
    let said = diverge(
        |attempt| assert!(attempt.sleep(1, "nap").is_ok()),
        |attempt| attempt.run("r").unwrap_err(),
    );
    assert_eq!(
        said,
        "command 1: the journal has Sleep (0x040c), but the handler asks Run (0x0411)"
    );
    let said = diverge(
        |attempt| assert!(attempt.sleep(1, "nap").is_ok()),
        |attempt| attempt.finish(success("")).unwrap_err(),
    );
    assert!(said.ends_with("but the handler asks Output (0x0401)"), "{said}");
    let said = diverge(
        |attempt| assert!(attempt.sleep(1, "nap").is_ok()),
        |attempt| attempt.next_notification().unwrap_err(),
    );
    assert!(said.contains("has Sleep (0x040c), but the handler waits"), "{said}");
    let said = diverge(
        |attempt| assert!(attempt.sleep(1, "nap").is_ok()),
        |attempt| attempt.suspend(wait(1)).unwrap_err(),
    );
    assert!(said.contains("but the handler waits"), "{said}");
}

#[test]
fn a_divergence_leaves_the_journal_where_it_was() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    attempt.sleep(1, "nap").unwrap();
    attempt.run("r").unwrap();
    server.exchange(&mut attempt);
    let mut attempt = server.again();
    for _ in 0..2 {
        assert!(attempt.run("r").unwrap_err().to_string().starts_with("command 1: "));
    }
    assert_eq!(attempt.sleep(1, "nap"), Ok(1));
    assert!(attempt.is_replaying());
    attempt.run("r").unwrap();
    assert!(!attempt.is_replaying());
}

#[test]
fn a_result_of_what_was_not_asked_is_a_divergence() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    attempt.sleep(1, "").unwrap();
    attempt.sleep(2, "").unwrap();
    server.exchange(&mut attempt);
    let slept = completion(NotificationKind::Sleep, 2, NotificationResult::Void);
    server.tell(&mut attempt, slept.clone());
    let mut attempt = server.again();
    attempt.sleep(1, "").unwrap();
    let error = attempt.next_notification().unwrap_err();
    assert!(error.to_string().contains("completion 2 next (Sleep completion (0x800c))"), "{error}");
    attempt.sleep(2, "").unwrap();
    assert_eq!(attempt.next_notification(), Ok(Some(slept)));
}

#[test]
fn state_is_read_as_it_was_read_before() {
    let (mut server, mut attempt) = Server::begin(V6, object(&[("a", "1"), ("b", "2")]), "");
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Known(Some("1".into()))));
    let keys = KeysRead::Known(vec!["a".into(), "b".into()]);
    assert_eq!(attempt.state_keys(""), Ok(keys.clone()));
    attempt.set_state("a", "3", "").unwrap();
    attempt.clear_state("b", "").unwrap();
    server.exchange(&mut attempt);
    // The next attempt gets the state as the first left it, and reads what the first read.
    server.start = object(&[("a", "3")]);
    let mut attempt = server.again();
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Known(Some("1".into()))));
    assert_eq!(attempt.state_keys(""), Ok(keys));
    attempt.set_state("a", "3", "").unwrap();
    attempt.clear_state("b", "").unwrap();
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Known(Some("3".into()))));
    assert_eq!(attempt.state("b", ""), Ok(StateRead::Known(None)));
    server.exchange(&mut attempt);
    // A read that was lazy stays so when the whole state comes along.
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Asked(1)));
    server.exchange(&mut attempt);
    server.start = object(&[("a", "9")]);
    let mut attempt = server.again();
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Asked(1)));
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Known(Some("9".into()))));
}

#[test]
fn features_of_later_versions_are_refused() {
    let scoped = || other_call(|call| call.scope = Some("s".into()));
    let limited = OneWayCall { limit_key: Some("l".into()), ..OneWayCall::default() };
    let metadata = vec![FailureMetadata { key: "k".into(), value: "v".into() }];
    let failure = Outcome::Failure(Failure { metadata, ..Failure::new(1, "m") });
    for version in [V5, V6, V7] {
        let (_, mut attempt) = Server::begin(version, start(), "");
        attempt.run("").unwrap();
        let refused = [
            attempt.call(scoped()).err(),
            attempt.send(limited.clone()).err(),
            attempt.complete_awakeable("sign_1", failure.clone(), "").err(),
            attempt.propose_run(1, failure.clone()).err(),
            attempt.finish(failure.clone()).err(),
        ];
        let refused = refused.map(|error| error.map(|error| error.to_message().code));
        let scope = (version < V7).then_some(573);
        let metadata = (version < V6).then_some(573);
        assert_eq!(refused, [scope, scope, metadata, metadata, metadata], "{version}");
    }
}

#[test]
fn a_request_that_breaks_the_protocol_ends_the_attempt() {
    let frame = |message: Message| message.encode(V6).to_bytes();
    let first = |entries| frame(Message::Start(Start { known_entries: entries, ..start() }));
    let command = |command: Command| frame(Message::Command(command));
    let input = || command(crate::immutable::Input::default().into());
    let sleep = |id| {
        command(crate::immutable::Sleep { result_completion_id: id, ..Default::default() }.into())
    };
    let slept = |id| {
        let kind = NotificationKind::Sleep;
        frame(Message::Notification(completion(kind, id, NotificationResult::Void)))
    };
    let ran = frame(Message::Notification(Notification::run(1, success(""))));
    let rows = [
        ("before the start", vec![input()]),
        ("without an input", vec![first(0)]),
        ("before the input", vec![first(2), sleep(1)]),
        ("a second input", vec![first(2), input(), input()]),
        (
            "ends a journal without",
            vec![first(1), frame(Message::Notification(Notification::cancel()))],
        ),
        ("1 frames of the journal missing", vec![first(2), input(), frame(Message::End)]),
        ("no command asked", vec![first(2), input(), slept(1)]),
        ("is a Sleep", vec![first(3), input(), sleep(1), ran]),
        ("came before", vec![first(4), input(), sleep(1), slept(1), slept(1)]),
        ("after the journal", vec![first(1), input(), sleep(1)]),
        ("after the journal", vec![first(1), input(), first(1)]),
        ("is not part of V6", vec![first(1), input(), Frame::new(7, &b""[..]).to_bytes()]),
    ];
    for (expected, frames) in rows {
        let mut attempt = Attempt::new(V6);
        let (last, before) = frames.split_last().unwrap();
        for frame in before {
            attempt.receive(frame).unwrap_or_else(|early| panic!("{expected}: {early}"));
        }
        let violation = attempt.receive(last).expect_err(expected);
        assert!(violation.what.contains(expected), "{violation} is not {expected}");
        assert!(attempt.is_over());
        let written = Frame::from_bytes(&attempt.take_output()).unwrap();
        let Ok(Message::Error(error)) = Message::decode(&written, V6) else { panic!("{expected}") };
        assert_eq!((error.code, error.message), (571, violation.to_string()));
        assert_eq!(attempt.receive(last), Ok(()), "what comes after the end is ignored");
    }
    let mut attempt = Attempt::new(V7);
    attempt.receive(&[first(1), input()].concat()).unwrap();
    let violation = attempt.receive(&[0, 7, 0, 0, 0, 0, 0, 2, 8, 1]).unwrap_err();
    assert!(violation.what.contains("no outcome was proposed"), "{violation}");
}

#[test]
fn a_request_that_is_cut_off_ends_the_attempt() {
    let (_, bytes) = {
        let input = Message::Command(crate::immutable::Input::default().into()).encode(V6);
        crate::runtime::immutable::Attempt::open(V6, start(), [&input.to_bytes()[..]]).unwrap()
    };
    for end in 0..=bytes.len() {
        let mut attempt = Attempt::new(V6);
        attempt.receive(&bytes[..end]).unwrap();
        assert_eq!(attempt.is_ready(), end == bytes.len());
        assert_eq!(attempt.end_of_input().is_ok(), end == bytes.len(), "{end} bytes");
        assert_eq!(attempt.is_over(), end < bytes.len());
    }
    let mut attempt = Attempt::new(V6);
    attempt.receive(&bytes).unwrap();
    attempt.receive(&[0]).unwrap();
    let violation = attempt.end_of_input().unwrap_err();
    assert!(violation.what.contains("1 bytes into"), "{violation}");
}

#[test]
fn an_attempt_does_nothing_before_its_start_and_after_its_end() {
    let mut early = Attempt::new(V6);
    assert_eq!(early.sleep(1, ""), Err(AttemptError::Closed));
    assert_eq!(early.next_notification(), Err(AttemptError::Closed));
    let (_, mut attempt) = Server::begin(V6, start(), "");
    assert_eq!(attempt.suspend(Future::first_of([])), Err(AttemptError::EmptyWait));
    attempt.sleep(1, "nap").unwrap();
    attempt.fail_handler(ErrorMessage::new(500, "trap"));
    let written = attempt.take_output();
    attempt.fail(ErrorMessage::new(500, "again"));
    assert!(attempt.take_output().is_empty());
    assert_eq!(attempt.finish(success("")), Err(AttemptError::Closed));
    assert_eq!(attempt.awakeable(), Err(AttemptError::Closed));
    let mut decoder = crate::frame::FrameDecoder::default();
    decoder.feed(&written);
    decoder.next_frame().unwrap();
    let error = Message::decode(&decoder.next_frame().unwrap().unwrap(), V6);
    let Ok(Message::Error(error)) = error else { panic!("{error:?}") };
    let related = (error.related_command_index, error.related_command_type);
    assert_eq!(related, (Some(1), Some(0x040C)));
    assert_eq!(error.related_command_name.as_deref(), Some("nap"));
}

#[test]
fn the_seed_is_the_same_in_every_attempt() {
    for version in [V5, V6] {
        let (mut server, attempt) = Server::begin(version, start(), "");
        let seed = attempt.random_seed();
        assert_eq!(server.again().random_seed(), seed);
        if version == ProtocolVersion::V6 {
            assert_eq!(seed, 1);
        } else {
            let other = Start { id: vec![8; 24].into(), ..start() };
            assert_ne!(Server::begin(version, other, "").1.random_seed(), seed);
        }
    }
}

#[test]
fn an_output_in_the_journal_is_ended_only() {
    let (mut server, mut attempt) = Server::begin(V6, start(), "");
    attempt.finish(success("v")).unwrap();
    let bytes = attempt.take_output();
    // The end is lost.
    server.receive(&bytes[..bytes.len() - 8]);
    let Command::Output(Output { result: Some(_), .. }) = &server.commands()[1] else {
        panic!("an output")
    };
    let mut attempt = server.again();
    assert!(attempt.is_replaying());
    attempt.finish(success("v")).unwrap();
    assert_eq!(server.exchange(&mut attempt), [Action::Ended]);
}
