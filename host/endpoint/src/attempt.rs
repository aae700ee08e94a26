//! One attempt of an invocation: reads bytes from a runtime, drives an instance, and writes bytes
//! back.
//!
//! The order of events is deterministic. A waiting guest receives one event, first from the
//! journal, then from new input. Its commands are sent immediately. When no more input can arrive,
//! the attempt suspends with exactly the set of notifications that the guest waits for.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures::{
    StreamExt as _,
    stream::{BoxStream, FuturesUnordered},
};
use segno_engine::{attempt_limit, values::code, worker::request_once};
use segno_guest::{Context, Failure, GuestError, Outcome, StopReason, Workflow};
use segno_restate::{
    ProtocolVersion,
    deployment::{AttemptError, DeploymentAttempt},
    failure,
    immutable::{ErrorBehavior, ErrorMessage, Future as Wait, Input as Called},
};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{
    Endpoint, OfferedHandler,
    activity::{self, ActivityAttempt},
    stream_journal::{StepRequest, StreamJournal, WorkflowWait},
    values,
};

/// The body of a request, in pieces. An error means that the connection broke off.
pub type RequestStream = BoxStream<'static, Result<Bytes, ()>>;

type PendingRequest = Pin<Box<dyn Future<Output = (StepRequest, Outcome)> + Send>>;

/// One attempt. Dropping it ends it in any phase.
pub struct EndpointAttempt {
    endpoint: Arc<Endpoint>,
    handler: Arc<OfferedHandler>,
    version: ProtocolVersion,
    input: RequestStream,
    /// Cancelled when the process shuts down. The attempt then suspends as soon as it waits.
    draining: CancellationToken,
    phase: EndpointPhase,
}

enum EndpointPhase {
    /// The journal is incomplete.
    Reading(DeploymentAttempt),
    /// A workflow is running.
    Running(Box<RunningWorkflow>),
    /// An activity is running, or the remaining output is being written.
    Performing(DeploymentAttempt),
    /// All output was written.
    Over,
}

/// A running workflow.
struct RunningWorkflow {
    journal: Arc<Mutex<StreamJournal>>,
    instance: Box<dyn Workflow>,
    sending: FuturesUnordered<PendingRequest>,
    /// A request that failed and must be sent again. The attempt ends when the other requests are
    /// done.
    failed: Option<(u32, ErrorMessage)>,
}

impl EndpointAttempt {
    pub(super) fn new(
        endpoint: Arc<Endpoint>,
        handler: Arc<OfferedHandler>,
        version: ProtocolVersion,
        input: RequestStream,
    ) -> Self {
        let draining = endpoint.draining.clone();
        let phase = EndpointPhase::Reading(DeploymentAttempt::new(version));
        Self { endpoint, handler, version, input, draining, phase }
    }

