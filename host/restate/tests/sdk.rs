//! Tests the runtime's state machine against the core of Restate's SDKs, which implements the
//! deployment's side of the protocol; and compares our deployment's output with the core's.

#![expect(clippy::unwrap_used, reason = "a step of a conversation that fails ends the test")]

use std::time::Duration;

use bytes::Bytes;
use restate_sdk_shared_core::{
    AttachInvocationTarget, AwaitResponse, CoreVM, Error, NonEmptyValue, NotificationHandle,
    PayloadOptions, RetryPolicy, RunExitResult, State, Target, TerminalFailure, UnresolvedFuture,
    VM as _, VMOptions, Value as SdkValue,
};
use segno_restate::{
    Failure, OperationOutcome,
    ProtocolVersion::{self, *},
    StartMessage,
    deployment::{self, StateRead},
    frame::{Frame, FrameDecoder},
    immutable::{
        Call, Combinator, Command, CommandKind, ErrorBehavior, Input, InvocationTarget, Message,
        Notification, NotificationId, NotificationKind, NotificationOutcome, NotificationResult,
        OneWayCall, SignalKey, SignalResult,
    },
    runtime::immutable::{CommandAction, ImmutableRuntimeAttempt},
    wire::{Header, IdempotentRequestTarget, StateEntry, ValueMessage, WorkflowTarget},
};

const VERSIONS: [ProtocolVersion; 4] = [V5, V6, V7, V8];

/// A runtime with one invocation, and the SDK's core in one attempt.
struct Session {
    version: ProtocolVersion,
    start: StartMessage,
    journal: Vec<Bytes>,
    runtime: ImmutableRuntimeAttempt,
    sdk: CoreVM,
}

impl Session {
    fn new(version: ProtocolVersion, start: StartMessage) -> Self {
        let value = Some(ValueMessage { content: "input".into() });
        let headers = vec![Header { key: "a".into(), value: "b".into() }];
        let input = Input { headers, value, name: String::new() };
        let journal = vec![Message::Command(input.into()).encode(version).to_bytes()];
        let (runtime, sdk) = attempt(version, &start, &journal);
        Self { version, start, journal, runtime, sdk }
    }

    /// Begins another attempt with the current journal.
    fn again(&mut self) {
        (self.runtime, self.sdk) = attempt(self.version, &self.start, &self.journal);
    }

    /// Passes the SDK's output to the runtime, and stores its commands.
    fn exchange(&mut self) -> Vec<CommandAction> {
        let bytes = self.sdk.take_output();
        let actions = self.runtime.receive(&bytes).expect("an SDK keeps the protocol");
        for action in &actions {
            if let CommandAction::Append { record, .. } = action {
                self.journal.push(record.clone());
            }
        }
        actions
    }

    fn tell(&mut self, notification: Notification) {
        let bytes = self.runtime.notify(&notification).unwrap();
        let message = Message::Notification(notification);
        self.journal.push(message.encode(self.version).to_bytes());
        self.sdk.notify_input(bytes);
        assert_ne!(self.sdk.state(), State::Closed, "an SDK takes what it is told");
    }

    fn half_close(&mut self) {
        self.runtime.half_close();
        self.sdk.notify_input_closed();
    }

    fn wait(&mut self, handle: NotificationHandle) -> Result<AwaitResponse, Error> {
        self.sdk.do_await(UnresolvedFuture::Single(handle))
    }

    fn take(&mut self, handle: NotificationHandle) -> SdkValue {
        assert_eq!(self.wait(handle).unwrap(), AwaitResponse::AnyCompleted);
        self.sdk.take_notification(handle).unwrap().expect("it came")
    }

    fn end(&mut self) {
        self.sdk
            .sys_write_output(NonEmptyValue::Success("out".into()), PayloadOptions::default())
            .unwrap();
        self.sdk.sys_end().unwrap();
        let actions = self.exchange();
        assert_eq!(actions.last(), Some(&CommandAction::Ended), "{actions:?}");
        assert_eq!(self.runtime.end_of_input(), Ok(()));
    }
}

