//! Tests of the stream journal without a guest.

use segno_core::time::{Millis, Timestamp};
use segno_engine::values::code;
use segno_env::HandClock;
use segno_guest::{
    AccessReport, CallOptions, Completion, Event, Failure, GuestJournal as _, HttpRequest,
    JournalAnswer, JournalCall, Payload, PromiseOptions, RunAnswer, SagaStep,
    commands::{
        CallCommand, CancelCommand, HttpCommand, PeekObjectPromiseCommand, PromiseCommand,
        RunCommand, SettleCommand, SettleObjectPromiseCommand, SleepCommand, StepCommand,
        WaitObjectPromiseCommand,
    },
};
use segno_restate::{
    frame::FrameDecoder,
    immutable::{Command, CommandKind, Input, Message, Notification, NotificationKind, SignalKey},
    wire::{Failure as WireFailure, StartMessage, ValueMessage},
};

use super::*;
use crate::{
    offer::tests::{offer, report},
    values,
};

const NOW: i64 = 1_700_000_000_000;
const VERSION: ProtocolVersion = ProtocolVersion::V7;

/// A journal that is fed notifications, and a decoder of its commands.
struct JournalExchange {
    journal: StreamJournal,
    decoder: FrameDecoder,
}

impl JournalExchange {
    /// The journal of a workflow that calls `ship`, with these stored entries.
    fn new(stored: &[Message]) -> Self {
        Self::of(offer(&["order", "ship!"]), ("shop", "order"), stored)
    }

    /// The journal of a shared function of an object, which is a workflow or not.
    fn of_object(is_workflow: bool) -> Self {
        let mut report = report(&["Signup/run", "Signup/look"]);
        report.functions[0].runs_once = is_workflow;
        report.functions[1].access = Some(AccessReport::Shared);
        let offer = ServiceOffer::new("shop", "shop", &report).expect("an offer");
        Self::of(offer, ("Signup", "look"), &[])
    }

    /// The journal of a handler of this offer.
    fn of(offer: ServiceOffer, (service, handler): (&str, &str), stored: &[Message]) -> Self {
        let mut attempt = DeploymentAttempt::new(VERSION);
        let entries = u32::try_from(stored.len()).expect("a short journal") + 1;
        let start = StartMessage {
            id: vec![7; 24].into(),
            known_entries: entries,
            ..StartMessage::default()
        };
        let input = Input { value: Some(ValueMessage::from(Bytes::from("1"))), ..Input::default() };
        let begin = [Message::Start(start), Message::Command(input.into())];
        for message in begin.iter().chain(stored) {
            attempt.receive(&message.encode(VERSION).to_bytes()).expect("it is valid");
        }
        assert!(attempt.is_ready());
        let offer = Arc::new(offer);
        let handler = offer.handler(service, handler).expect("it is there").clone();
        let clock = HandClock::at(Timestamp(NOW));
        let journal = StreamJournal::new(attempt, VERSION, offer, handler, clock, "inv".to_owned());
        Self { journal, decoder: FrameDecoder::default() }
    }

    fn ask(&mut self, ask: impl Into<JournalCall>) -> JournalAnswer {
        self.journal.ask(ask.into()).expect("it is answered")
    }

    fn call(&mut self, options: CallOptions) -> u32 {
        let input = Payload::Json("2".to_owned());
        match self.ask(CallCommand { function: "ship".to_owned(), input, options }) {
            JournalAnswer::Command(index) => index,
            other => panic!("{other:?}"),
        }
    }

    /// The messages written since the last call.
    fn written(&mut self) -> Vec<Message> {
        let bytes = self.journal.attempt.take_output();
        self.decoder.feed(&bytes);
        let mut messages = Vec::new();
        while let Some(frame) = self.decoder.next_frame().expect("frames") {
            messages.push(Message::decode(&frame, VERSION).expect("a message"));
        }
        messages
    }

    /// The kinds of commands written since the last call.
    fn commands(&mut self) -> Vec<CommandKind> {
        let commands = self.written().into_iter().filter_map(|message| match message {
            Message::Command(command) => command.kind(),
            _ => None,
        });
        commands.collect()
    }

    fn told(&mut self, notification: Notification) {
        let message = Message::Notification(notification);
        self.journal.attempt.receive(&message.encode(VERSION).to_bytes()).expect("it was asked");
    }

    /// The next event that completes a command: its index, and its code (0 for a success).
    fn completed(&mut self) -> (u32, u32) {
        match self.outcome() {
            (command, Outcome::Success(_)) => (command, 0),
            (command, Outcome::Failure(failure)) => (command, failure.code),
        }
    }

    /// The next event that completes a command: its index and outcome.
    fn outcome(&mut self) -> (u32, Outcome) {
        match self.event() {
            Some(Event::Completed(Completion { command, outcome })) => (command, outcome),
            other => panic!("{other:?}"),
        }
    }

