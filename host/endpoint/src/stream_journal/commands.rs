//! Turns the guest's requests into commands of the protocol.

use bytes::Bytes;
use segno_core::{
    tags,
    time::{Millis, Timestamp},
};
use segno_engine::{
    attempt_limit::read as read_limit,
    values::{code, policy},
    worker::commands::{is_silent, nameless, too_far},
};
use segno_guest::{
    CallOptions, Failure, GuestCommand, GuestJournal, JournalAnswer, JournalCall, Level, Outcome,
    RunAnswer, StopReason, border,
    commands::{
        self, AskAboutStepCommand, CancelCommand, ClearStateCommand, GetStateCommand, HttpCommand,
        PromiseCommand, PublishCommand, SendCommand, SetStateCommand, SettleCommand, SleepCommand,
        StepCommand, UndoCommand,
    },
};
use segno_restate::{
    deployment::{AttemptError, StateRead},
    immutable::{Call, NotificationId, OneWayCall},
    wire::Header,
};
use serde_json::{Value as Json, json};

use super::{
    PROMISE, StepRequest, StreamJournal,
    open::{CommandStart, CommandWork, CompletedPart, PendingCommand, PendingCommandKind},
};
use crate::{
    activity::{ATTEMPT_TIMEOUT_HEADER, RETRY_HEADER},
    callee::HandlerAddress,
    log, values,
};

impl GuestJournal for StreamJournal {
    fn ask(&mut self, ask: JournalCall) -> Result<JournalAnswer, StopReason> {
        if self.finished.is_some() {
            return Ok(self.ignored(&ask));
        }
        if let Some((_, _, name)) = &self.running
            && !matches!(
                ask,
                JournalCall::RunDone { .. } | JournalCall::Now | JournalCall::Log { .. }
            )
        {
            return Err(StopReason::Contract(format!(
                "a command was issued inside the `run` step `{name}`: a step only computes; make calls, sleeps and \
                 promises outside of it"
            )));
        }
        match ask {
            JournalCall::Now => {
                let now = self.time().map_err(|error| self.stopped(error))?;
                Ok(JournalAnswer::Now(now))
            }
            JournalCall::Log { level, message } => {
                self.log(level, &message);
                Ok(JournalAnswer::Done)
            }
            JournalCall::Forget { command } => {
                self.open.entry(command).and_modify(|open| open.is_forgotten = true);
                Ok(JournalAnswer::Done)
            }
            JournalCall::RunDone { command, outcome } => match self.running.take() {
                Some((running, completion_id, _)) if running == command => {
                    border::run_result(command, &outcome)?;
                    let outcome = values::told(&outcome, self.version);
                    let proposed = self.attempt.propose_run(completion_id, outcome);
                    proposed.map_err(|error| self.stopped(error))?;
                    Ok(JournalAnswer::Done)
                }
                _ => Err(StopReason::Contract(format!(
                    "`run-done({command})` came without a `run` that was to be executed"
                ))),
            },
            JournalCall::Finish { outcome } => {
                if !self.attempt.is_replaying() {
                    border::result(&outcome)?;
                }
                self.finished = Some(outcome);
                Ok(JournalAnswer::Done)
            }
            JournalCall::Command(command) => self.command(command),
        }
    }
}

impl StreamJournal {
    fn command(&mut self, command: GuestCommand) -> Result<JournalAnswer, StopReason> {
        // Recorded commands were checked when they were recorded.
        if !self.attempt.is_replaying() {
            border::command(&command)?;
        }
        let index = self.commands;
        self.commands += 1;
        self.begun(index, command).map_err(|error| self.stopped(error))
    }

