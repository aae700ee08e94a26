//! A runtime of services for one test: it keeps journals, calls an endpoint through the runtime's side of the
//! protocol, and breaks attempts off where the test says. Its time is virtual, and nothing in it is left to
//! chance.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Poll},
};

use async_trait::async_trait;
use futures::{Stream, StreamExt as _};
use segno::{
    endpoint::{Endpoint, Offer},
    guest::{Failure, HttpRequest, HttpResponse, Outbound, Payload},
    runtime::{Clock, Env},
};
use segno_core::{
    id::Digest,
    time::{Millis, Timestamp},
};
use segno_restate::{
    ProtocolVersion, Start,
    id::AwakeableId,
    immutable::{
        Command, ErrorBehavior, ErrorMessage, Future, Input, Message, Notification, NotificationId,
        NotificationKind, NotificationResult, OutputResult, Settled, SignalKey, SignalResult,
    },
    runtime::immutable::{Action, Attempt as Runtime},
    wire::{self, Header, Outcome, StateEntry, Value},
};
use serde_json::Value as Json;
use tokio::sync::Notify;

use crate::guests;

/// The first instant.
const BEGIN: i64 = 1_700_000_000_000;
/// The most attempts of one world: then it goes round in circles.
const ATTEMPTS: usize = 2_000;

/// How the attempts of a world go.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    /// The version of the protocol.
    pub version: ProtocolVersion,
    /// Whether requests are sent as a whole, so that what comes later needs another attempt.
    pub is_request_response: bool,
    /// Whether state is sent along.
    pub sends_state: bool,
    /// By how much the clock goes on whenever it is read, in milliseconds.
    pub clock_step_ms: i64,
    /// The frame of an endpoint with which the connection breaks, counted over all attempts.
    pub breaks_after: Option<usize>,
}

impl Course {
    /// Both sides send at once, and nothing breaks.
    pub fn of(version: ProtocolVersion) -> Self {
        Self {
            version,
            is_request_response: false,
            sends_state: true,
            clock_step_ms: 0,
            breaks_after: None,
        }
    }
}

/// What a person does when everything waits.
#[derive(Debug, Clone)]
pub enum Act {
    /// Time passes until the next timer.
    Tick,
    /// So many milliseconds pass; timers are not due before.
    Pass(u64),
    /// Sends a signal.
    Signal(&'static str, &'static str, Json),
    /// Completes the promise of an invocation with this name, when it is there; until then time passes.
    Resolve(&'static str, &'static str, Json),
    /// Rejects the promise of an invocation with this name; otherwise as `Resolve`.
    Reject(&'static str, &'static str),
    /// Asks an invocation to stop.
    Cancel(&'static str),
}

/// Answers the requests of guests: the body and the idempotency key go in.
type Answers = dyn Fn(&HttpRequest) -> Result<HttpResponse, Failure> + Send + Sync;

struct Service(Box<Answers>);

#[async_trait]
impl Outbound for Service {
    async fn send(&self, _module: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        (self.0)(&request)
    }

    fn allows(&self, _module: &str, _url: &str) -> Result<(), Failure> {
        Ok(())
    }
}

/// A clock that goes on by as much whenever it is read.
struct VirtualClock(AtomicI64, i64);

impl VirtualClock {
    fn new(course: Course) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(BEGIN), course.clock_step_ms))
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(self.1, Ordering::SeqCst))
    }
}

/// An invocation as the runtime keeps it.
struct Invocation {
    service: String,
    handler: String,
    key: String,
    journal: Vec<bytes::Bytes>,
    /// What it is to be told, in the order in which it came.
    pending: VecDeque<Notification>,
    /// Told or stored since the last wait.
    waits: Option<Future>,
    outcome: Option<Outcome>,
    /// Who waits for the outcome, and under which completion id.
    callers: Vec<(String, u32)>,
    failed: u32,
    retry_at: Option<Timestamp>,
    paused: Option<ErrorMessage>,
    children: u32,
}