    fn event(&mut self) -> Option<Event> {
        self.journal.next_event().expect("no divergence")
    }
}

fn options() -> CallOptions {
    CallOptions { timeout_ms: None, retry: None, start_at_ms: None, labels: Vec::new() }
}

fn callee(completion: u32) -> Notification {
    let id = NotificationResult::InvocationId("inv_callee".to_owned());
    Notification::completion(NotificationKind::CallInvocationId, completion, id)
}

fn failed(completion: u32, code: u16, message: &str) -> Notification {
    let result = NotificationResult::Failure(WireFailure::new(code, message));
    Notification::completion(NotificationKind::Call, completion, result)
}

fn slept(completion: u32) -> Notification {
    Notification::completion(NotificationKind::Sleep, completion, NotificationResult::Void)
}

#[test]
fn a_call_that_is_cancelled_before_its_callee_is_known_is_cancelled_when_it_is() {
    let mut talk = JournalExchange::new(&[]);
    let call = talk.call(options());
    talk.ask(CancelCommand { command: call });
    talk.ask(CancelCommand { command: call });
    assert_eq!(talk.commands(), [CommandKind::Call]);
    assert_eq!(talk.completed(), (1, 0));
    assert_eq!(talk.completed(), (2, 0));
    talk.told(callee(1));
    assert_eq!(talk.event(), None);
    let [Message::Command(Command::SendSignal(signal))] = &talk.written()[..] else { panic!() };
    assert_eq!(signal.target_invocation_id, "inv_callee");
    assert_eq!(signal.signal, Some(SignalKey::Index(CANCEL_SIGNAL)));
    talk.told(failed(2, 409, "stopped"));
    assert_eq!(talk.completed(), (call, code::CANCELLED), "what the guest cancelled is told so");
    // A completed command cannot be cancelled.
    talk.ask(CancelCommand { command: call });
    assert_eq!(talk.completed(), (3, code::NOT_FOUND));
}

#[test]
fn a_sleep_that_is_cancelled_completes_at_once_and_its_end_is_no_event() {
    let mut talk = JournalExchange::new(&[]);
    talk.ask(SleepCommand { until_ms: 9 });
    talk.ask(CancelCommand { command: 0 });
    assert_eq!(talk.commands(), [CommandKind::Sleep]);
    assert_eq!(talk.completed(), (0, code::CANCELLED));
    assert_eq!(talk.completed(), (1, 0));
    talk.told(slept(1));
    assert_eq!(talk.event(), None);
    assert_eq!(talk.journal.waits(), WorkflowWait::ForNothing);
}

#[test]
fn the_end_of_a_time_limit_stops_the_callee_whether_it_is_known_or_not() {
    for is_known in [true, false] {
        let mut talk = JournalExchange::new(&[]);
        let call = talk.call(CallOptions { timeout_ms: Some(5), ..options() });
        // The time, the call, the limit.
        let asked = [CommandKind::Run, CommandKind::Call, CommandKind::Sleep];
        assert_eq!(talk.commands(), asked);
        if is_known {
            talk.told(callee(2));
        }
        talk.told(slept(4));
        assert_eq!(talk.completed(), (call, code::TIMED_OUT));
        let JournalAnswer::Now(now) = talk.ask(JournalCall::Now) else { panic!() };
        assert_eq!(now, NOW as u64 + 5, "the time is that of the limit");
        if !is_known {
            assert_eq!(talk.commands(), []);
            talk.told(callee(2));
            assert_eq!(talk.event(), None);
        }
        assert_eq!(talk.commands(), [CommandKind::SendSignal], "{is_known}");
        talk.told(failed(3, 409, "Cancelled"));
        assert_eq!(talk.event(), None, "it was told already");
    }
}

#[test]
fn a_step_of_a_saga_that_says_itself_that_time_is_over_knows_what_it_did() {
    for (is_step, expected) in [(true, code::REFUSED), (false, code::TIMED_OUT)] {
        let mut talk = JournalExchange::new(&[]);
        let input = Payload::Json("2".to_owned());
        let call = CallCommand { function: "ship".to_owned(), input, options: options() };
        let step = SagaStep {
            saga: "s".to_owned(),
            seq: 0,
            compensate: "ship".to_owned(),
            compensate_unknown: false,
        };
        match is_step {
            true => talk.ask(Box::new(StepCommand { command: call, step })),
            false => talk.ask(call),
        };
        talk.told(failed(2, 408, "too late"));
        assert_eq!(talk.completed(), (0, expected));
    }
}

