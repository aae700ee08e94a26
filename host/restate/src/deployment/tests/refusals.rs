//! Refusals: features of later versions, and requests that violate the protocol.

use super::*;

#[test]
fn features_of_later_versions_are_refused() {
    let scoped = || other_call(|call| call.scope = Some("s".into()));
    let limited = OneWayCall { limit_key: Some("l".into()), ..OneWayCall::default() };
    let metadata = vec![FailureMetadata { key: "k".into(), value: "v".into() }];
    let failure = OperationOutcome::Failure(Failure { metadata, ..Failure::new(1, "m") });
    for version in [V5, V6, V7] {
        let (_, mut attempt) = RuntimeServer::begin(version, start(), "");
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
    let first = |entries| frame(Message::Start(StartMessage { known_entries: entries, ..start() }));
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
        let mut attempt = DeploymentAttempt::new(V6);
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
    let mut attempt = DeploymentAttempt::new(V7);
    attempt.receive(&[first(1), input()].concat()).unwrap();
    let violation = attempt.receive(&[0, 7, 0, 0, 0, 0, 0, 2, 8, 1]).unwrap_err();
    assert!(violation.what.contains("no outcome was proposed"), "{violation}");
}

#[test]
fn a_request_that_is_cut_off_ends_the_attempt() {
    let (_, bytes) = {
        let input = Message::Command(crate::immutable::Input::default().into()).encode(V6);
        crate::runtime::immutable::ImmutableRuntimeAttempt::open(
            V6,
            start(),
            [&input.to_bytes()[..]],
        )
        .unwrap()
    };
    for end in 0..=bytes.len() {
        let mut attempt = DeploymentAttempt::new(V6);
        attempt.receive(&bytes[..end]).unwrap();
        assert_eq!(attempt.is_ready(), end == bytes.len());
        assert_eq!(attempt.end_of_input().is_ok(), end == bytes.len(), "{end} bytes");
        assert_eq!(attempt.is_over(), end < bytes.len());
    }
    let mut attempt = DeploymentAttempt::new(V6);
    attempt.receive(&bytes).unwrap();
    attempt.receive(&[0]).unwrap();
    let violation = attempt.end_of_input().unwrap_err();
    assert!(violation.what.contains("1 bytes into"), "{violation}");
}

#[test]
fn an_attempt_does_nothing_before_its_start_and_after_its_end() {
    let mut early = DeploymentAttempt::new(V6);
    assert_eq!(early.sleep(1, ""), Err(AttemptError::Closed));
    assert_eq!(early.next_notification(), Err(AttemptError::Closed));
    let (_, mut attempt) = RuntimeServer::begin(V6, start(), "");
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
        let (mut server, attempt) = RuntimeServer::begin(version, start(), "");
        let seed = attempt.random_seed();
        assert_eq!(server.again().random_seed(), seed);
        if version == ProtocolVersion::V6 {
            assert_eq!(seed, 1);
        } else {
            let other = StartMessage { id: vec![8; 24].into(), ..start() };
            assert_ne!(RuntimeServer::begin(version, other, "").1.random_seed(), seed);
        }
    }
}

#[test]
fn an_output_in_the_journal_is_ended_only() {
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
    attempt.finish(success("v")).unwrap();
    let bytes = attempt.take_output();
    // The end frame is lost.
    server.receive(&bytes[..bytes.len() - 8]);
    let Command::Output(Output { result: Some(_), .. }) = &server.commands()[1] else {
        panic!("an output")
    };
    let mut attempt = server.again();
    assert!(attempt.is_replaying());
    attempt.finish(success("v")).unwrap();
    assert_eq!(server.exchange(&mut attempt), [CommandAction::Ended]);
}