fn attempt(
    version: ProtocolVersion,
    start: &StartMessage,
    journal: &[Bytes],
) -> (ImmutableRuntimeAttempt, CoreVM) {
    let records = journal.iter().map(|record| &record[..]);
    let (runtime, bytes) = ImmutableRuntimeAttempt::open(version, start.clone(), records).unwrap();
    let headers = vec![("content-type".to_owned(), version.media_type())];
    let mut sdk = CoreVM::new(headers, VMOptions::default()).unwrap();
    assert_eq!(sdk.get_response_head().headers[0].value, version.media_type());
    // In pieces, as from a socket.
    for piece in bytes.chunks(5) {
        sdk.notify_input(Bytes::copy_from_slice(piece));
    }
    assert!(sdk.is_ready_to_execute().unwrap());
    let input = sdk.sys_input().unwrap();
    assert_eq!(input.invocation_id, start.debug_id);
    assert_eq!(input.key, start.key);
    assert_eq!(input.input, "input");
    assert_eq!((&*input.headers[0].key, &*input.headers[0].value), ("a", "b"));
    if version >= V6 {
        assert_eq!(input.random_seed, start.random_seed);
    }
    if version >= V7 {
        assert_eq!(input.scope, start.scope);
        assert_eq!(input.limit_key, start.limit_key);
        assert_eq!(input.idempotency_key, start.idempotency_key);
    }
    (runtime, sdk)
}

fn start() -> StartMessage {
    StartMessage {
        id: vec![9; 24].into(),
        debug_id: "inv_1".into(),
        key: "k".into(),
        partial_state: true,
        random_seed: u64::MAX,
        scope: Some("s".into()),
        limit_key: Some("l".into()),
        idempotency_key: Some("i".into()),
        ..StartMessage::default()
    }
}

fn target() -> Target {
    Target {
        service: "Service".into(),
        handler: "handler".into(),
        key: Some("key".into()),
        idempotency_key: Some("once".into()),
        scope: None,
        limit_key: None,
        headers: vec![restate_sdk_shared_core::Header { key: "h".into(), value: "v".into() }],
    }
}

fn text(text: &'static str) -> Option<String> {
    Some(text.to_owned())
}

fn failed(message: &str) -> TerminalFailure {
    TerminalFailure { code: 418, message: message.into(), metadata: vec![] }
}

/// Issues every operation that an SDK has. Returns the handles of their results, in the same order.
fn ask_everything(sdk: &mut CoreVM) -> Vec<NotificationHandle> {
    let options = PayloadOptions::default;
    let mut handles = vec![
        sdk.sys_state_get("key".into(), text("get"), options()).unwrap(),
        sdk.sys_state_get_keys(text("keys")).unwrap(),
        sdk.sys_sleep("nap".into(), Duration::from_millis(1_234), None).unwrap(),
    ];
    let call = sdk.sys_call(target(), "arg".into(), text("call"), options()).unwrap();
    handles.extend([call.invocation_id_notification_handle, call.call_notification_handle]);
    let later = Some(Duration::from_millis(99));
    let send = sdk.sys_send(target(), "arg".into(), later, text("send"), options()).unwrap();
    handles.push(send.invocation_id_notification_handle);
    handles.push(sdk.sys_get_promise("p".into()).unwrap());
    handles.push(sdk.sys_peek_promise("p".into()).unwrap());
    let value = NonEmptyValue::Success("v".into());
    handles.push(sdk.sys_complete_promise("p".into(), value, options()).unwrap());
    let id = AttachInvocationTarget::InvocationId("inv_2".into());
    handles.push(sdk.sys_attach_invocation(id).unwrap());
    let workflow =
        AttachInvocationTarget::WorkflowId { name: "W".into(), key: "k".into(), scope: None };
    handles.push(sdk.sys_attach_invocation(workflow).unwrap());
    let request = AttachInvocationTarget::IdempotencyId {
        service_name: "S".into(),
        service_key: text("k"),
        handler_name: "h".into(),
        idempotency_key: "i".into(),
        scope: None,
    };
    handles.push(sdk.sys_get_invocation_output(request).unwrap());
    sdk.sys_state_set("a".into(), "1".into(), text("set"), options()).unwrap();
    sdk.sys_state_clear("b".into(), text("clear")).unwrap();
    sdk.sys_state_clear_all(text("clear all")).unwrap();
    sdk.sys_cancel_invocation("inv_3".into()).unwrap();
    let failure = NonEmptyValue::Failure(failed("no"));
    sdk.sys_complete_signal("inv_4".into(), "go".into(), failure.clone()).unwrap();
    sdk.sys_complete_awakeable("sign_1AAAA".into(), failure, options()).unwrap();
    handles
}