#[test]
fn what_begins_later_begins_although_nobody_waits_for_it() {
    let mut talk = JournalExchange::new(&[]);
    let later = u64::try_from(NOW).expect("a time") + 10;
    let call = talk.call(CallOptions { start_at_ms: Some(later), ..options() });
    assert_eq!(talk.commands(), [CommandKind::Run, CommandKind::Sleep]);
    talk.ask(SleepCommand { until_ms: later + 10 });
    talk.ask(JournalCall::Forget { command: call });
    let WorkflowWait::For(waits) = talk.journal.waits() else { panic!("it waits") };
    assert_eq!((&waits.completions[..], &waits.signals[..]), (&[3, 2][..], &[1][..]));
    talk.written();
    talk.told(slept(2));
    assert_eq!(talk.event(), None);
    assert_eq!(talk.commands(), [CommandKind::Call]);
    // Work whose start time has passed begins immediately.
    talk.call(CallOptions { start_at_ms: Some(5), ..options() });
    assert_eq!(talk.commands(), [CommandKind::Call]);
}

#[test]
fn an_awakeable_may_be_completed_before_it_is_made() {
    let early = Notification::signal(17, NotificationResult::Value("5".into()));
    let mut talk = JournalExchange::new(&[Message::Notification(early)]);
    assert_eq!(talk.event(), None);
    let promise = || PromiseCommand { name: None, options: PromiseOptions { timeout_ms: None } };
    let JournalAnswer::Promise(index, id) = talk.ask(promise()) else { panic!() };
    assert!(id.starts_with("sign_1"), "{id}");
    assert_eq!(talk.completed(), (index, 0));
    let JournalAnswer::Promise(index, _) = talk.ask(promise()) else { panic!() };
    assert_eq!(talk.event(), None);
    talk.told(Notification::signal(18, NotificationResult::Failure(WireFailure::new(418, "no"))));
    assert_eq!(talk.completed(), (index, 418));
    // Awakeables of other invocations can be completed. An id in another format is unknown.
    talk.ask(SettleCommand { promise_id: id, outcome: values::null() });
    talk.ask(SettleCommand { promise_id: "inv/p/decision".to_owned(), outcome: values::null() });
    assert_eq!(talk.commands(), [CommandKind::CompleteAwakeable]);
    assert_eq!(talk.completed(), (2, 0));
    assert_eq!(talk.completed(), (3, code::NOT_FOUND));
}

fn json(text: &str) -> Outcome {
    Outcome::Success(Payload::Json(text.to_owned()))
}

/// One command of each kind on the promise `confirmed` of the object: wait, peek, settle.
fn questions() -> [JournalCall; 3] {
    let name = || "confirmed".to_owned();
    [
        WaitObjectPromiseCommand { name: name() }.into(),
        PeekObjectPromiseCommand { name: name() }.into(),
        SettleObjectPromiseCommand { name: name(), outcome: json("5") }.into(),
    ]
}