/// The runtime.
pub struct World {
    endpoint: Arc<Endpoint>,
    clock: Arc<VirtualClock>,
    course: Course,
    frames: usize,
    attempts: usize,
    invocations: BTreeMap<String, Invocation>,
    order: Vec<String>,
    state: BTreeMap<(String, String), BTreeMap<bytes::Bytes, bytes::Bytes>>,
    timers: BTreeSet<(Timestamp, String, u32)>,
    /// Every failed attempt.
    pub failures: Vec<ErrorMessage>,
}

impl World {
    /// A world with the component of one module.
    ///
    /// # Panics
    /// The component makes no services.
    pub async fn new(
        module: &str,
        component: &Arc<[u8]>,
        course: Course,
        answers: impl Fn(&HttpRequest) -> Result<HttpResponse, Failure> + Send + Sync + 'static,
    ) -> Self {
        let clock = VirtualClock::new(course);
        let outbound = Arc::new(Service(Box::new(answers)));
        let endpoint = served(module, component, &clock, outbound).await;
        Self::of(endpoint, clock, course)
    }

    fn of(endpoint: Endpoint, clock: Arc<VirtualClock>, course: Course) -> Self {
        Self {
            endpoint: Arc::new(endpoint),
            clock,
            course,
            frames: 0,
            attempts: 0,
            invocations: BTreeMap::new(),
            order: Vec::new(),
            state: BTreeMap::new(),
            timers: BTreeSet::new(),
            failures: Vec::new(),
        }
    }

    /// Serves another component at the same address: attempts go on with that.
    ///
    /// # Panics
    /// The component makes no services.
    pub async fn replace(&mut self, component: &Arc<[u8]>) {
        let of = self.endpoint.clone();
        let outbound = of.outbound.clone();
        let other = served(&of.offer.module, component, &self.clock, outbound).await;
        self.endpoint = Arc::new(other);
    }

    /// The same engine for another course: what was compiled stays.
    pub fn again(&self, course: Course) -> Self {
        let clock = VirtualClock::new(course);
        let env = Env { clock: clock.clone(), ..Env::system() };
        let of = &self.endpoint;
        let endpoint = Endpoint {
            guests: of.guests.clone(),
            outbound: of.outbound.clone(),
            env,
            offer: of.offer.clone(),
            digest: of.digest,
            draining: of.draining.clone(),
        };
        Self::of(endpoint, clock, course)
    }

    /// Whether the connection broke where it was to.
    pub fn broke(&self) -> bool {
        self.course.breaks_after.is_some_and(|at| self.frames >= at)
    }

