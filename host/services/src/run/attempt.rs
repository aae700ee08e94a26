//! One attempt: a request to the deployment, and the handling of its response.

use std::collections::BTreeSet;

use bytes::Bytes;
use segno_core::{promise::TaskStatus, time::Millis};
use segno_engine::{
    claim::{ExecutionError, SuspensionResult},
    metrics::ClaimEnd,
    notifier::SettlementNotice,
    values::{self, code},
};
use segno_guest::Outcome;
use segno_restate::{
    ProtocolViolation,
    immutable::{Notification, NotificationId, NotificationKind},
    wire::{self, StartMessage},
};

use super::{
    AttemptFailure, InvocationStop, ServiceRun,
    action::DeploymentAction,
    live::{AttemptChannel, LiveAttempt},
    machine::AttemptMachine,
    state,
    waiting::DeploymentWait,
};
use crate::deployments::{AttemptRequest, Timeouts, outcome, state_names};

/// The end of an attempt that did not fail.
pub(super) enum AttemptEnd {
    /// The claim has ended.
    Over(ClaimEnd),
    /// Another attempt must follow immediately.
    Again,
}

/// An event during an attempt.
enum AttemptEvent {
    /// The deployment requests these actions. `None`: its response has ended.
    Sent(Option<Result<Vec<DeploymentAction>, ProtocolViolation>>),
    /// A promise has settled.
    Settled(SettlementNotice),
    /// Cancellation of the invocation was requested.
    Cancelled,
    /// The deployment should suspend: it was inactive for too long, the host is shutting down, or a
    /// pause was requested.
    Quiet,
    /// The deployment did not suspend in time.
    Overdue,
}

impl ServiceRun {
    pub(super) async fn attempt(&mut self) -> Result<AttemptEnd, InvocationStop> {
        self.look_around().await?;
        if self.cancel_due() {
            self.journal.cancel(self.session.now());
        }
        self.reissue_unanswered().await?;
        self.fence().await?;
        // The results so far do not satisfy the wait of the deployment: another attempt would only
        // suspend again.
        if let Some(waiting) = self.waiting.take()
            && !waiting.is_over(&self.journal)
        {
            return self.suspend(waiting).await;
        }
        if self.is_charged
            && let Some(spent) = self.session.charge_attempt().await?
        {
            return Err(InvocationStop::Ended(Outcome::Failure(values::budget_spent(&spent))));
        }
        self.session.begin_attempt(self.handler.retry.is_bounded()).await?;
        let mut live = self.open().await?;
        loop {
            match self.wait(&mut live).await? {
                AttemptEvent::Sent(Some(actions)) => {
                    self.session.active.advance(1);
                    self.listen(&mut live);
                    if let Some(end) = self.received(&mut live, actions?).await? {
                        return Ok(end);
                    }
                }
                AttemptEvent::Sent(None) => {
                    live.channel.end_of_input()?;
                    let message =
                        "the deployment ended its answer without saying how the attempt ended";
                    return Err(AttemptFailure::new(code::FAILED, message).into());
                }
                AttemptEvent::Settled(notice) => {
                    let mut notifications = self.take_settled(notice).await?;
                    self.fence().await?;
                    live.tell.append(&mut notifications);
                    self.send_all(&mut live).await?;
                }
                AttemptEvent::Cancelled => {
                    live.tell.append(&mut self.journal.cancel(self.session.now()));
                    self.fence().await?;
                    self.send_all(&mut live).await?;
                }
                AttemptEvent::Quiet => {
                    live.channel.half_close();
                    self.listen(&mut live);
                }
                AttemptEvent::Overdue => {
                    let message = format!(
                        "the deployment was quiet for {} ms, and did not suspend within {} ms when it was asked to",
                        self.handler.timeouts.inactivity.0, self.handler.timeouts.abort.0
                    );
                    return Err(AttemptFailure::late(message).into());
                }
            }
        }
    }