#[test]
fn promises_of_an_object_that_is_a_workflow_are_those_of_the_protocol() {
    let value = |text: &'static str| NotificationResult::Value(text.into());
    let no = || NotificationResult::Failure(WireFailure::new(418, "no"));
    let late = || NotificationResult::Failure(WireFailure::new(409, "already completed"));
    let failure = |code, message: &str| {
        Outcome::Failure(Failure { code, message: message.into(), details: None })
    };
    let [wait, peek, settle] = [0, 1, 2];
    for (question, result, expected) in [
        (wait, value("5"), json("5")),
        (wait, no(), failure(418, "no")),
        (peek, NotificationResult::Void, json("null")),
        (peek, value("5"), json(r#"{"resolved":5}"#)),
        (peek, value("null"), json(r#"{"resolved":null}"#)),
        (peek, value("~"), json(r#"{"resolved_base64":"fg=="}"#)),
        (peek, no(), json(r#"{"rejected":{"code":418,"details":null,"message":"no"}}"#)),
        (settle, NotificationResult::Void, json("true")),
        (settle, late(), failure(409, "already completed")),
    ] {
        let mut talk = JournalExchange::of_object(true);
        questions().into_iter().for_each(|question| drop(talk.ask(question)));
        let [
            Message::Command(Command::GetPromise(get)),
            Message::Command(Command::PeekPromise(look)),
            Message::Command(Command::CompletePromise(complete)),
        ] = &talk.written()[..]
        else {
            panic!()
        };
        assert_eq!([&*get.key, &look.key, &complete.key], ["confirmed"; 3]);
        assert_eq!(complete.completion, Some(Told::Success("5".into()).into()));
        // A promise of the object has other waiters, so the guest cannot cancel it.
        talk.ask(CancelCommand { command: 0 });
        assert_eq!(talk.completed(), (3, code::REFUSED));
        let kinds = [
            NotificationKind::GetPromise,
            NotificationKind::PeekPromise,
            NotificationKind::CompletePromise,
        ];
        let completion = u32::try_from(question).expect("a small number") + 1;
        talk.told(Notification::completion(kinds[question], completion, result));
        assert_eq!(talk.outcome(), (completion - 1, expected));
    }
}

#[test]
fn promises_of_an_object_that_is_no_workflow_are_refused_with_what_to_do() {
    let mut talk = JournalExchange::of_object(false);
    for (command, question) in (0..).zip(questions()) {
        talk.ask(question);
        let (completed, Outcome::Failure(refused)) = talk.outcome() else { panic!() };
        assert_eq!((completed, refused.code), (command, code::REFUSED));
        for said in ["`Signup`", "`confirmed`", "`#[run]`"] {
            assert!(refused.message.contains(said), "{}", refused.message);
        }
    }
    assert_eq!(talk.commands(), []);
}

#[test]
fn a_request_to_stop_is_told_once() {
    let mut talk = JournalExchange::new(&[]);
    talk.ask(SleepCommand { until_ms: 9 });
    let cancel = || Notification::signal(CANCEL_SIGNAL, NotificationResult::Void);
    talk.told(cancel());
    talk.told(cancel());
    assert_eq!(talk.event(), Some(Event::Cancelled));
    assert_eq!(talk.event(), None);
    let WorkflowWait::For(waits) = talk.journal.waits() else { panic!("it waits") };
    assert_eq!((&waits.completions[..], waits.signals.len()), (&[1][..], 0));
}

#[test]
fn a_workflow_ends_when_it_is_known_whom_it_leaves_behind() {
    let mut talk = JournalExchange::new(&[]);
    talk.call(options());
    talk.ask(JournalCall::Finish { outcome: values::null() });
    talk.written();
    let waits = talk.journal.leave().expect("no divergence").expect("it waits");
    assert_eq!(waits.completions, [1]);
    talk.told(callee(1));
    assert_eq!(talk.journal.leave(), Ok(None));
    assert_eq!(talk.commands(), [CommandKind::SendSignal]);
    // Commands have no effect after the end.
    assert_eq!(talk.ask(SleepCommand { until_ms: 9 }), JournalAnswer::Command(u32::MAX));
    assert_eq!(talk.commands(), []);
}

#[test]
fn a_computation_asks_for_nothing_but_the_time_which_it_does_not_keep() {
    let mut talk = JournalExchange::new(&[]);
    let run = talk.ask(RunCommand { name: "sum".to_owned() });
    assert_eq!(run, JournalAnswer::Run(RunAnswer::Execute(0)));
    assert_eq!(talk.ask(JournalCall::Now), JournalAnswer::Now(NOW as u64));
    let refused = talk.journal.ask(SleepCommand { until_ms: 9 }.into());
    assert!(matches!(refused, Err(StopReason::Contract(_))), "{refused:?}");
    talk.ask(JournalCall::RunDone { command: 0, outcome: values::null() });
    assert_eq!(talk.commands(), [CommandKind::Run]);
    let again = talk.journal.ask(JournalCall::RunDone { command: 0, outcome: values::null() });
    assert!(matches!(again, Err(StopReason::Contract(_))), "{again:?}");
}

#[test]
fn another_command_than_the_stored_one_stops_the_guest() {
    let stored = segno_restate::immutable::Sleep {
        wake_up_at_ms: 5,
        result_completion_id: 1,
        name: String::new(),
    };
    let mut talk = JournalExchange::new(&[Message::Command(stored.into())]);
    let refused = talk.journal.ask(RunCommand { name: "sum".to_owned() }.into());
    assert_eq!(refused, Err(StopReason::Divergence));
    let error = talk.journal.take_error().expect("it is kept");
    assert!(matches!(error, AttemptError::Divergence(_)), "{error}");
}

#[test]
fn a_time_limit_of_attempts_goes_with_a_call_and_a_request() {
    let limited = |said: &str| {
        let labels = vec![("segno:attempt-timeout-ms".to_owned(), said.to_owned())];
        CallOptions { labels, ..options() }
    };
    let mut talk = JournalExchange::new(&[]);
    talk.call(limited("250"));
    let headers = talk.written().into_iter().find_map(|message| match message {
        Message::Command(Command::Call(call)) => Some(call.headers),
        _ => None,
    });
    let [header] = &headers.expect("it is called")[..] else { panic!("one header") };
    assert_eq!((&*header.key, &*header.value), ("segno-attempt-timeout-ms", "250"));

    let mut ask = |said: &str| {
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: "http://it".to_owned(),
            headers: Vec::new(),
            body: None,
        };
        talk.ask(HttpCommand { request, options: limited(said) });
    };
    ask("250");
    ask("soon");
    let [request] = &talk.journal.take_requests()[..] else { panic!("one request") };
    assert_eq!(request.limit, Some(Millis(250)));
    assert_eq!(talk.completed(), (2, code::BAD_REQUEST));
}