    /// The next bytes to send. `None` if the attempt is over, or if the runtime closed the
    /// connection. Dropping the future ends the attempt as well.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            let output = self.phase.output();
            if !output.is_empty() {
                return Some(output);
            }
            if self.phase.is_over() {
                return None;
            }
            self.phase = match std::mem::replace(&mut self.phase, EndpointPhase::Over) {
                EndpointPhase::Reading(attempt) => self.read(attempt).await,
                EndpointPhase::Running(running) => self.run(running).await,
                EndpointPhase::Performing(attempt) => self.perform(attempt).await,
                EndpointPhase::Over => EndpointPhase::Over,
            };
        }
    }

    /// Reads until the journal is complete, then begins.
    async fn read(&mut self, mut attempt: DeploymentAttempt) -> EndpointPhase {
        while !attempt.is_ready() && !attempt.is_over() {
            match self.input.next().await {
                Some(Ok(bytes)) => drop(attempt.receive(&bytes)),
                None => drop(attempt.end_of_input()),
                Some(Err(())) => return EndpointPhase::Over,
            }
        }
        match self.handler.is_activity || attempt.is_over() {
            true => EndpointPhase::Performing(attempt),
            false => self.begin(attempt).await,
        }
    }

    async fn begin(&mut self, mut attempt: DeploymentAttempt) -> EndpointPhase {
        let invocation = invocation(&attempt);
        let function = self.handler.started_as(&attempt.start().key);
        let input = input(attempt.input());
        // An invocation that began before inputs were checked continues.
        if attempt.start().known_entries == 1
            && let Some(misfit) = self.endpoint.misfit(&self.handler, &input).await
        {
            self.ended(&mut attempt, &Outcome::Failure(misfit));
            return EndpointPhase::Performing(attempt);
        }
        let seed = Sha256::digest(attempt.random_seed().to_le_bytes()).to_vec();
        let instance = match self.endpoint.guests.instantiate(self.endpoint.digest, None).await {
            Ok(instance) => instance,
            Err(error) => {
                attempt.fail(of_guest(&error));
                return EndpointPhase::Performing(attempt);
            }
        };
        let clock = self.endpoint.env.clock.clone();
        let (offer, handler) = (self.endpoint.offer.clone(), self.handler.clone());
        let mut journal =
            StreamJournal::new(attempt, self.version, offer, handler, clock, invocation.clone());
        let begun = journal.begin();
        let started_at_ms = allowed(&mut journal.attempt, begun).unwrap_or(0);
        let mut running = Box::new(RunningWorkflow {
            journal: Arc::new(Mutex::new(journal)),
            instance,
            sending: FuturesUnordered::new(),
            failed: None,
        });
        if !running.journal().attempt.is_over() {
            let context = Context { invocation, parent: None, started_at_ms, seed };
            let journal = running.journal.clone();
            let started = running.instance.start(journal, &function, input, context).await;
            running.polled(started);
        }
        EndpointPhase::Running(running)
    }

    /// Continues a waiting workflow with the next event, or with new input.
    async fn run(&mut self, mut running: Box<RunningWorkflow>) -> EndpointPhase {
        if running.journal().finished().is_some() {
            return self.leave(running).await;
        }
        if running.failed.is_none() {
            let next = {
                let mut journal = running.journal();
                let next = journal.next_event();
                allowed(&mut journal.attempt, next)
            };
            let Some(next) = next else { return EndpointPhase::Running(running) };
            if let Some(event) = next {
                let journal = running.journal.clone();
                let resumed = running.instance.resume(journal, event).await;
                running.polled(resumed);
                return EndpointPhase::Running(running);
            }
            self.send(&mut running);
        } else if running.sending.is_empty() {
            let (completion_id, error) = running.failed.take().expect("it is there");
            running.journal().attempt.fail_run(completion_id, error);
            return EndpointPhase::Running(running);
        }
        let waits = running.journal().waits();
        match waits {
            WorkflowWait::ForNothing if running.sending.is_empty() => {
                let message = "the workflow waits for nothing: it neither ended nor asked for anything that can come";
                running.fail_for_good(failure::INTERNAL, message);
                EndpointPhase::Running(running)
            }
            // Only work that the guest does not wait for is running.
            WorkflowWait::ForNothing => self.wait(running, None).await,
            WorkflowWait::For(future) => self.wait(running, Some(future)).await,
        }
    }

    /// Ends the calls that the workflow leaves open, then the invocation.
    async fn leave(&mut self, mut running: Box<RunningWorkflow>) -> EndpointPhase {
        running.sending.clear();
        let waits = {
            let mut journal = running.journal();
            let left = journal.leave();
            let left = allowed(&mut journal.attempt, left);
            if left == Some(None) {
                let outcome = journal.finished().expect("it has finished").clone();
                self.ended(&mut journal.attempt, &outcome);
            }
            left.flatten()
        };
        match waits {
            Some(waits) => self.wait(running, Some(waits)).await,
            None => EndpointPhase::Running(running),
        }
    }

    /// Starts to send the HTTP requests of the workflow.
    fn send(&self, running: &mut RunningWorkflow) {
        let requests = running.journal().take_requests();
        for request in requests {
            if !running.journal().is_wanted(&request) {
                continue;
            }
            let outbound = self.endpoint.outbound.clone();
            let module = self.endpoint.offer.module.clone();
            let key = format!("{}/{}", running.journal().invocation, request.command);
            let env = self.endpoint.env.clone();
            running.sending.push(Box::pin(async move {
                let sending = request_once(&*outbound, &module, &key, request.request.clone());
                let outcome = match request.limit {
                    None => sending.await,
                    Some(limit) => env.within(limit, sending).await.unwrap_or_else(|| {
                        Outcome::Failure(attempt_limit::passed(request.attempt, limit))
                    }),
                };
                (request, outcome)
            }));
        }
    }

    /// Waits for input or a response. Suspends if no more can arrive.
    async fn wait(
        &mut self,
        mut running: Box<RunningWorkflow>,
        waits: Option<Wait>,
    ) -> EndpointPhase {
        let ended = {
            let mut journal = running.journal();
            if let Some(waits) = &waits {
                let doing = !running.sending.is_empty();
                // A hint for the runtime. It cannot fail while the attempt is running.
                let _ = journal.attempt.awaiting_on(waits.clone(), doing);
            }
            if journal.attempt.has_output() {
                // New commands are sent before the attempt waits.
                drop(journal);
                return EndpointPhase::Running(running);
            }
            journal.attempt.input_ended() || self.draining.is_cancelled()
        };
        if ended && running.sending.is_empty() {
            let mut journal = running.journal();
            let suspended = match waits {
                Some(waits) => journal.attempt.suspend(waits),
                None => Err(AttemptError::EmptyWait),
            };
            allowed(&mut journal.attempt, suspended);
            drop(journal);
            return EndpointPhase::Running(running);
        }
        tokio::select! {
            biased;
            Some((request, outcome)) = running.sending.next() => running.sent(&request, &outcome),
            piece = self.input.next(), if !ended => {
                let mut journal = running.journal();
                match piece {
                    Some(Ok(bytes)) => drop(journal.attempt.receive(&bytes)),
                    None => drop(journal.attempt.end_of_input()),
                    Some(Err(())) => {
                        drop(journal);
                        return EndpointPhase::Over;
                    }
                }
            }
            () = self.draining.cancelled(), if !ended => {}
        }
        EndpointPhase::Running(running)
    }

    async fn perform(&mut self, mut attempt: DeploymentAttempt) -> EndpointPhase {
        if attempt.is_over() {
            return EndpointPhase::Performing(attempt);
        }
        let invocation = invocation(&attempt);
        let is_cancelled = Arc::new(AtomicBool::new(attempt.is_cancel_due()));
        if attempt.is_cancel_due() {
            // No attempt of the activity is running, so the invocation ends without one.
            self.ended(&mut attempt, &cancelled());
            return EndpointPhase::Performing(attempt);
        }
        let headers = &attempt.input().headers;
        let told = activity::policy(headers, &self.handler);
        let told = told.and_then(|policy| Ok((policy, activity::limit(headers)?)));
        let (policy, limit) = match told {
            Ok(told) => told,
            Err(refused) => {
                self.ended(&mut attempt, &Outcome::Failure(refused));
                return EndpointPhase::Performing(attempt);
            }
        };
        let input = input(attempt.input());
        if let Some(misfit) = self.endpoint.misfit(&self.handler, &input).await {
            self.ended(&mut attempt, &Outcome::Failure(misfit));
            return EndpointPhase::Performing(attempt);
        }
        let performance = ActivityAttempt {
            endpoint: self.endpoint.clone(),
            handler: self.handler.clone(),
            invocation: invocation.clone(),
            start: attempt.start().clone(),
            input,
            is_cancelled: is_cancelled.clone(),
            limit,
        };
        let mut performing = Box::pin(performance.perform());
        let performed = loop {
            tokio::select! {
                biased;
                performed = &mut performing => break performed,
                piece = self.input.next(), if !attempt.input_ended() => match piece {
                    Some(Ok(bytes)) => {
                        if attempt.receive(&bytes).is_err() {
                            return EndpointPhase::Performing(attempt);
                        }
                        is_cancelled.store(attempt.is_cancel_due(), Ordering::Relaxed);
                    }
                    None => drop(attempt.end_of_input()),
                    Some(Err(())) => return EndpointPhase::Over,
                },
            }
        };
        match performed {
            Err(error) => attempt.fail(of_guest(&error)),
            Ok(Outcome::Failure(_)) if is_cancelled.load(Ordering::Relaxed) => {
                self.ended(&mut attempt, &cancelled());
            }
            Ok(Outcome::Failure(failed)) => {
                let number = activity::attempt_of(attempt.start());
                match activity::again(&policy, number, &failed, &invocation) {
                    Some(error) => attempt.fail(error),
                    None => self.ended(&mut attempt, &Outcome::Failure(failed)),
                }
            }
            Ok(outcome @ Outcome::Success(_)) => self.ended(&mut attempt, &outcome),
        }
        EndpointPhase::Performing(attempt)
    }

    fn ended(&self, attempt: &mut DeploymentAttempt, outcome: &Outcome) {
        let finished = attempt.finish(values::told(outcome, self.version));
        allowed(attempt, finished);
    }
}