/// Issues the same operations on our deployment.
fn ask_everything_of_ours(attempt: &mut deployment::DeploymentAttempt) {
    let headers = || vec![Header { key: "h".into(), value: "v".into() }];
    assert_eq!(attempt.state("key", "get"), Ok(StateRead::Asked(1)));
    assert_eq!(attempt.state_keys("keys"), Ok(StateRead::Asked(2)));
    attempt.sleep(1_234, "nap").unwrap();
    attempt
        .call(Call {
            service_name: "Service".into(),
            handler_name: "handler".into(),
            parameter: "arg".into(),
            headers: headers(),
            key: "key".into(),
            idempotency_key: text("once"),
            name: "call".into(),
            ..Call::default()
        })
        .unwrap();
    attempt
        .send(OneWayCall {
            service_name: "Service".into(),
            handler_name: "handler".into(),
            parameter: "arg".into(),
            invoke_at_ms: 99,
            headers: headers(),
            key: "key".into(),
            idempotency_key: text("once"),
            name: "send".into(),
            ..OneWayCall::default()
        })
        .unwrap();
    attempt.promise("p", "").unwrap();
    attempt.peek_promise("p", "").unwrap();
    attempt.complete_promise("p", OperationOutcome::Success("v".into()), "").unwrap();
    attempt.attach(InvocationTarget::InvocationId("inv_2".into()), "").unwrap();
    let workflow =
        WorkflowTarget { workflow_name: "W".into(), workflow_key: "k".into(), scope: None };
    attempt.attach(InvocationTarget::Workflow(workflow), "").unwrap();
    let request = IdempotentRequestTarget {
        service_name: "S".into(),
        service_key: text("k"),
        handler_name: "h".into(),
        idempotency_key: "i".into(),
        scope: None,
    };
    attempt.invocation_output(InvocationTarget::IdempotentRequest(request), "").unwrap();
    attempt.set_state("a", "1", "set").unwrap();
    attempt.clear_state("b", "clear").unwrap();
    attempt.clear_all_state("clear all").unwrap();
    attempt.cancel_invocation("inv_3").unwrap();
    let failure = Failure::new(418, "no");
    let go = SignalKey::Name("go".into());
    attempt.send_signal("inv_4", go, SignalResult::Failure(failure.clone()), "").unwrap();
    attempt.complete_awakeable("sign_1AAAA", OperationOutcome::Failure(failure), "").unwrap();
}