    fn begun(&mut self, index: u32, command: GuestCommand) -> Result<JournalAnswer, AttemptError> {
        if let Some(failure) = nameless(&command) {
            let failed = Outcome::Failure(failure);
            return match is_silent(&command) {
                true => {
                    self.finished = Some(failed);
                    Ok(JournalAnswer::Command(u32::MAX))
                }
                false => {
                    self.known(index, failed);
                    Ok(JournalAnswer::Command(index))
                }
            };
        }
        // The current time is itself a command here, so durations are checked against instant 0.
        if let Some(refused) = too_far(&command, Timestamp(0)) {
            self.known(index, values::failed(code::REFUSED, refused));
            return Ok(JournalAnswer::Command(index));
        }
        let begun = match command {
            GuestCommand::Call(call) => self.call(index, call, false)?,
            GuestCommand::SagaCall(step) => self.call(index, step.command, true)?,
            GuestCommand::Undo(undo) => {
                let UndoCommand { call, .. } = *undo;
                self.call(index, call, false)?
            }
            GuestCommand::Send(SendCommand(call)) => self.send(index, call)?,
            GuestCommand::Http(http) => self.http(index, http, false)?,
            GuestCommand::SagaHttp(step) => {
                let StepCommand { command, .. } = *step;
                self.http(index, command, true)?
            }
            GuestCommand::Sleep(SleepCommand { until_ms }) => {
                let id = self.attempt.sleep(until_ms, "")?;
                self.awaited(id, index, PendingCommandKind::Sleep)
            }
            GuestCommand::Promise(PromiseCommand { name, options }) => {
                let id = self.promise(index, name.as_deref(), options.timeout_ms)?;
                return Ok(JournalAnswer::Promise(index, id));
            }
            GuestCommand::AskAboutStep(AskAboutStepCommand(step)) => {
                let name = format!("u/{}/{}", step.saga, step.seq);
                self.promise(index, Some(&name), None)?;
                CommandStart::Silent
            }
            GuestCommand::Settle(settle) => self.settle(settle)?,
            GuestCommand::Cancel(CancelCommand { command }) => self.cancel(command)?,
            GuestCommand::Publish(PublishCommand { topic, .. }) => {
                CommandStart::Known(values::failed(
                    code::REFUSED,
                    format!(
                        "nothing can be published on `{topic}`: a runtime of services has no topics"
                    ),
                ))
            }
            GuestCommand::WaitObjectPromise(wait) => self.wait_object_promise(index, wait)?,
            GuestCommand::PeekObjectPromise(peek) => self.peek_object_promise(index, peek)?,
            GuestCommand::SettleObjectPromise(settle) => {
                self.settle_object_promise(index, settle)?
            }
            GuestCommand::Run(commands::RunCommand { name }) => {
                let run = self.attempt.run(name.clone())?;
                self.expect(run.completion_id, index, CompletedPart::Result);
                self.open.insert(index, PendingCommand::new(PendingCommandKind::Run));
                return Ok(JournalAnswer::Run(match run.execute {
                    true => {
                        self.running = Some((index, run.completion_id, name));
                        RunAnswer::Execute(index)
                    }
                    false => RunAnswer::Recorded(index),
                }));
            }
            GuestCommand::GetState(GetStateCommand { name }) => {
                let read = self.attempt.state(Bytes::from(name), "")?;
                self.read(index, read, |value| {
                    let known = value.map(|value| Outcome::Success(values::payload(&value)));
                    known.unwrap_or_else(values::null)
                })
            }
            GuestCommand::StateNames(_) => {
                let read = self.attempt.state_keys("")?;
                self.read(index, read, |keys| values::names(&keys))
            }
            GuestCommand::SetState(SetStateCommand { name, value }) => {
                self.attempt.set_state(Bytes::from(name), values::bytes(&value), "")?;
                CommandStart::Silent
            }
            GuestCommand::ClearState(ClearStateCommand { name }) => {
                self.attempt.clear_state(Bytes::from(name), "")?;
                CommandStart::Silent
            }
            GuestCommand::ClearAllState(_) => {
                self.attempt.clear_all_state("")?;
                CommandStart::Silent
            }
            // The sender cannot be notified in this protocol.
            GuestCommand::Unread(_) => CommandStart::Silent,
            GuestCommand::SendSignal(send) => CommandStart::Known(values::failed(
                code::REFUSED,
                format!(
                    "the signal `{}` cannot be sent to `{}`: a runtime of services has no signals",
                    send.name, send.invocation
                ),
            )),
            GuestCommand::AppendStream(commands::AppendStreamCommand { name, .. })
            | GuestCommand::CloseStream(commands::CloseStreamCommand { name, .. }) => {
                let message = format!(
                    "the stream `{name}` cannot be written: a runtime of services has no streams"
                );
                self.finished = Some(values::failed(code::REFUSED, message));
                CommandStart::Silent
            }
            GuestCommand::ContinueAsNew(_) => {
                let message = "a runtime of services has no generations: what lasts is the state of an object";
                self.finished = Some(values::failed(code::REFUSED, message.to_owned()));
                CommandStart::Silent
            }
        };
        match begun {
            CommandStart::Open(open) => {
                self.open.insert(index, open);
            }
            CommandStart::Known(outcome) => self.known(index, outcome),
            CommandStart::Silent => {}
        }
        Ok(JournalAnswer::Command(index))
    }

