//! The interface of a scripted workflow: its commands, and the events that it receives.

use std::{
    collections::{BTreeMap, VecDeque},
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use segno_guest::{
    CallOptions, Completion, Context, Event, Failure, GuestCommand, GuestError, HttpRequest,
    JournalAnswer, JournalCall, Level, Outcome, Panic, Payload, PromiseOptions, RunAnswer,
    SagaStep, SharedJournal, Signal,
    commands::{
        AppendStreamCommand, CallCommand, CancelCommand, ClearAllStateCommand, ClearStateCommand,
        ContinueAsNewCommand, GetStateCommand, HttpCommand, PeekObjectPromiseCommand,
        PromiseCommand, PublishCommand, RunCommand, SendCommand, SendSignalCommand,
        SetStateCommand, SettleCommand, SettleObjectPromiseCommand, SleepCommand,
        StateNamesCommand, StepCommand, UnreadCommand, WaitObjectPromiseCommand,
    },
};

/// A failure of a step or a workflow: its code and message.
pub type Failed = (u32, String);
/// Outcome of a step or a workflow: JSON text, or a failure.
pub type Result = std::result::Result<String, Failed>;

/// Context of a scripted workflow. Cheap to clone. All clones share one state.
#[derive(Clone)]
pub struct ScriptContext(Arc<Mutex<State>>);

struct State {
    input: Payload,
    context: Context,
    key: Option<String>,
    journal: Option<SharedJournal>,
    completed: BTreeMap<u32, Result>,
    order: VecDeque<u32>,
    heard: u32,
    signals: VecDeque<(String, String)>,
    shared: String,
    cancelled: bool,
    error: Option<GuestError>,
    hangs: bool,
}

/// State that a poll left behind.
pub(super) struct Closed {
    pub(super) error: Option<GuestError>,
    pub(super) hangs: bool,
}

impl ScriptContext {
    pub(super) fn new(input: Payload, context: Context, key: Option<String>) -> Self {
        Self(Arc::new(Mutex::new(State {
            input,
            context,
            key,
            journal: None,
            completed: BTreeMap::new(),
            order: VecDeque::new(),
            heard: 0,
            signals: VecDeque::new(),
            shared: "null".to_owned(),
            cancelled: false,
            error: None,
            hangs: false,
        })))
    }

    /// The input as JSON text.
    pub fn input(&self) -> String {
        text(self.state().input.clone())
    }

    /// Identity of the workflow.
    pub fn context(&self) -> Context {
        self.state().context.clone()
    }

    /// Sets the state that queries see, as JSON text.
    pub fn share(&self, json: &str) {
        self.state().shared = json.to_owned();
    }

    /// State that queries see.
    pub fn shared(&self) -> String {
        self.state().shared.clone()
    }

    /// Calls a function with JSON text.
    pub fn call(&self, function: &str, input: &str) -> u32 {
        self.call_with(function, input, options())
    }

    /// Calls a function.
    pub fn call_with(&self, function: &str, input: &str, options: CallOptions) -> u32 {
        let input = Payload::Json(input.into());
        self.command(CallCommand { function: function.into(), input, options })
    }

    /// Starts a function without awaiting its result.
    pub fn send(&self, function: &str, input: &str, options: CallOptions) -> u32 {
        let input = Payload::Json(input.into());
        self.command(SendCommand(CallCommand { function: function.into(), input, options }))
    }

    /// Sleeps until a logical instant, in milliseconds.
    pub fn sleep_until(&self, time_ms: u64) -> u32 {
        self.command(SleepCommand { until_ms: time_ms })
    }

    /// Sleeps for `ms` milliseconds of logical time.
    pub fn sleep(&self, ms: u64) -> u32 {
        self.sleep_until(self.now() + ms)
    }

    /// Creates a promise. Returns its command and its id.
    pub fn promise(&self, name: Option<&str>) -> (u32, String) {
        let options = PromiseOptions { timeout_ms: None };
        match self.ask(PromiseCommand { name: name.map(str::to_owned), options }.into()) {
            Some(JournalAnswer::Promise(index, id)) => (index, id),
            _ => (u32::MAX, String::new()),
        }
    }

    /// Resolves a promise.
    pub fn settle(&self, id: &str, json: &str) -> u32 {
        let outcome = Outcome::Success(Payload::Json(json.into()));
        self.command(SettleCommand { promise_id: id.into(), outcome })
    }

    /// Sends an HTTP request.
    pub fn http(&self, method: &str, url: &str, options: CallOptions) -> u32 {
        let request =
            HttpRequest { method: method.into(), url: url.into(), headers: Vec::new(), body: None };
        self.command(HttpCommand { request, options })
    }

    /// Takes the first step of a saga `trip`: a request, with `undo` as its compensation.
    pub fn http_step(&self, url: &str, compensate_unknown: bool, options: CallOptions) -> u32 {
        let request =
            HttpRequest { method: "POST".into(), url: url.into(), headers: Vec::new(), body: None };
        let (saga, compensate) = ("trip".into(), "undo".into());
        let step = SagaStep { saga, seq: 0, compensate, compensate_unknown };
        let command = HttpCommand { request, options };
        self.command(GuestCommand::SagaHttp(Box::new(StepCommand { command, step })))
    }

    /// Cancels a command.
    pub fn cancel(&self, command: u32) -> u32 {
        self.command(CancelCommand { command })
    }

    /// Stops waiting for a command.
    pub fn forget(&self, command: u32) {
        self.ask(JournalCall::Forget { command });
    }

    /// Sends a signal to another invocation.
    pub fn send_signal(&self, invocation: &str, name: &str, json: &str) -> u32 {
        let (invocation, name) = (invocation.to_owned(), name.to_owned());
        self.command(SendSignalCommand {
            invocation,
            name,
            payload: Payload::Json(json.to_owned()),
        })
    }

    /// Publishes an event.
    pub fn publish(&self, topic: &str, json: &str) -> u32 {
        self.command(PublishCommand { topic: topic.into(), payload: Payload::Json(json.into()) })
    }

    /// Appends an item to a stream of messages.
    pub fn append(&self, stream: &str, json: &str) -> u32 {
        self.command(AppendStreamCommand {
            name: stream.into(),
            content_type: "application/json".into(),
            item: Payload::Json(json.into()),
        })
    }

    /// Computes a value once and records it.
    pub fn run(&self, name: &str, compute: impl FnOnce() -> String) -> u32 {
        match self.ask(RunCommand { name: name.into() }.into()) {
            Some(JournalAnswer::Run(RunAnswer::Execute(index))) => {
                let outcome = Outcome::Success(Payload::Json(compute()));
                self.ask(JournalCall::RunDone { command: index, outcome });
                index
            }
            Some(JournalAnswer::Run(RunAnswer::Recorded(index))) => index,
            _ => u32::MAX,
        }
    }

    /// Logical time, in milliseconds.
    pub fn now(&self) -> u64 {
        match self.ask(JournalCall::Now) {
            Some(JournalAnswer::Now(now)) => now,
            _ => 0,
        }
    }

    /// Logs a line.
    pub fn log(&self, message: &str) {
        self.ask(JournalCall::Log { level: Level::Info, message: message.into() });
    }

    /// Key of its object. `None` outside an object.
    pub fn key(&self) -> Option<String> {
        self.state().key.clone()
    }

    /// Reads an entry in the state of its object.
    pub fn get(&self, name: &str) -> u32 {
        self.command(GetStateCommand { name: name.into() })
    }

    /// Reads the names in the state of its object.
    pub fn names(&self) -> u32 {
        self.command(StateNamesCommand)
    }

    /// Writes an entry in the state of its object.
    pub fn set(&self, name: &str, json: &str) {
        self.command(SetStateCommand { name: name.into(), value: Payload::Json(json.into()) });
    }

    /// Clears an entry in the state of its object.
    pub fn clear(&self, name: &str) {
        self.command(ClearStateCommand { name: name.into() });
    }

    /// Clears the state of its object.
    pub fn clear_all(&self) {
        self.command(ClearAllStateCommand);
    }

    /// Waits for a promise of its object.
    pub fn wait_object_promise(&self, name: &str) -> u32 {
        self.command(WaitObjectPromiseCommand { name: name.into() })
    }

    /// Reads a promise of its object without waiting.
    pub fn peek_object_promise(&self, name: &str) -> u32 {
        self.command(PeekObjectPromiseCommand { name: name.into() })
    }

    /// Resolves a promise of its object.
    pub fn resolve_object_promise(&self, name: &str, json: &str) -> u32 {
        let outcome = Outcome::Success(Payload::Json(json.into()));
        self.command(SettleObjectPromiseCommand { name: name.into(), outcome })
    }

    /// Rejects a promise of its object.
    pub fn reject_object_promise(&self, name: &str, code: u32, message: &str) -> u32 {
        let outcome = Outcome::Failure(Failure { code, message: message.into(), details: None });
        self.command(SettleObjectPromiseCommand { name: name.into(), outcome })
    }

    /// Waits for the outcome of a command. A cancellation ends the wait with 499, once.
    pub async fn done(&self, command: u32) -> Result {
        poll_fn(|_| {
            let mut state = self.state();
            if let Some(outcome) = state.completed.get(&command) {
                return Poll::Ready(outcome.clone());
            }
            if std::mem::take(&mut state.cancelled) {
                return Poll::Ready(Err((499, "cancelled".to_owned())));
            }
            Poll::Pending
        })
        .await
    }

    /// Waits for the next unread completion. Returns its command.
    pub async fn any(&self) -> u32 {
        poll_fn(|_| self.state().order.pop_front().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Waits for a signal. Returns its name and payload.
    pub async fn signal(&self) -> (String, String) {
        poll_fn(|_| self.state().signals.pop_front().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Waits for cancellation.
    pub async fn cancelled(&self) {
        poll_fn(|_| {
            if std::mem::take(&mut self.state().cancelled) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Traps.
    pub async fn trap(&self, message: &str) -> Result {
        self.state().error = Some(GuestError::Trap {
            message: message.into(),
            last_words: String::new(),
            backtrace: None,
        });
        std::future::pending().await
    }

    /// Panics.
    pub async fn panic(&self, at: &str, message: &str) -> Result {
        let panic = Panic { at: at.into(), message: message.into(), hint: None };
        self.state().error = Some(GuestError::Panicked { panic, backtrace: None });
        std::future::pending().await
    }

    /// Never returns from this poll.
    pub async fn hang(&self) -> Result {
        self.state().hangs = true;
        std::future::pending().await
    }

    /// Ends this generation. The next one begins with this input, and with the unread signals.
    pub async fn continue_as_new(&self, input: &str) -> Result {
        let signals: Vec<u32> = {
            let state = self.state();
            let unread = u32::try_from(state.signals.len()).expect("few");
            (state.heard - unread..state.heard).collect()
        };
        if !signals.is_empty() {
            self.command(UnreadCommand { signals });
        }
        self.command(ContinueAsNewCommand { input: Payload::Json(input.into()), same_code: false });
        std::future::pending().await
    }

    /// Sends any request of the contract. Returns `None` if the guest was stopped.
    pub fn ask(&self, ask: JournalCall) -> Option<JournalAnswer> {
        let mut state = self.state();
        if state.error.is_some() {
            return None;
        }
        let journal = state.journal.clone().expect("a workflow asks while it is polled");
        let answer = journal.lock().unwrap_or_else(PoisonError::into_inner).ask(ask);
        match answer {
            Ok(answer) => Some(answer),
            Err(stop) => {
                state.error = Some(GuestError::Stopped { stop, backtrace: None });
                None
            }
        }
    }

    fn command(&self, command: impl Into<GuestCommand>) -> u32 {
        match self.ask(JournalCall::Command(command.into())) {
            Some(JournalAnswer::Command(index)) => index,
            _ => u32::MAX,
        }
    }

    pub(super) fn open(&self, journal: SharedJournal) {
        self.state().journal = Some(journal);
    }

    pub(super) fn close(&self) -> Closed {
        let mut state = self.state();
        state.journal = None;
        Closed { error: state.error.take(), hangs: state.hangs }
    }

    pub(super) fn finish(&self, outcome: Result) {
        self.ask(JournalCall::Finish { outcome: told(outcome) });
    }

    pub(super) fn tell(&self, event: Event) {
        let mut state = self.state();
        match event {
            Event::Completed(Completion { command, outcome }) => {
                let outcome = match outcome {
                    Outcome::Success(payload) => Ok(text(payload)),
                    Outcome::Failure(failure) => Err((failure.code, failure.message)),
                };
                state.completed.insert(command, outcome);
                state.order.push_back(command);
            }
            Event::Signal(Signal { name, payload }) => {
                state.heard += 1;
                state.signals.push_back((name, text(payload)));
            }
            Event::Cancelled => state.cancelled = true,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts a result into the host's type.
pub(super) fn told(result: Result) -> Outcome {
    match result {
        Ok(json) => Outcome::Success(Payload::Json(json)),
        Err((code, message)) => Outcome::Failure(Failure { code, message, details: None }),
    }
}

/// Default options of a call.
pub fn options() -> CallOptions {
    CallOptions { timeout_ms: None, retry: None, start_at_ms: None, labels: Vec::new() }
}

fn text(payload: Payload) -> String {
    match payload {
        Payload::Json(text) => text,
        Payload::Bytes(bytes) => format!("{} bytes", bytes.len()),
    }
}
