//! Error messages about handlers that changed.

use super::*;

/// Runs `first` and stores its commands, then runs `second` in another attempt.
fn diverge(
    first: impl FnOnce(&mut DeploymentAttempt),
    second: impl FnOnce(&mut DeploymentAttempt) -> AttemptError,
) -> String {
    let (mut server, mut attempt) = RuntimeServer::begin(V7, start(), "");
    first(&mut attempt);
    server.exchange(&mut attempt);
    let mut attempt = server.again();
    let error = second(&mut attempt);
    assert!(matches!(error, AttemptError::Divergence(_)), "{error:?}");
    let message = error.to_message();
    assert_eq!(message.code, 570);
    attempt.fail(message);
    let actions = server.exchange(&mut attempt);
    let [CommandAction::Failed(message)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(message.message, error.to_string());
    assert_eq!(message.related_command_index, Some(1));
    error.to_string()
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
    type CommandIssuer = fn(&mut DeploymentAttempt, &'static str) -> Result<(), AttemptError>;
    let others: [(CommandIssuer, &str); 12] = [
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
        // Equal commands do not diverge.
        let (mut server, mut attempt) = RuntimeServer::begin(V7, start(), "");
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
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
    let (mut server, mut attempt) = RuntimeServer::begin(V6, object(&[("a", "1"), ("b", "2")]), "");
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Known(Some("1".into()))));
    let keys = StateRead::Known(vec!["a".into(), "b".into()]);
    assert_eq!(attempt.state_keys(""), Ok(keys.clone()));
    attempt.set_state("a", "3", "").unwrap();
    attempt.clear_state("b", "").unwrap();
    server.exchange(&mut attempt);
    // The next attempt starts with the state that the first left, but its reads return the recorded
    // answers.
    server.start = object(&[("a", "3")]);
    let mut attempt = server.again();
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Known(Some("1".into()))));
    assert_eq!(attempt.state_keys(""), Ok(keys));
    attempt.set_state("a", "3", "").unwrap();
    attempt.clear_state("b", "").unwrap();
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Known(Some("3".into()))));
    assert_eq!(attempt.state("b", ""), Ok(StateRead::Known(None)));
    server.exchange(&mut attempt);
    // A recorded lazy read stays lazy even if the start carries the whole state.
    let (mut server, mut attempt) = RuntimeServer::begin(V6, start(), "");
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Asked(1)));
    server.exchange(&mut attempt);
    server.start = object(&[("a", "9")]);
    let mut attempt = server.again();
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Asked(1)));
    assert_eq!(attempt.state("a", ""), Ok(StateRead::Known(Some("9".into()))));
}