    fn read<T>(
        &mut self,
        index: u32,
        read: StateRead<T>,
        outcome: impl FnOnce(T) -> Outcome,
    ) -> CommandStart {
        match read {
            StateRead::Known(value) => CommandStart::Known(outcome(value)),
            StateRead::Asked(id) => self.awaited(id, index, PendingCommandKind::State),
        }
    }

    fn call(
        &mut self,
        index: u32,
        call: commands::CallCommand,
        is_step: bool,
    ) -> Result<CommandStart, AttemptError> {
        let callee = match HandlerAddress::of(&call.function, &self.offer) {
            Ok(callee) => callee,
            Err(failure) => return Ok(CommandStart::Known(Outcome::Failure(failure))),
        };
        let own = self.offer.handler(&callee.service, &callee.handler);
        let timeout = call.options.timeout_ms.or_else(|| own?.timeout_ms);
        let work = Call {
            service_name: callee.service,
            handler_name: callee.handler,
            key: callee.key,
            parameter: values::bytes(&call.input),
            headers: headers(&call.options),
            ..Call::default()
        };
        let open = PendingCommand {
            is_step,
            ..PendingCommand::new(PendingCommandKind::Call { callee: None })
        };
        self.timed(
            index,
            open,
            CommandWork::Call(Box::new(work)),
            call.options.start_at_ms,
            timeout,
        )
    }

    fn http(
        &mut self,
        index: u32,
        http: HttpCommand,
        is_step: bool,
    ) -> Result<CommandStart, AttemptError> {
        if let Err(failure) = attempt_limit(&http.options) {
            return Ok(CommandStart::Known(Outcome::Failure(failure)));
        }
        let CallOptions { start_at_ms, timeout_ms, .. } = http.options;
        let open = PendingCommand { is_step, ..PendingCommand::new(PendingCommandKind::Http) };
        self.timed(index, open, CommandWork::Http(Box::new(http)), start_at_ms, timeout_ms)
    }

    /// Begins work now or at its start time, and sets its time limit.
    fn timed(
        &mut self,
        index: u32,
        mut open: PendingCommand,
        work: CommandWork,
        start_at_ms: Option<u64>,
        timeout_ms: Option<u64>,
    ) -> Result<CommandStart, AttemptError> {
        let now = match (start_at_ms, timeout_ms) {
            (None, None) => 0,
            _ => self.time()?,
        };
        let begins_at = start_at_ms.unwrap_or(0).max(now);
        if begins_at > now {
            let id = self.attempt.sleep(begins_at, "segno:begin")?;
            self.expect(id, index, CompletedPart::Begin);
            open.later = Some(work);
        } else {
            self.begin_work(index, work)?;
        }
        if let Some(timeout) = timeout_ms {
            self.limit(index, begins_at.saturating_add(timeout))?;
        }
        Ok(CommandStart::Open(open))
    }