    /// The time since the beginning, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.clock.now().0 - BEGIN).expect("time goes forward")
    }

    /// How many attempts there were.
    pub fn attempts(&self) -> usize {
        self.attempts
    }

    /// The ids of all invocations of a handler, in the order in which they were called.
    pub fn called(&self, handler: &str) -> Vec<&str> {
        let of = |id: &&String| self.invocations[*id].handler == handler;
        self.order.iter().filter(of).map(String::as_str).collect()
    }

    /// How an invocation ended, if it has.
    pub fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.invocations[id].outcome.as_ref()
    }

    /// The error with which an invocation was paused, if it was.
    pub fn paused(&self, id: &str) -> Option<&ErrorMessage> {
        self.invocations[id].paused.as_ref()
    }

    /// The times that the journal of an invocation keeps.
    pub fn times(&self, id: &str) -> Vec<i64> {
        let messages = || self.invocations[id].journal.iter().map(|record| self.message(record));
        let runs: BTreeSet<u32> = messages()
            .filter_map(|message| match message {
                Message::Command(Command::Run(run)) if run.name == "segno:time" => {
                    Some(run.result_completion_id)
                }
                _ => None,
            })
            .collect();
        let kept = messages().filter_map(|message| match message {
            Message::Notification(Notification {
                id: NotificationId::Completion(id),
                result: NotificationResult::Value(value),
                ..
            }) if runs.contains(&id) => serde_json::from_slice(&value).ok(),
            _ => None,
        });
        kept.collect()
    }

    /// The names of an invocation's commands, with their types.
    pub fn commands(&self, id: &str) -> Vec<(u16, String)> {
        let journal = &self.invocations[id].journal;
        let decoded = journal.iter().filter_map(|record| self.decoded(record));
        decoded.map(|command| (command.number(), command.entry_name().to_owned())).collect()
    }

    /// Begins an invocation and lets everything go on until it has ended; what is done meanwhile, whenever everything
    /// waits, is `acts`. Afterwards time passes.
    ///
    /// # Panics
    /// It goes round in circles, is paused, or waits for what does not come.
    pub async fn run(
        &mut self,
        id: &str,
        target: (&str, &str, &str),
        input: Json,
        acts: &[Act],
    ) -> Outcome {
        let outcome = self.try_run(id, target, input, acts).await;
        outcome.unwrap_or_else(|error| panic!("`{id}` is paused: {error:?}"))
    }

    /// The same for one that may be paused.
    ///
    /// # Errors
    /// The error with which it is.
    ///
    /// # Panics
    /// It goes round in circles, or waits for what does not come.
    pub async fn try_run(
        &mut self,
        id: &str,
        (service, key, handler): (&str, &str, &str),
        input: Json,
        acts: &[Act],
    ) -> Result<Outcome, ErrorMessage> {
        self.start(id, (service, key, handler), input).await;
        let mut acts: VecDeque<Act> = acts.iter().cloned().collect();
        loop {
            self.settle_down().await;
            let invocation = &self.invocations[id];
            if let Some(outcome) = &invocation.outcome
                && acts.is_empty()
            {
                return Ok(outcome.clone());
            }
            if let Some(error) = &invocation.paused {
                return Err(error.clone());
            }
            let is_early = match acts.front() {
                Some(Act::Resolve(of, name, _) | Act::Reject(of, name)) => {
                    self.awakeable(of, name).is_none()
                }
                _ => false,
            };
            match is_early {
                true => self.tick(),
                false => self.act(acts.pop_front().unwrap_or(Act::Tick)),
            }
        }
    }

    /// Begins an invocation, and lets everything go on until it waits.
    pub async fn start(&mut self, id: &str, target: (&str, &str, &str), input: Json) {
        let (service, key, handler) = target;
        self.call(id, service, key, handler, input.to_string().into(), Vec::new());
        self.settle_down().await;
    }

    /// Does something, and lets everything go on until it waits.
    pub async fn then(&mut self, act: Act) {
        self.act(act);
        self.settle_down().await;
    }

    async fn settle_down(&mut self) {
        while let Some(next) = self.runnable() {
            self.attempt(&next).await;
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Tick => self.tick(),
            Act::Pass(ms) => {
                self.clock.0.fetch_add(i64::try_from(ms).expect("a length"), Ordering::SeqCst);
            }
            Act::Signal(id, name, value) => {
                let value = NotificationResult::Value(value.to_string().into());
                self.tell(id, Notification::named_signal(name, value));
            }
            Act::Resolve(id, name, value) => {
                let awakeable = self.awakeable(id, name).expect("the promise is there");
                self.complete(&awakeable, NotificationResult::Value(value.to_string().into()));
            }
            Act::Reject(id, name) => {
                let awakeable = self.awakeable(id, name).expect("the promise is there");
                let no = wire::Failure::new(404, "it did not act");
                self.complete(&awakeable, NotificationResult::Failure(no));
            }
            Act::Cancel(id) => self.tell(id, Notification::signal(1, NotificationResult::Void)),
        }
    }

    /// The id of the promise with this name, as the journal keeps it.
    fn awakeable(&self, id: &str, name: &str) -> Option<String> {
        let messages = || self.invocations[id].journal.iter().map(|record| self.message(record));
        let name = format!("segno:promise/{name}");
        let run = messages().find_map(|message| match message {
            Message::Command(Command::Run(run)) if run.name == name => {
                Some(run.result_completion_id)
            }
            _ => None,
        })?;
        let kept = messages().find_map(|message| match message {
            Message::Notification(Notification {
                id: NotificationId::Completion(id),
                result: NotificationResult::Value(value),
                ..
            }) if id == run => Some(value),
            _ => None,
        });
        Some(serde_json::from_slice(&kept?).expect("it is a text"))
    }

    fn complete(&mut self, awakeable: &str, result: NotificationResult) {
        let id: AwakeableId = awakeable.parse().expect("an awakeable");
        let owner = String::from_utf8(id.invocation.to_vec()).expect("ids are texts here");
        self.tell(&owner, Notification::signal(id.index, result));
    }

    fn tell(&mut self, id: &str, notification: Notification) {
        let invocation = self.invocations.get_mut(id).expect("it exists");
        if invocation.outcome.is_none() {
            invocation.pending.push_back(notification);
        }
    }

    fn tick(&mut self) {
        let retries = self.invocations.values().filter_map(|invocation| invocation.retry_at);
        let timers = self.timers.iter().map(|(at, _, _)| *at);
        let next = retries.chain(timers).min().expect("something comes some time");
        let now = next.max(self.clock.now());
        self.clock.0.store(now.0, Ordering::SeqCst);
        while let Some((at, _, _)) = self.timers.first()
            && *at <= now
        {
            let (_, id, completion) = self.timers.pop_first().expect("it was there");
            let slept = Notification::completion(
                NotificationKind::Sleep,
                completion,
                NotificationResult::Void,
            );
            self.tell(&id, slept);
        }
        for invocation in self.invocations.values_mut() {
            invocation.retry_at = invocation.retry_at.filter(|at| *at > now);
        }
    }

    fn call(
        &mut self,
        id: &str,
        service: &str,
        key: &str,
        handler: &str,
        input: bytes::Bytes,
        headers: Vec<Header>,
    ) {
        let input = Input { headers, value: Some(Value { content: input }), name: String::new() };
        let input = Message::Command(input.into()).encode(self.course.version).to_bytes();
        let invocation = Invocation {
            service: service.to_owned(),
            handler: handler.to_owned(),
            key: key.to_owned(),
            journal: vec![input],
            pending: VecDeque::new(),
            waits: None,
            outcome: None,
            callers: Vec::new(),
            failed: 0,
            retry_at: None,
            paused: None,
            children: 0,
        };
        assert!(self.invocations.insert(id.to_owned(), invocation).is_none(), "`{id}` exists");
        self.order.push(id.to_owned());
    }

    /// The first invocation, in the order of their calls, that can go on. One of a key at a time.
    fn runnable(&self) -> Option<String> {
        let can = |id: &&String| {
            let it = &self.invocations[*id];
            if it.outcome.is_some() || it.paused.is_some() || it.retry_at.is_some() {
                return false;
            }
            let holds = self.order.iter().take_while(|other| other != id).any(|other| {
                let other = &self.invocations[other];
                let same = (&other.service, &other.key) == (&it.service, &it.key);
                !it.key.is_empty() && same && other.outcome.is_none()
            });
            let told = |id: &NotificationId| {
                let pending = it.pending.iter().find(|pending| pending.id == *id)?;
                Some(if pending.is_failure() { Settled::Failed } else { Settled::Succeeded })
            };
            !holds && it.waits.as_ref().is_none_or(|waits| waits.is_satisfied(told))
        };
        self.order.iter().find(can).cloned()
    }

    /// One attempt, until it is over or breaks.
    async fn attempt(&mut self, id: &str) {
        self.attempts += 1;
        assert!(self.attempts < ATTEMPTS, "it goes round in circles at `{id}`");
        let version = self.course.version;
        let it = self.invocations.get_mut(id).expect("it exists");
        it.waits = None;
        // What came before the attempt is in its journal.
        for notification in it.pending.drain(..) {
            it.journal.push(Message::Notification(notification).encode(version).to_bytes());
        }
        let state = self.state.get(&(it.service.clone(), it.key.clone()));
        let sends_state = self.course.sends_state && !it.key.is_empty();
        let entries = state
            .into_iter()
            .flatten()
            .map(|(key, value)| StateEntry { key: key.clone(), value: value.clone() });
        let start = Start {
            id: id.to_owned().into(),
            debug_id: id.to_owned(),
            state_map: if sends_state { entries.collect() } else { Vec::new() },
            partial_state: !sends_state,
            key: it.key.clone(),
            retry_count: it.failed,
            random_seed: 7,
            ..Start::default()
        };
        let records = it.journal.iter().map(|record| &record[..]);
        let (runtime, first) =
            Runtime::open(version, start, records).expect("the journal is whole");
        let handler = self.endpoint.offer.handler(&it.service, &it.handler);
        let handler = handler.expect("services that are called exist").clone();
        let body = Body::default();
        let attempt = self.endpoint.attempt(&handler, version, body.clone().boxed());
        let mut live = Live { id: id.to_owned(), runtime, body, is_over: false };
        live.body.send(&first);
        if self.course.is_request_response {
            live.half_close();
        }
        let mut attempt = Box::pin(futures::stream::unfold(attempt, async |mut attempt| {
            let bytes = attempt.next().await?;
            Some((bytes, attempt))
        }));
        while !live.is_over {
            tokio::select! {
                biased;
                bytes = attempt.next() => {
                    let Some(bytes) = bytes else {
                        panic!("the attempt at `{id}` ended without a last frame");
                    };
                    if self.received(&mut live, bytes) {
                        return;
                    }
                }
                () = live.body.starved() => {
                    let it = self.invocations.get_mut(id).expect("it exists");
                    match it.pending.pop_front() {
                        Some(notification) => {
                            let bytes = live.runtime.notify(&notification).expect("it was asked for");
                            let record = Message::Notification(notification).encode(version);
                            it.journal.push(record.to_bytes());
                            live.body.send(&bytes);
                        }
                        None if !live.body.has_ended() => live.half_close(),
                        None => panic!("`{id}` neither goes on nor suspends"),
                    }
                }
            }
        }
    }

    /// Takes what the endpoint sent, frame by frame. Whether the connection broke.
    fn received(&mut self, live: &mut Live, mut bytes: bytes::Bytes) -> bool {
        while !bytes.is_empty() {
            let length = u32::from_be_bytes(bytes[4..8].try_into().expect("four bytes")) as usize;
            let frame = bytes.split_to(8 + length);
            for action in live.runtime.receive(&frame).expect("an endpoint keeps the protocol") {
                self.acted(live, action);
            }
            self.frames += 1;
            if self.course.breaks_after == Some(self.frames) {
                return true;
            }
        }
        false
    }

    fn acted(&mut self, live: &mut Live, action: Action) {
        let id = live.id.clone();
        match action {
            Action::Append { command, record, .. } => {
                let it = self.invocations.get_mut(&id).expect("it exists");
                it.journal.push(record);
                it.failed = 0;
                self.asked(&id, command);
            }
            Action::ProposeRun { completion_id, outcome, .. } => {
                // Stored as it comes, and told.
                let notification = Notification::run(completion_id, outcome);
                let bytes = live.runtime.notify(&notification).expect("it was asked for");
                let record = Message::Notification(notification).encode(self.course.version);
                let it = self.invocations.get_mut(&id).expect("it exists");
                it.journal.push(record.to_bytes());
                live.body.send(&bytes);
            }
            Action::AwaitingOn(_) => {}
            Action::ReadState { .. } => panic!("no endpoint asks for that"),
            Action::Suspend(suspended) => {
                let it = self.invocations.get_mut(&id).expect("it exists");
                it.waits = (!suspended.ready).then_some(suspended.awaiting);
                live.is_over = true;
            }
            Action::Failed(error) => {
                let it = self.invocations.get_mut(&id).expect("it exists");
                it.failed += 1;
                let delay = error.next_retry_delay_ms.unwrap_or(100);
                let delay = Millis(i64::try_from(delay).expect("a short delay"));
                it.retry_at = Some(self.clock.now() + delay);
                let pause = error.behavior == i32::from(ErrorBehavior::Pause) || it.failed > 20;
                it.paused = pause.then(|| error.clone());
                self.failures.push(error);
                live.is_over = true;
            }
            Action::Ended => live.is_over = true,
        }
    }

    fn asked(&mut self, id: &str, command: Command) {
        let now = self.clock.now();
        let place = {
            let it = &self.invocations[id];
            (it.service.clone(), it.key.clone())
        };
        let completed =
            |kind, completion, result| Notification::completion(kind, completion, result);
        match command {
            Command::Output(output) => {
                let outcome = match output.result.expect("an output has a result") {
                    OutputResult::Value(value) => Outcome::Success(value.content),
                    OutputResult::Failure(failure) => Outcome::Failure(failure),
                };
                let it = self.invocations.get_mut(id).expect("it exists");
                it.outcome = Some(outcome.clone());
                for (caller, completion) in std::mem::take(&mut it.callers) {
                    let result = outcome.clone().into();
                    self.tell(&caller, completed(NotificationKind::Call, completion, result));
                }
            }
            Command::Call(call) => {
                let child = self.child(id);
                let begun = call.invocation_id_completion_id;
                let named = NotificationResult::InvocationId(child.clone());
                self.tell(id, completed(NotificationKind::CallInvocationId, begun, named));
                self.call(
                    &child,
                    &call.service_name,
                    &call.key,
                    &call.handler_name,
                    call.parameter,
                    call.headers,
                );
                let it = self.invocations.get_mut(&child).expect("it was made above");
                it.callers.push((id.to_owned(), call.result_completion_id));
            }
            Command::OneWayCall(call) => {
                let child = self.child(id);
                let begun = call.invocation_id_completion_id;
                let named = NotificationResult::InvocationId(child.clone());
                self.tell(id, completed(NotificationKind::CallInvocationId, begun, named));
                self.call(
                    &child,
                    &call.service_name,
                    &call.key,
                    &call.handler_name,
                    call.parameter,
                    call.headers,
                );
                let begins = Timestamp(i64::try_from(call.invoke_at_ms).expect("a time"));
                let it = self.invocations.get_mut(&child).expect("it was made above");
                it.retry_at = (begins > now).then_some(begins);
            }
            Command::Sleep(sleep) => {
                let at = Timestamp(i64::try_from(sleep.wake_up_at_ms).unwrap_or(i64::MAX));
                self.timers.insert((at, id.to_owned(), sleep.result_completion_id));
            }
            Command::SetState(set) => {
                let value = set.value.expect("a value").content;
                self.state.entry(place).or_default().insert(set.key, value);
            }
            Command::ClearState(clear) => {
                self.state.entry(place).or_default().remove(&clear.key);
            }
            Command::ClearAllState(_) => drop(self.state.remove(&place)),
            Command::GetLazyState(get) => {
                let value = self.state.get(&place).and_then(|state| state.get(&get.key));
                let value =
                    value.cloned().map_or(NotificationResult::Void, NotificationResult::Value);
                let kind = NotificationKind::LazyState;
                self.tell(id, completed(kind, get.result_completion_id, value));
            }
            Command::GetLazyStateKeys(get) => {
                let keys = self.state.get(&place).into_iter().flat_map(|state| state.keys());
                let keys = NotificationResult::StateKeys(keys.cloned().collect());
                let kind = NotificationKind::LazyStateKeys;
                self.tell(id, completed(kind, get.result_completion_id, keys));
            }
            Command::CompleteAwakeable(complete) => {
                let outcome: Outcome = complete.result.expect("a result").into();
                self.complete(&complete.awakeable_id, outcome.into());
            }
            Command::SendSignal(send) => {
                let result = match send.result {
                    Some(SignalResult::Value(value)) => NotificationResult::Value(value.content),
                    Some(SignalResult::Failure(failure)) => NotificationResult::Failure(failure),
                    Some(SignalResult::Void(_)) | None => NotificationResult::Void,
                };
                let notification = match send.signal.expect("a signal") {
                    SignalKey::Index(index) => Notification::signal(index, result),
                    SignalKey::Name(name) => Notification::named_signal(name, result),
                };
                self.tell(&send.target_invocation_id, notification);
            }
            Command::Run(_) | Command::GetEagerState(_) | Command::GetEagerStateKeys(_) => {}
            other => panic!("no endpoint asks for {other:?}"),
        }
    }

    fn child(&mut self, id: &str) -> String {
        let it = self.invocations.get_mut(id).expect("it exists");
        it.children += 1;
        format!("{id}.{}", it.children)
    }

    fn message(&self, record: &[u8]) -> Message {
        let frame = segno_restate::frame::Frame::from_bytes(record).expect("a frame");
        Message::decode(&frame, self.course.version).expect("a message")
    }

    fn decoded(&self, record: &[u8]) -> Option<Command> {
        match self.message(record) {
            Message::Command(command) => Some(command),
            _ => None,
        }
    }
}