    /// Opens the request, with the journal so far.
    async fn open(&mut self) -> Result<LiveAttempt, InvocationStop> {
        let handler = &self.handler;
        let state = match &handler.object {
            Some(object) if handler.sends_state => {
                let state = state::all(&*self.session.host().store, object).await?;
                self.is_still_claimed().await?;
                state
            }
            _ => None,
        };
        let since = self.session.now().0.saturating_sub(self.journal.last_at().0);
        let start = StartMessage {
            id: Bytes::copy_from_slice(self.id.as_str().as_bytes()),
            debug_id: self.id.to_string(),
            known_entries: 0,
            partial_state: state.is_none(),
            state_map: state.unwrap_or_default(),
            key: handler.key.clone().unwrap_or_default(),
            retry_count: if self.journal.has_grown() { 0 } else { self.failed },
            since_last_entry_ms: u64::try_from(since).unwrap_or_default(),
            random_seed: self.journal.random_seed(),
            scope: handler.scope.clone(),
            limit_key: None,
            idempotency_key: handler.idempotency_key.clone(),
        };
        let version = self.journal.version();
        let (machine, first) = AttemptMachine::open(version, start, self.journal.frames())?;
        let mut headers = Vec::new();
        if self.id.as_str().is_ascii() && !self.id.as_str().contains(char::is_control) {
            headers.push(("x-restate-invocation-id".to_owned(), self.id.to_string()));
        }
        let key =
            handler.key.iter().filter(|key| key.is_ascii() && !key.contains(char::is_control));
        headers.extend(key.map(|key| ("x-restate-service-key".to_owned(), key.clone())));
        // A handler without any inactivity time is asked to suspend at each wait.
        let is_whole = !handler.deployment.is_bidirectional()
            || handler.timeouts.inactivity == Millis(0)
            || self.session.is_draining();
        let request = AttemptRequest {
            path: format!("/invoke/{}/{}", handler.service, handler.name),
            content_type: version.media_type(),
            headers,
            first,
            is_whole,
        };
        let endpoint = handler.deployment.endpoint();
        let connector = self.services.connector();
        let abort = self.session.active.abort.clone();
        let limit = handler.timeouts.until_answered();
        let quiet = self.session.host().env.runtime.sleep(limit);
        let exchange = tokio::select! {
            biased;
            () = abort.cancelled() => return Err(ExecutionError::Lost.into()),
            opened = connector.open(&endpoint, request) => opened?,
            () = quiet => {
                let message = format!("the deployment `{}` did not answer within {} ms", endpoint.uri, limit.0);
                return Err(AttemptFailure::late(message).into());
            }
        };
        let mut live = LiveAttempt {
            channel: AttemptChannel::new(machine, exchange),
            output: None,
            then: Vec::new(),
            tell: Vec::new(),
            acknowledge: Vec::new(),
            opened_with: self.journal.frames().count(),
            quiet: Box::pin(std::future::pending()),
        };
        self.listen(&mut live);
        Ok(live)
    }

    /// Waits for the next event. All events are recorded in order, even after the deployment was
    /// asked to suspend and receives no more notifications: an event that arrives while a run is
    /// executed precedes its outcome.
    async fn wait(&mut self, live: &mut LiveAttempt) -> Result<AttemptEvent, InvocationStop> {
        let may_be_told = !live.channel.is_half_closed();
        let cancel_due = self.journal.can_be_cancelled();
        Ok(tokio::select! {
            biased;
            () = self.session.active.abort.cancelled() => return Err(ExecutionError::Lost.into()),
            sent = live.channel.next() => AttemptEvent::Sent(sent?),
            () = self.session.active.cancel_request(), if cancel_due => AttemptEvent::Cancelled,
            notice = self.watch.next() => AttemptEvent::Settled(notice),
            () = self.session.drained(), if may_be_told => AttemptEvent::Quiet,
            () = self.pause.asked(), if may_be_told => AttemptEvent::Quiet,
            () = &mut live.quiet => if may_be_told { AttemptEvent::Quiet } else { AttemptEvent::Overdue },
        })
    }

    /// Restarts the inactivity timer after a frame in either direction, or after the request to
    /// suspend.
    fn listen(&self, live: &mut LiveAttempt) {
        let Timeouts { inactivity, abort } = self.handler.timeouts;
        let length = if live.channel.is_half_closed() { abort } else { inactivity };
        live.quiet = self.session.host().env.runtime.sleep(length);
    }

    /// Sends all committed notifications to the deployment.
    async fn send_all(&self, live: &mut LiveAttempt) -> Result<(), InvocationStop> {
        if live.send_all().await? {
            self.listen(live);
        }
        Ok(())
    }

    /// Handles actions of the deployment. Returns the end of the attempt, if it has ended.
    async fn received(
        &mut self,
        live: &mut LiveAttempt,
        actions: Vec<DeploymentAction>,
    ) -> Result<Option<AttemptEnd>, InvocationStop> {
        for action in actions {
            match action {
                DeploymentAction::Output(output) => live.output = output,
                DeploymentAction::Asked { wish, frame, acknowledge } => {
                    self.append(live, *wish, frame).await?;
                    live.acknowledge.extend(acknowledge);
                }
                DeploymentAction::Ran { completion, outcome } => {
                    let open = self.journal.open_as(completion).map(|(index, _)| index);
                    let now = self.session.now();
                    let told =
                        open.and_then(|index| self.journal.complete(index, outcome.into(), now));
                    live.tell.extend(told);
                }
                DeploymentAction::ReadState { read, key } => {
                    let value = self.ephemeral(&key).await?;
                    live.channel.answer(read, value).await?;
                }
                DeploymentAction::Suspended { awaiting, ready } => {
                    self.committed(live).await?;
                    if ready {
                        return Ok(Some(AttemptEnd::Again));
                    }
                    let waiting = DeploymentWait::new(awaiting, live.opened_with);
                    return self.suspend(waiting).await.map(Some);
                }
                DeploymentAction::Failed(error) => {
                    self.committed(live).await?;
                    return Err(AttemptFailure::from(error).into());
                }
                DeploymentAction::Ended => {
                    self.committed(live).await?;
                    let output = live.output.take().ok_or_else(|| {
                        AttemptFailure::new(571, "the deployment ended without an output")
                    })?;
                    let outcome = self.ended(&output);
                    return self.finish(&outcome).await.map(|end| Some(AttemptEnd::Over(end)));
                }
            }
        }
        self.committed(live).await?;
        self.send_all(live).await?;
        Ok(None)
    }