    /// Sends the call or the request of a command.
    pub(super) fn begin_work(&mut self, index: u32, work: CommandWork) -> Result<(), AttemptError> {
        match work {
            CommandWork::Call(call) => {
                let handle = self.attempt.call(*call)?;
                self.expect(handle.invocation_id, index, CompletedPart::Callee);
                self.expect(handle.result, index, CompletedPart::Result);
            }
            CommandWork::Http(http) => {
                let HttpCommand { request, options } = *http;
                // A failed earlier attempt can only have failed at this request, since nothing was
                // stored after it.
                let failed = match self.attempt.is_replaying() {
                    true => self.attempt.start().retry_count,
                    false => 0,
                };
                let run = self.attempt.run(format!("{} {}", request.method, request.url))?;
                self.expect(run.completion_id, index, CompletedPart::Result);
                if run.execute {
                    self.requests.push(StepRequest {
                        completion_id: run.completion_id,
                        command: index,
                        request,
                        retry: options.retry.as_ref().map(policy).unwrap_or_default(),
                        limit: attempt_limit(&options).unwrap_or_default(),
                        attempt: failed.saturating_add(1),
                    });
                }
            }
        }
        Ok(())
    }

    fn send(
        &mut self,
        index: u32,
        call: commands::CallCommand,
    ) -> Result<CommandStart, AttemptError> {
        let callee = match HandlerAddress::of(&call.function, &self.offer) {
            Ok(callee) => callee,
            Err(failure) => return Ok(CommandStart::Known(Outcome::Failure(failure))),
        };
        let send = OneWayCall {
            service_name: callee.service,
            handler_name: callee.handler,
            key: callee.key,
            parameter: values::bytes(&call.input),
            headers: headers(&call.options),
            invoke_at_ms: call.options.start_at_ms.unwrap_or(0),
            ..OneWayCall::default()
        };
        let id = self.attempt.send(send)?;
        self.expect(id, index, CompletedPart::Callee);
        Ok(CommandStart::Open(PendingCommand::new(PendingCommandKind::Send)))
    }

    /// Creates an awakeable, which may be complete already. The id of a named one is stored in a
    /// run entry, where users can find it.
    fn promise(
        &mut self,
        index: u32,
        name: Option<&str>,
        timeout_ms: Option<u64>,
    ) -> Result<String, AttemptError> {
        let awakeable = self.attempt.awakeable()?;
        match self.early.remove(&awakeable.signal) {
            Some(result) => self.known(index, values::outcome(result)),
            None => {
                let signal = NotificationId::Signal(awakeable.signal);
                self.parts.insert(signal, (index, CompletedPart::Result));
                self.open.insert(index, PendingCommand::new(PendingCommandKind::Promise));
            }
        }
        if let Some(name) = name {
            self.keep(&format!("{PROMISE}{name}"), Json::from(&*awakeable.id).to_string())?;
        }
        if let Some(timeout) = timeout_ms {
            let at = self.time()?.saturating_add(timeout);
            self.limit(index, at)?;
        }
        Ok(awakeable.id)
    }

    fn settle(&mut self, settle: SettleCommand) -> Result<CommandStart, AttemptError> {
        let SettleCommand { promise_id, outcome } = settle;
        if promise_id.parse::<segno_restate::id::AwakeableId>().is_err() {
            let message = format!(
                "`{promise_id}` is no awakeable: those begin with `sign_1`. A promise of an object is settled by a \
                 function of that object"
            );
            return Ok(CommandStart::Known(values::failed(code::NOT_FOUND, message)));
        }
        let outcome = values::told(&outcome, self.version);
        self.attempt.complete_awakeable(promise_id, outcome, "")?;
        Ok(CommandStart::Known(values::null()))
    }