async fn served(
    module: &str,
    component: &Arc<[u8]>,
    clock: &Arc<VirtualClock>,
    outbound: Arc<dyn Outbound>,
) -> Endpoint {
    let wasm = guests::engine(std::slice::from_ref(component));
    let report = wasm.inspect(component.clone()).await.expect("the component is valid");
    let offer = Offer::new(module, module, &report).expect("it makes services");
    let env = Env { clock: clock.clone(), ..Env::system() };
    Endpoint::new(wasm, outbound, env, offer, Digest::of(component))
}

struct Live {
    id: String,
    runtime: Runtime,
    body: Body,
    is_over: bool,
}

impl Live {
    fn half_close(&mut self) {
        self.runtime.half_close();
        self.body.end();
    }
}

/// A request's body that says when it is read and has nothing.
#[derive(Clone, Default)]
struct Body(Arc<(Mutex<Sent>, Notify)>);

#[derive(Default)]
struct Sent {
    pieces: VecDeque<bytes::Bytes>,
    has_ended: bool,
    reader: Option<std::task::Waker>,
}

impl Body {
    fn sent(&self) -> std::sync::MutexGuard<'_, Sent> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, bytes: &bytes::Bytes) {
        let mut sent = self.sent();
        if !bytes.is_empty() {
            sent.pieces.push_back(bytes.clone());
        }
        sent.reader.take().into_iter().for_each(std::task::Waker::wake);
    }

    fn end(&self) {
        let mut sent = self.sent();
        sent.has_ended = true;
        sent.reader.take().into_iter().for_each(std::task::Waker::wake);
    }

    fn has_ended(&self) -> bool {
        self.sent().has_ended
    }

    /// Completes when it is read and has nothing.
    async fn starved(&self) {
        loop {
            {
                let sent = self.sent();
                if sent.reader.is_some() && sent.pieces.is_empty() && !sent.has_ended {
                    return;
                }
            }
            self.0.1.notified().await;
        }
    }
}