/// An answer for each operation, in the order of the completion ids.
fn answers() -> Vec<(Notification, SdkValue)> {
    let value = || NotificationResult::Value("v".into());
    let success = || SdkValue::Success("v".into());
    let refused = || NotificationResult::Failure(Failure::new(418, "no"));
    let failure = || SdkValue::Failure(failed("no"));
    let begun = || NotificationResult::InvocationId("inv_2".into());
    let begun_value = || SdkValue::InvocationId("inv_2".into());
    let rows = [
        (NotificationKind::LazyState, NotificationResult::Void, SdkValue::Void),
        (
            NotificationKind::LazyStateKeys,
            NotificationResult::StateKeys(vec!["a".into(), "b".into()]),
            SdkValue::StateKeys(vec!["a".into(), "b".into()]),
        ),
        (NotificationKind::Sleep, NotificationResult::Void, SdkValue::Void),
        (NotificationKind::CallInvocationId, begun(), begun_value()),
        (NotificationKind::Call, refused(), failure()),
        (NotificationKind::CallInvocationId, begun(), begun_value()),
        (NotificationKind::GetPromise, value(), success()),
        (NotificationKind::PeekPromise, NotificationResult::Void, SdkValue::Void),
        (NotificationKind::CompletePromise, refused(), failure()),
        (NotificationKind::AttachInvocation, value(), success()),
        (NotificationKind::AttachInvocation, refused(), failure()),
        (NotificationKind::GetInvocationOutput, NotificationResult::Void, SdkValue::Void),
    ];
    rows.into_iter()
        .zip(1..)
        .map(|((kind, result, value), id)| (Notification::completion(kind, id, result), value))
        .collect()
}

#[test]
fn an_sdk_is_understood_in_everything_it_asks_and_understands_all_answers() {
    for version in VERSIONS {
        let mut session = Session::new(version, start());
        let handles = ask_everything(&mut session.sdk);
        let actions = session.exchange();
        let asked: Vec<_> = actions
            .iter()
            .map(|action| match action {
                CommandAction::Append { command, .. } => command.kind().unwrap(),
                other => panic!("{other:?}"),
            })
            .collect();
        use CommandKind as Kind;
        let expected = [
            Kind::GetLazyState,
            Kind::GetLazyStateKeys,
            Kind::Sleep,
            Kind::Call,
            Kind::OneWayCall,
            Kind::GetPromise,
            Kind::PeekPromise,
            Kind::CompletePromise,
            Kind::AttachInvocation,
            Kind::AttachInvocation,
            Kind::GetInvocationOutput,
            Kind::SetState,
            Kind::ClearState,
            Kind::ClearAllState,
            Kind::SendSignal,
            Kind::SendSignal,
            Kind::CompleteAwakeable,
        ];
        assert_eq!(asked, expected, "{version}");
        let answers = answers();
        assert_eq!(answers.len(), handles.len());
        for ((notification, value), handle) in answers.iter().zip(&handles) {
            session.tell(notification.clone());
            assert_eq!(session.take(*handle), *value, "{version}: {notification:?}");
        }
        // The same from the journal.
        session.again();
        let handles = ask_everything(&mut session.sdk);
        for ((_, value), handle) in answers.iter().zip(&handles) {
            assert_eq!(session.take(*handle), *value, "{version}");
        }
        assert_eq!(session.sdk.take_output(), Bytes::new());
        session.end();
    }
}

#[test]
fn our_deployment_writes_what_an_sdk_writes() {
    for version in [V5, V6, V7] {
        let mut session = Session::new(version, start());
        ask_everything(&mut session.sdk);
        let run = session.sdk.sys_run("run".into()).unwrap();
        let waiting = UnresolvedFuture::Single(run.handle);
        session.sdk.do_await(waiting).unwrap();
        let done = RunExitResult::Success("done".into());
        let policy = RetryPolicy::default();
        session.sdk.propose_run_completion(run.handle, done, policy).unwrap();
        session
            .sdk
            .sys_write_output(NonEmptyValue::Success("out".into()), PayloadOptions::default())
            .unwrap();
        session.sdk.sys_end().unwrap();

        let mut ours = deployment::DeploymentAttempt::new(version);
        let records = session.journal.iter().map(|record| &record[..]);
        ours.receive(&ImmutableRuntimeAttempt::open(version, start(), records).unwrap().1).unwrap();
        ask_everything_of_ours(&mut ours);
        let run = ours.run("run").unwrap();
        ours.propose_run(run.completion_id, OperationOutcome::Success("done".into())).unwrap();
        ours.finish(OperationOutcome::Success("out".into())).unwrap();
        let theirs = frames(&session.sdk.take_output());
        let ours = frames(&ours.take_output());
        assert_eq!(ours.len(), 21);
        for (our, their) in ours.iter().zip(&theirs) {
            assert_eq!(our, their, "{version}");
        }
        assert_eq!(ours.len(), theirs.len());
    }
}

fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut decoder = FrameDecoder::default();
    decoder.feed(bytes);
    std::iter::from_fn(|| decoder.next_frame().unwrap()).collect()
}

#[test]
fn awakeables_have_the_ids_of_an_sdk() {
    let mut session = Session::new(V6, start());
    let mut ours = deployment::DeploymentAttempt::new(V6);
    let records = session.journal.iter().map(|record| &record[..]);
    ours.receive(&ImmutableRuntimeAttempt::open(V6, start(), records).unwrap().1).unwrap();
    for _ in 0..2 {
        let awakeable = session.sdk.sys_awakeable().unwrap();
        let own = ours.awakeable().unwrap();
        assert_eq!(own.id, awakeable.id);
        session.tell(Notification::signal(own.signal, NotificationResult::Value("v".into())));
        assert_eq!(session.take(awakeable.handle), SdkValue::Success("v".into()));
    }
    let named = session.sdk.create_signal_handle("go".into()).unwrap();
    session.tell(Notification::named_signal("go", NotificationResult::Void));
    assert_eq!(session.take(named), SdkValue::Void);
}

#[test]
fn a_run_is_kept() {
    for version in VERSIONS {
        for outcome in [
            OperationOutcome::Success("done".into()),
            OperationOutcome::Failure(Failure::new(418, "no")),
        ] {
            let mut session = Session::new(version, start());
            let run = session.sdk.sys_run("run".into()).unwrap();
            assert!(!run.replayed);
            assert_eq!(session.wait(run.handle).unwrap(), AwaitResponse::ExecuteRun(run.handle));
            let (exit, expected) = match &outcome {
                OperationOutcome::Success(value) => {
                    (RunExitResult::Success(value.clone()), SdkValue::Success(value.clone()))
                }
                OperationOutcome::Failure(_) => {
                    (RunExitResult::TerminalFailure(failed("no")), SdkValue::Failure(failed("no")))
                }
            };
            let policy = RetryPolicy::default();
            session.sdk.propose_run_completion(run.handle, exit, policy).unwrap();
            let actions = session.exchange();
            let requires_ack = version >= V7;
            let proposed = CommandAction::ProposeRun {
                completion_id: 1,
                outcome: outcome.clone(),
                requires_ack,
            };
            assert_eq!(actions.last(), Some(&proposed), "{version}");
            session.tell(Notification::run(1, outcome.clone()));
            assert_eq!(session.take(run.handle), expected, "{version}");
            session.again();
            let run = session.sdk.sys_run("run".into()).unwrap();
            assert!(run.replayed, "{version}");
            assert_eq!(session.take(run.handle), expected, "{version}");
            session.end();
        }
    }
}

#[test]
fn a_failing_run_is_tried_again_with_its_count() {
    let mut session = Session::new(V6, start());
    for attempt in 1..=3 {
        let run = session.sdk.sys_run("run".into()).unwrap();
        assert_eq!(session.wait(run.handle).unwrap(), AwaitResponse::ExecuteRun(run.handle));
        let exit = RunExitResult::RetryableFailure {
            attempt_duration: Duration::from_millis(1),
            error: Error::new(500u16, "boom").with_stacktrace("here"),
        };
        let policy = RetryPolicy::FixedDelay {
            interval: Some(Duration::from_millis(20)),
            max_attempts: Some(3),
            max_duration: None,
            on_max_attempts: Default::default(),
        };
        let answer = session.sdk.propose_run_completion(run.handle, exit, policy);
        let actions = session.exchange();
        if attempt == 3 {
            // The retries are exhausted, because of the retry count in the start.
            answer.unwrap();
            let failure = Failure::new(500, "boom");
            let Some(CommandAction::ProposeRun { outcome, .. }) = actions.last() else {
                panic!("{actions:?}")
            };
            assert_eq!(*outcome, OperationOutcome::Failure(failure));
            return;
        }
        answer.unwrap_err();
        let Some(CommandAction::Failed(error)) = actions.last() else { panic!("{actions:?}") };
        assert_eq!((error.code, &error.message[..]), (500, "boom"));
        assert_eq!(error.related_command_index, Some(1));
        assert_eq!(error.related_command_name.as_deref(), Some("run"));
        assert_eq!(error.related_command_type, Some(0x0411));
        assert_eq!(error.next_retry_delay_ms, Some(20));
        assert_eq!(session.runtime.end_of_input(), Ok(()));
        session.start.retry_count = attempt;
        session.again();
    }
}

