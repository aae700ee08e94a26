//! Conversations recorded between released SDKs and servers, compared frame by frame and field by
//! field.

use super::*;

#[test]
fn echo() {
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "hi");
    let input = attempt.input().value.clone().unwrap().content;
    attempt.finish(OperationOutcome::Success(input)).unwrap();
    let actions = server.exchange(&mut attempt);
    let CommandAction::Append { index: 1, command: Command::Output(output), .. } = &actions[0]
    else {
        panic!("{actions:?}");
    };
    assert_eq!(output.result, Some(OutputResult::Value(ValueMessage { content: "hi".into() })));
    assert_eq!(actions[1], CommandAction::Ended);
    assert_eq!(server.runtime.end_of_input(), Ok(()));
    sent(&server, &[START, INPUT, ('S', 0x0401, &[14]), END]);
}

#[test]
fn call() {
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "hi");
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, object(&[]), "1");
    assert_eq!(attempt.state("v", ""), Ok(StateRead::Known(None)));
    attempt.set_state("v", "1", "").unwrap();
    assert_eq!(attempt.state_keys(""), Ok(StateRead::Known(vec!["v".into()])));
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
    assert_eq!(attempt.state("v", ""), Ok(StateRead::Asked(1)));
    server.exchange(&mut attempt);
    server.tell(&mut attempt, completion(NotificationKind::LazyState, 1, value("1")));
    assert_eq!(attempt.state_keys(""), Ok(StateRead::Asked(2)));
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
    let (mut parent, mut attempt) = RuntimeServer::begin(V6, start(), "");
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
    let CommandAction::Append { command: Command::SendSignal(signal), .. } = &actions[0] else {
        panic!("{actions:?}");
    };
    assert_eq!(signal.signal, Some(SignalKey::Index(1)));

    let (mut child, mut attempt_of_child) = RuntimeServer::begin(V6, start(), "");
    child.tell(&mut attempt_of_child, Notification::cancel());
    let told = attempt_of_child.next_notification().unwrap().unwrap();
    assert_eq!(told.id, NotificationId::Signal(1));
    let cancelled = Failure::new(failure::CONFLICT, "Cancelled");
    attempt_of_child.finish(OperationOutcome::Failure(cancelled.clone())).unwrap();
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
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
    let (mut server, mut attempt) = RuntimeServer::begin(V7, start(), "");
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
    let [CommandAction::Suspend(suspended)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!((&suspended.awaiting, suspended.ready), (&wait(1), false));
    let slept = completion(NotificationKind::Sleep, 1, NotificationResult::Void);
    server.store(slept.clone());
    let mut attempt = server.again();
    assert_eq!(attempt.start().known_entries, 4);
    // Another instant than in the first attempt.
    assert_eq!(attempt.sleep(2_000, ""), Ok(1));
    assert!(attempt.next_notification().unwrap().is_some());
    assert_eq!(attempt.next_notification(), Ok(Some(slept)));
    attempt.finish(success("")).unwrap();
    assert_eq!(server.exchange(&mut attempt).last(), Some(&CommandAction::Ended));
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