    /// Commits recorded commands, and queues the resulting notifications.
    pub(super) async fn committed(&mut self, live: &mut LiveAttempt) -> Result<(), InvocationStop> {
        let then = std::mem::take(&mut live.then);
        let mut told = self.commit(then).await?;
        live.tell.append(&mut told);
        Ok(())
    }

    async fn take_settled(
        &mut self,
        first: SettlementNotice,
    ) -> Result<Vec<Notification>, InvocationStop> {
        let mut notices = vec![first];
        while let Some(next) = self.watch.try_next() {
            notices.push(next);
        }
        let next = self.id.signal(self.journal.signals());
        self.signal_unread |= notices.iter().any(|notice| notice.id == next);
        notices.retain(|notice| notice.id != next);
        let mut notifications = Vec::new();
        for row in self.session.settled(notices).await? {
            notifications.append(&mut self.settled(&row.promise));
        }
        notifications.append(&mut self.read_signals().await?);
        Ok(notifications)
    }

    /// Suspends the invocation in the store. Another attempt follows immediately if the wait is
    /// over.
    async fn suspend(&mut self, waiting: DeploymentWait) -> Result<AttemptEnd, InvocationStop> {
        // An invocation that must pause is not suspended, since no attempt follows.
        if self.pause.is_asked() {
            return Ok(AttemptEnd::Again);
        }
        let next_signal = self.id.signal(self.journal.signals());
        let mut awaits = BTreeSet::new();
        for leaf in waiting.leaves() {
            match leaf {
                NotificationId::Completion(id) => match self.journal.open_as(id) {
                    Some((_, open)) => match &open.awaits {
                        Some(promise) => drop(awaits.insert(promise.clone())),
                        None if open.kind == NotificationKind::Signal => {
                            awaits.insert(next_signal.clone());
                        }
                        // A run without an outcome: only another attempt can provide it.
                        None => return Ok(AttemptEnd::Again),
                    },
                    // The result is recorded, and the wait needs further results.
                    None if waiting.is_tree() => {}
                    // The result is recorded, but this attempt could not receive it any more.
                    None => return Ok(AttemptEnd::Again),
                },
                // A cancellation wakes every suspended invocation.
                NotificationId::Signal(segno_restate::immutable::CANCEL_SIGNAL) => {}
                NotificationId::Signal(_) | NotificationId::NamedSignal(_) => {
                    awaits.insert(next_signal.clone());
                }
            }
        }
        if awaits.is_empty() {
            awaits.insert(next_signal);
        }
        let (_, suspended) = self.session.suspend(Vec::new(), awaits).await?;
        match suspended? {
            SuspensionResult::Suspended => {
                self.services.waits().keep(&self.id, waiting, self.journal.recorded());
                Ok(AttemptEnd::Over(ClaimEnd::Suspended))
            }
            SuspensionResult::Ready(_) => {
                self.waiting = Some(waiting).filter(DeploymentWait::is_tree);
                self.signal_unread = true;
                Ok(AttemptEnd::Again)
            }
            SuspensionResult::Refused(refusal) => Err(ExecutionError::refused(refusal).into()),
        }
    }

    fn cancel_due(&self) -> bool {
        self.journal.can_be_cancelled() && self.session.active.cancel_requested()
    }

    /// The outcome of the invocation. An invocation that was notified of its cancellation and ended
    /// with it is cancelled.
    fn ended(&self, output: &wire::OperationOutcome) -> Outcome {
        let mut outcome = outcome::guest(output);
        if let Outcome::Failure(failure) = &mut outcome
            && failure.code == 409
            && self.journal.cancel_told()
        {
            failure.code = code::CANCELLED;
        }
        outcome
    }

    async fn ephemeral(&self, key: &[u8]) -> Result<Option<Bytes>, InvocationStop> {
        let (Some(object), Some(name)) = (&self.handler.object, state_names::name(key)) else {
            return Ok(None);
        };
        let value = state::value(&*self.session.host().store, object, &name).await?;
        self.is_still_claimed().await?;
        Ok(match value {
            segno_restate::immutable::NotificationResult::Value(value) => Some(value),
            _ => None,
        })
    }

    /// Makes sure that the claim was held when state was read: a later claim may have written state
    /// that the journal of this one knows nothing about.
    async fn is_still_claimed(&self) -> Result<(), ExecutionError> {
        let rows = self.session.promises(std::slice::from_ref(&self.id)).await?;
        let task = rows.into_iter().flatten().find_map(|row| row.task);
        let version = self.session.active.claim.version;
        match task {
            Some(task) if task.version == version && task.status() == TaskStatus::Acquired => {
                Ok(())
            }
            _ => Err(ExecutionError::Lost),
        }
    }
}