impl RunningWorkflow {
    fn journal(&self) -> MutexGuard<'_, StreamJournal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the return of the guest: an error ends the attempt.
    fn polled(&mut self, polled: Result<(), GuestError>) {
        let Err(error) = polled else { return };
        let mut journal = self.journal();
        let stopped = journal.take_error();
        match (stopped, &error) {
            (Some(stopped), _) => journal.attempt.fail(of_journal(&stopped)),
            (None, GuestError::Stopped { stop: StopReason::Contract(_), .. }) => {
                let message = ErrorMessage { behavior: PAUSE, ..of_guest(&error) };
                journal.attempt.fail_handler(message);
            }
            (None, _) if error.is_of_guest() => journal.attempt.fail_handler(of_guest(&error)),
            (None, _) => journal.attempt.fail(of_guest(&error)),
        }
    }

    /// Handles the outcome of a request: proposes it, or ends the attempt so that the request is
    /// retried.
    fn sent(&mut self, request: &StepRequest, outcome: &Outcome) {
        let mut journal = self.journal();
        if !journal.is_wanted(request) {
            return;
        }
        if let Outcome::Failure(failed) = outcome {
            let key = format!("{}/{}", journal.invocation, request.command);
            let again = activity::again(&request.retry, request.attempt, failed, &key);
            if let Some(error) = again {
                drop(journal);
                self.failed.get_or_insert((request.completion_id, error));
                return;
            }
        }
        let proposed = journal.propose(request.completion_id, outcome);
        allowed(&mut journal.attempt, proposed);
    }

