//! A handler that performs random steps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{
    deployment::{AttemptError, DeploymentAttempt, StateRead},
    immutable::{Call, Notification, NotificationId, NotificationResult, OneWayCall},
    wire::OperationOutcome,
};

/// One step of a handler.
#[derive(Clone, Debug)]
pub(super) enum HandlerStep {
    Sleep,
    Call,
    Send,
    Run,
    Awakeable,
    Get(u8),
    Keys,
    Set(u8),
    Clear(u8),
    ClearAll,
    /// Journals the events received so far, in order, as the completion of an awakeable.
    Note,
    /// Waits for this many of the outstanding events, or for all if there are fewer.
    Await(usize),
}

pub(super) fn step() -> impl Strategy<Value = HandlerStep> {
    prop_oneof![
        1 => Just(HandlerStep::Sleep),
        1 => Just(HandlerStep::Call),
        1 => Just(HandlerStep::Send),
        2 => Just(HandlerStep::Run),
        1 => Just(HandlerStep::Awakeable),
        1 => (0..3u8).prop_map(HandlerStep::Get),
        1 => Just(HandlerStep::Keys),
        1 => (0..3u8).prop_map(HandlerStep::Set),
        1 => (0..3u8).prop_map(HandlerStep::Clear),
        1 => Just(HandlerStep::ClearAll),
        1 => Just(HandlerStep::Note),
        4 => (1..4usize).prop_map(HandlerStep::Await),
    ]
}

/// A handler in one attempt.
pub(super) struct SimulatedHandler<'a> {
    pub(super) steps: &'a [HandlerStep],
    pub(super) position: usize,
    pub(super) waits_for: BTreeMap<NotificationId, String>,
    /// Number of events that the handler still waits for.
    pub(super) missing: usize,
    /// The events received, in order.
    pub(super) events: Vec<String>,
}

impl<'a> SimulatedHandler<'a> {
    pub(super) fn new(steps: &'a [HandlerStep]) -> Self {
        Self { steps, position: 0, waits_for: BTreeMap::new(), missing: 0, events: Vec::new() }
    }

    /// Performs steps until the handler waits or is done.
    pub(super) fn poll(&mut self, attempt: &mut DeploymentAttempt) -> Result<(), AttemptError> {
        while self.missing == 0 && self.position < self.steps.len() {
            let label = format!("{}", self.position);
            let step = self.steps[self.position].clone();
            self.position += 1;
            match step {
                HandlerStep::Sleep => {
                    let id = attempt.sleep(1, label.clone())?;
                    self.wait_for(NotificationId::Completion(id), label);
                }
                HandlerStep::Call => {
                    let call = Call { name: label.clone(), ..Call::default() };
                    let handle = attempt.call(call)?;
                    let id = NotificationId::Completion(handle.invocation_id);
                    self.wait_for(id, format!("{label} id"));
                    self.wait_for(NotificationId::Completion(handle.result), label);
                }
                HandlerStep::Send => {
                    let send = OneWayCall { name: label.clone(), ..OneWayCall::default() };
                    let id = attempt.send(send)?;
                    self.wait_for(NotificationId::Completion(id), label);
                }
                HandlerStep::Run => {
                    let run = attempt.run(label.clone())?;
                    self.wait_for(NotificationId::Completion(run.completion_id), label);
                }
                HandlerStep::Awakeable => {
                    let awakeable = attempt.awakeable()?;
                    self.wait_for(NotificationId::Signal(awakeable.signal), label.clone());
                    let outcome = OperationOutcome::Success(label.clone().into());
                    attempt.complete_awakeable(awakeable.id, outcome, label)?;
                }
                HandlerStep::Get(key) => match attempt.state(vec![key], label.clone())? {
                    StateRead::Known(value) => self.told(
                        &label,
                        &value.map_or(NotificationResult::Void, NotificationResult::Value),
                    ),
                    StateRead::Asked(id) => self.wait_for(NotificationId::Completion(id), label),
                },
                HandlerStep::Keys => match attempt.state_keys(label.clone())? {
                    StateRead::Known(keys) => {
                        self.told(&label, &NotificationResult::StateKeys(keys));
                    }
                    StateRead::Asked(id) => self.wait_for(NotificationId::Completion(id), label),
                },
                HandlerStep::Set(key) => attempt.set_state(vec![key], label.clone(), label)?,
                HandlerStep::Clear(key) => attempt.clear_state(vec![key], label)?,
                HandlerStep::ClearAll => attempt.clear_all_state(label)?,
                HandlerStep::Note => {
                    let events = self.events.join(";");
                    attempt.complete_awakeable(
                        "sign_1AAAAAA",
                        OperationOutcome::Success(events.into()),
                        label,
                    )?;
                }
                HandlerStep::Await(count) => self.missing = count.min(self.waits_for.len()),
            }
        }
        if self.missing == 0 && !attempt.is_over() {
            attempt.finish(OperationOutcome::Success(self.events.join(";").into()))?;
        }
        Ok(())
    }

    fn wait_for(&mut self, id: NotificationId, label: String) {
        self.waits_for.insert(id, label);
    }

    pub(super) fn deliver(&mut self, notification: &Notification) {
        let label = self.waits_for.remove(&notification.id).expect("each event was asked for");
        self.told(&label, &notification.result);
        self.missing = self.missing.saturating_sub(1);
    }

    fn told(&mut self, label: &str, result: &NotificationResult) {
        self.events.push(format!("{label}={result:?}"));
    }
}