#[test]
fn eager_state_is_read_without_the_runtime() {
    for version in VERSIONS {
        let entry = StateEntry { key: "a".into(), value: "1".into() };
        let start = StartMessage { partial_state: false, state_map: vec![entry], ..start() };
        let mut session = Session::new(version, start);
        let options = PayloadOptions::default;
        let a = session.sdk.sys_state_get("a".into(), None, options()).unwrap();
        let b = session.sdk.sys_state_get("b".into(), None, options()).unwrap();
        let keys = session.sdk.sys_state_get_keys(None).unwrap();
        let sleep = session.sdk.sys_sleep("".into(), Duration::ZERO, None).unwrap();
        assert_eq!(session.take(a), SdkValue::Success("1".into()));
        assert_eq!(session.take(b), SdkValue::Void);
        assert_eq!(session.take(keys), SdkValue::StateKeys(vec!["a".into()]));
        let kinds: Vec<_> = session
            .exchange()
            .iter()
            .map(|action| match action {
                CommandAction::Append { command, .. } => {
                    (command.kind().unwrap(), command.wanted())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(kinds[0], (CommandKind::GetEagerState, vec![]));
        assert_eq!(kinds[2], (CommandKind::GetEagerStateKeys, vec![]));
        // The core assigns ids to eager reads as well: ids increase, but not by one.
        assert_eq!(kinds[3].1[0].id, 4);
        let slept = Notification::completion(NotificationKind::Sleep, 4, NotificationResult::Void);
        session.tell(slept);
        assert_eq!(session.take(sleep), SdkValue::Void);
        session.again();
        let a = session.sdk.sys_state_get("a".into(), None, options()).unwrap();
        assert_eq!(session.take(a), SdkValue::Success("1".into()));
    }
}

#[test]
fn a_deployment_that_has_to_wait_suspends() {
    for version in VERSIONS {
        let mut session = Session::new(version, start());
        let nap = |session: &mut Session| {
            session.sdk.sys_sleep("nap".into(), Duration::from_secs(1), None).unwrap()
        };
        let all = |handles: [NotificationHandle; 2]| {
            UnresolvedFuture::AllCompleted(handles.map(UnresolvedFuture::Single).to_vec())
        };
        let handles = [nap(&mut session), nap(&mut session)];
        let waiting = session.sdk.do_await(all(handles)).unwrap();
        assert!(matches!(waiting, AwaitResponse::WaitingExternalProgress { .. }));
        let hinted = session.exchange().iter().any(|it| matches!(it, CommandAction::AwaitingOn(_)));
        assert_eq!(hinted, version >= V7);
        session.half_close();
        session.sdk.do_await(all(handles)).unwrap_err();
        let actions = session.exchange();
        let [CommandAction::Suspend(suspended)] = &actions[..] else { panic!("{actions:?}") };
        assert!(!suspended.ready);
        let leaves: Vec<_> = suspended.awaiting.leaves().into_iter().collect();
        let (first, second) = (NotificationId::Completion(1), NotificationId::Completion(2));
        assert_eq!(leaves, [first.clone(), second.clone(), NotificationId::Signal(1)]);
        let settled = |known: &'static [u32]| {
            suspended.awaiting.is_satisfied(|id| {
                let known = known.iter().any(|known| *id == NotificationId::Completion(*known));
                known.then_some(NotificationOutcome::Succeeded)
            })
        };
        // A tree waits for both; a list cannot express that.
        assert_eq!(settled(&[1]), version < V7, "{version}");
        assert!(settled(&[1, 2]));
        if version >= V7 {
            let nested = suspended.awaiting.nested[0].combinator();
            assert_eq!(nested, Combinator::AllCompleted);
        }
        assert_eq!(session.runtime.end_of_input(), Ok(()));
        for id in [2, 1] {
            let slept =
                Notification::completion(NotificationKind::Sleep, id, NotificationResult::Void);
            session.runtime.notify(&slept).unwrap();
            session.journal.push(Message::Notification(slept).encode(version).to_bytes());
        }
        session.again();
        let handles = [nap(&mut session), nap(&mut session)];
        assert_eq!(session.sdk.do_await(all(handles)).unwrap(), AwaitResponse::AnyCompleted);
        session.end();
    }
}

#[test]
fn a_cancelled_deployment_cancels_its_calls() {
    for version in VERSIONS {
        let mut session = Session::new(version, start());
        let call =
            session.sdk.sys_call(target(), "arg".into(), None, PayloadOptions::default()).unwrap();
        let begun = NotificationResult::InvocationId("inv_9".into());
        session.exchange();
        session.tell(Notification::completion(NotificationKind::CallInvocationId, 1, begun));
        session.tell(Notification::cancel());
        let response = session.wait(call.call_notification_handle).unwrap();
        assert_eq!(response, AwaitResponse::CancelSignalReceived);
        let actions = session.exchange();
        let [CommandAction::Append { command: Command::SendSignal(sent), .. }] = &actions[..]
        else {
            panic!("{actions:?}")
        };
        assert_eq!(sent.target_invocation_id, "inv_9");
        assert_eq!(sent.signal, Some(SignalKey::Index(1)));
        let cancelled = TerminalFailure { code: 409, ..failed("Cancelled") };
        session
            .sdk
            .sys_write_output(NonEmptyValue::Failure(cancelled), PayloadOptions::default())
            .unwrap();
        session.sdk.sys_end().unwrap();
        assert_eq!(session.exchange().last(), Some(&CommandAction::Ended));
    }
}

#[test]
fn errors_say_what_to_do_as_their_version_can() {
    for version in VERSIONS {
        let mut session = Session::new(version, start());
        let mut error = Error::new(571u16, "odd");
        if version >= V7 {
            error = error.with_should_pause(true);
        }
        session.sdk.notify_error(error, None);
        let actions = session.exchange();
        let [CommandAction::Failed(error)] = &actions[..] else { panic!("{actions:?}") };
        assert_eq!((error.code, &error.message[..]), (571, "odd"));
        let expected = if version >= V7 { ErrorBehavior::Pause } else { ErrorBehavior::Retry };
        assert_eq!(error.behavior(), expected);
    }
}

#[test]
fn a_changed_handler_reports_a_mismatch() {
    let mut session = Session::new(V6, start());
    session.sdk.sys_sleep("nap".into(), Duration::ZERO, None).unwrap();
    session.exchange();
    session.again();
    session.sdk.sys_run("run".into()).unwrap_err();
    let actions = session.exchange();
    let [CommandAction::Failed(error)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(error.code, u32::from(segno_restate::failure::JOURNAL_MISMATCH));
}

#[test]
fn state_is_read_without_a_record_in_v8() {
    let mut session = Session::new(V8, start());
    let id = session.sdk.ephemeral_state_get("a".into()).unwrap();
    let actions = session.exchange();
    let [CommandAction::ReadState { ephemeral_completion_id, key }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(key, "a");
    let bytes = session.runtime.answer_state(*ephemeral_completion_id, Some("1".into())).unwrap();
    session.sdk.notify_input(bytes);
    let value = session.sdk.take_ephemeral_notification(id).unwrap();
    assert_eq!(value, Some(SdkValue::Success("1".into())));
}