    fn fail_for_good(&mut self, code: u16, message: &str) {
        let error = ErrorMessage { behavior: PAUSE, ..ErrorMessage::new(code, message) };
        self.journal().attempt.fail_handler(error);
    }
}

impl EndpointPhase {
    fn output(&mut self) -> Bytes {
        match self {
            Self::Reading(attempt) | Self::Performing(attempt) => attempt.take_output(),
            Self::Running(running) => running.journal().attempt.take_output(),
            Self::Over => Bytes::new(),
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Reading(attempt) | Self::Performing(attempt) => attempt.is_over(),
            Self::Running(running) => running.journal().attempt.is_over(),
            Self::Over => true,
        }
    }
}

const PAUSE: i32 = ErrorBehavior::Pause as i32;

/// The message for an operation that the journal does not allow. It pauses the invocation, since a
/// retry would not help.
fn of_journal(error: &AttemptError) -> ErrorMessage {
    ErrorMessage { behavior: PAUSE, ..error.to_message() }
}

/// The result of an operation. Fails the attempt if the journal does not allow the operation.
fn allowed<T>(attempt: &mut DeploymentAttempt, result: Result<T, AttemptError>) -> Option<T> {
    result.inspect_err(|error| attempt.fail(of_journal(error))).ok()
}

/// The error of a guest, or of the process that runs it.
fn of_guest(error: &GuestError) -> ErrorMessage {
    let stack = error.backtrace().map(|stack| stack.text.clone()).unwrap_or_default();
    let behavior = match error {
        GuestError::NoSuchFunction { .. } | GuestError::NeedsKey { .. } => PAUSE,
        _ => ErrorBehavior::Retry as i32,
    };
    ErrorMessage {
        stacktrace: stack,
        behavior,
        ..ErrorMessage::new(failure::INTERNAL, error.message())
    }
}

/// The printable id of the invocation.
fn invocation(attempt: &DeploymentAttempt) -> String {
    let start = attempt.start();
    match start.debug_id.is_empty() {
        false => start.debug_id.clone(),
        true => start.id.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn input(called: &Called) -> segno_guest::Payload {
    values::payload(called.value.as_ref().map_or(&[], |value| &value.content))
}

fn cancelled() -> Outcome {
    Outcome::Failure(Failure { code: code::CANCELLED, message: "cancelled".into(), details: None })
}