impl Stream for Body {
    type Item = Result<bytes::Bytes, ()>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut sent = self.sent();
        if let Some(piece) = sent.pieces.pop_front() {
            return Poll::Ready(Some(Ok(piece)));
        }
        if sent.has_ended {
            return Poll::Ready(None);
        }
        sent.reader = Some(context.waker().clone());
        drop(sent);
        self.0.1.notify_one();
        Poll::Pending
    }
}

/// The answer of a service.
pub fn answer(status: u16, body: &Json) -> HttpResponse {
    HttpResponse { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

/// The body of a request, as JSON.
///
/// # Panics
/// It is none.
pub fn body(request: &HttpRequest) -> Json {
    let Some(Payload::Json(text)) = &request.body else { panic!("{request:?}") };
    serde_json::from_str(text).expect("JSON")
}

/// A success as JSON.
///
/// # Panics
/// It is a failure, or no JSON.
pub fn success(outcome: &Outcome) -> Json {
    match outcome {
        Outcome::Success(value) => serde_json::from_slice(value).expect("JSON"),
        Outcome::Failure(failure) => panic!("{failure:?}"),
    }
}

/// A failure.
///
/// # Panics
/// It is a success.
pub fn failure(outcome: &Outcome) -> &wire::Failure {
    match outcome {
        Outcome::Failure(failure) => failure,
        Outcome::Success(value) => panic!("{value:?}"),
    }
}
