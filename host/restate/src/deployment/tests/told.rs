//! Notifications to a handler and its driver: their order, and their encoding in each version.

use super::*;

#[test]
fn an_outcome_that_a_driver_answers_at_once_is_taken_before_its_turn() {
    let (mut server, mut attempt) = RuntimeServer::begin(V7, start(), "");
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
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
        let (mut server, mut attempt) = RuntimeServer::begin(version, start(), "");
        attempt.sleep(1, "").unwrap();
        attempt.awaiting_on(wait(1), false).unwrap();
        attempt.suspend(Future { nested: vec![wait(1)], ..Future::default() }).unwrap();
        let actions = server.exchange(&mut attempt);
        let Some(CommandAction::Suspend(suspended)) = actions.last() else { panic!("{actions:?}") };
        assert_eq!(suspended.awaiting, wait(1), "{version}");
        assert_eq!(server.trace.last(), Some(&('S', 0x0001, vec![1, 2])), "{version}");
    }
}

#[test]
fn a_run_is_acknowledged_by_its_version() {
    for (version, answer) in [(V5, 0x8011), (V6, 0x8011), (V7, 0x0007)] {
        let (mut server, mut attempt) = RuntimeServer::begin(version, start(), "");
        let run = attempt.run("r").unwrap();
        assert_eq!(run, RunHandle { completion_id: 1, execute: true });
        assert_eq!(attempt.open_runs(), [1]);
        attempt.propose_run(1, success("v")).unwrap();
        assert!(attempt.open_runs().is_empty());
        let again = attempt.propose_run(1, success("v"));
        assert_eq!(again, Err(AttemptError::NoSuchRun { completion_id: 1 }));
        let actions = server.exchange(&mut attempt);
        let CommandAction::ProposeRun { completion_id: 1, outcome, requires_ack } = &actions[1]
        else {
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
    attempt.run("r").unwrap();
    let error = ErrorMessage {
        stacktrace: "trace".into(),
        next_retry_delay_ms: Some(20),
        behavior: ErrorBehavior::Pause.into(),
        ..ErrorMessage::new(500, "boom")
    };
    attempt.fail_run(1, error);
    let actions = server.exchange(&mut attempt);
    let Some(CommandAction::Failed(error)) = actions.last() else { panic!("{actions:?}") };
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
    let first = attempt.awakeable().unwrap();
    let second = attempt.awakeable().unwrap();
    assert_eq!((first.signal, second.signal), (17, 18));
    let id: crate::id::AwakeableId = second.id.parse().unwrap();
    assert!(second.id.starts_with("sign_1"));
    assert_eq!((id.index, &id.invocation[..]), (18, &[7; 24][..]));
    // Completed in reverse order, and before any command is issued.
    for signal in [18, 17] {
        server.tell(&mut attempt, Notification::signal(signal, value("v")));
    }
    let order = [attempt.next_notification(), attempt.next_notification()]
        .map(|told| told.unwrap().unwrap().id);
    assert_eq!(order, [NotificationId::Signal(18), NotificationId::Signal(17)]);
}

#[test]
fn notifications_come_in_the_order_of_the_journal() {
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
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