    fn cancel(&mut self, command: u32) -> Result<CommandStart, AttemptError> {
        let Some(open) = self.open.get_mut(&command) else {
            let message = format!("command {command} is not open: it has completed, or was none");
            return Ok(CommandStart::Known(values::failed(code::NOT_FOUND, message)));
        };
        match &open.what {
            PendingCommandKind::Call { callee } if open.later.is_none() => {
                // The callee's outcome completes the call.
                let callee = callee.clone();
                if !std::mem::replace(&mut open.is_cancelled, true)
                    && let Some(callee) = callee
                {
                    self.attempt.cancel_invocation(callee)?;
                }
            }
            PendingCommandKind::Call { .. }
            | PendingCommandKind::Sleep
            | PendingCommandKind::Promise
            | PendingCommandKind::Http => {
                self.known(command, values::failed(code::CANCELLED, "cancelled"));
            }
            PendingCommandKind::Send
            | PendingCommandKind::ObjectPromise
            | PendingCommandKind::Standing
            | PendingCommandKind::Settlement
            | PendingCommandKind::Run
            | PendingCommandKind::State
            | PendingCommandKind::Known => {
                let message = format!("command {command} is none that can be cancelled");
                return Ok(CommandStart::Known(values::failed(code::REFUSED, message)));
            }
        }
        Ok(CommandStart::Known(values::null()))
    }

    /// Completes the command with an outcome that is known here.
    pub(super) fn known(&mut self, index: u32, outcome: Outcome) {
        self.open.insert(index, PendingCommand::new(PendingCommandKind::Known));
        self.results.push_back((index, outcome));
    }

    /// Sets the time limit of a command.
    fn limit(&mut self, index: u32, at_ms: u64) -> Result<(), AttemptError> {
        let id = self.attempt.sleep(at_ms, "segno:deadline")?;
        self.expect(id, index, CompletedPart::Deadline);
        Ok(())
    }

    /// Opens a command that this notification completes.
    pub(super) fn awaited(
        &mut self,
        completion_id: u32,
        index: u32,
        what: PendingCommandKind,
    ) -> CommandStart {
        self.expect(completion_id, index, CompletedPart::Result);
        CommandStart::Open(PendingCommand::new(what))
    }

    pub(super) fn expect(&mut self, completion_id: u32, index: u32, part: CompletedPart) {
        self.parts.insert(NotificationId::Completion(completion_id), (index, part));
    }

    /// Writes a line of the guest's log. Lines of a replay were written before.
    fn log(&self, level: Level, message: &str) {
        if self.attempt.is_replaying() {
            return;
        }
        log(&self.invocation, &self.handler.function, level, message);
    }

    /// The answer to a request after the end of the invocation: the request has no effect.
    fn ignored(&self, ask: &JournalCall) -> JournalAnswer {
        match ask {
            JournalCall::Command(GuestCommand::Promise(_)) => {
                JournalAnswer::Promise(u32::MAX, String::new())
            }
            JournalCall::Command(GuestCommand::Run(_)) => {
                JournalAnswer::Run(RunAnswer::Recorded(u32::MAX))
            }
            JournalCall::Command(_) => JournalAnswer::Command(u32::MAX),
            JournalCall::Now => JournalAnswer::Now(self.at_ms),
            JournalCall::Log { .. }
            | JournalCall::Forget { .. }
            | JournalCall::RunDone { .. }
            | JournalCall::Finish { .. } => JournalAnswer::Done,
        }
    }
}

/// The headers of a call to another endpoint: retry policy and attempt limit.
fn headers(options: &CallOptions) -> Vec<Header> {
    let retry = options.retry.as_ref();
    let retry = retry.map(|retry| Header {
        key: RETRY_HEADER.to_owned(),
        value: json!(policy(retry)).to_string(),
    });
    let limit = said_limit(options)
        .map(|said| Header { key: ATTEMPT_TIMEOUT_HEADER.to_owned(), value: said.to_owned() });
    retry.into_iter().chain(limit).collect()
}

/// The time limit of each attempt, as written in the options.
fn said_limit(options: &CallOptions) -> Option<&str> {
    let mut labels = options.labels.iter();
    labels.find(|(name, _)| name == tags::ATTEMPT_TIMEOUT_LABEL).map(|(_, said)| &**said)
}

/// The time limit of each attempt.
///
/// # Errors
/// The label in the options is not a limit.
fn attempt_limit(options: &CallOptions) -> Result<Option<Millis>, Failure> {
    read_limit(said_limit(options))
}
