//! The state of an invocation's sagas: started steps, their outcomes, and undone steps. All of it
//! is derived from completions, so it is the same in every replay.

use std::{
    collections::BTreeMap,
    sync::Arc,
    task::{Poll, Waker},
};

use segno_saga::{FactKind, SagaNext, StepEnd, StepOutcome, declines, saga_next};

use super::report::{SagaReport, StepReport};
use crate::{
    bindings::segno::workflow::{sagas as wit, types},
    error::Error,
    invocation::CurrentInvocation,
    payload::Payload,
    task::OutcomeFuture,
};

/// A step of a saga; its number is assigned when it is issued.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UnissuedStep {
    saga: usize,
    pub(crate) declared: wit::Step,
    /// A description of the step.
    name: String,
    /// The input of the step, as JSON.
    input: String,
    /// True for an HTTP request, whose response may decline it.
    is_http: bool,
}

impl UnissuedStep {
    pub(super) fn new(
        saga: usize,
        compensate: &str,
        name: String,
        input: String,
        is_http: bool,
    ) -> Self {
        let declared = wit::Step {
            saga: String::new(),
            seq: 0,
            compensate: compensate.to_owned(),
            compensate_unknown: false,
        };
        Self { saga, declared, name, input, is_http }
    }
}

/// The sagas of an invocation, in the order in which they began.
#[derive(Default)]
pub(crate) struct InvocationSagas {
    list: Vec<SagaProgress>,
    /// The role of each saga command, by the command's index.
    roles: BTreeMap<u32, SagaRole>,
    /// The waker of an unwinding.
    waker: Option<Waker>,
    /// Unwinds the sagas that a failure of the workflow leaves open. Set by the first saga, so a
    /// module without sagas does not link that code.
    pub(crate) unwind: Option<Unwind>,
}

/// Unwinds open sagas and returns the outcome with the reports.
pub(crate) type Unwind = fn(Arc<CurrentInvocation>, types::Outcome) -> OutcomeFuture;

struct SagaProgress {
    name: String,
    steps: Vec<IssuedStep>,
    facts: Vec<(u32, FactKind)>,
    is_over: bool,
}

struct IssuedStep {
    declared: wit::Step,
    name: String,
    input: String,
    output: Option<String>,
    is_http: bool,
    end: StepEnd,
    /// True while the compensation or the question is issued and unanswered.
    is_waited_for: bool,
    /// True if the step's effect is unknown and no answer was given.
    is_unclear: bool,
    /// The reason that it could not be undone.
    error: Option<Error>,
}

#[derive(Clone, Copy)]
struct SagaRole {
    saga: usize,
    seq: u32,
    part: SagaPart,
}

#[derive(Clone, Copy)]
enum SagaPart {
    Step,
    Undo,
    Verdict,
}

/// The next action of an unwinding.
pub(super) enum UnwindAction {
    /// Undo a step with this input.
    Undo(wit::Step, Payload),
    /// Ask a person for the outcome of a step.
    Ask(wit::Step, String),
    /// The unwinding has ended, or cannot continue.
    Over,
}

impl InvocationSagas {
    /// # Panics
    /// A saga of this name exists already: names must distinguish the steps of sagas.
    pub(super) fn begin(&mut self, name: String, unwind: Unwind) -> usize {
        self.unwind = Some(unwind);
        let is_taken = self.list.iter().any(|saga| saga.name == name);
        assert!(!is_taken, "there is a saga `{name}` in this workflow: give each its own name");
        self.list.push(SagaProgress { name, steps: Vec::new(), facts: Vec::new(), is_over: false });
        self.list.len() - 1
    }

    pub(super) fn end(&mut self, saga: usize) {
        self.list[saga].is_over = true;
    }

    /// The sagas that an error of the workflow unwinds, last first.
    pub(super) fn open(&self) -> Vec<usize> {
        let open = self.list.iter().enumerate().filter(|(_, saga)| !saga.is_over);
        open.map(|(index, _)| index).rev().collect()
    }

    /// Assigns a step its number, before it is issued.
    pub(crate) fn place(&self, step: &mut UnissuedStep) {
        let saga = &self.list[step.saga];
        assert!(
            !saga.is_over,
            "the saga `{}` is over, and `{}` is a step of it: begin another",
            saga.name, step.name
        );
        step.declared.saga = saga.name.clone();
        step.declared.seq = u32::try_from(saga.steps.len()).expect("a saga has few steps");
    }

    /// Registers the command with this index as this step.
    pub(crate) fn issued(&mut self, command: u32, step: UnissuedStep) {
        let UnissuedStep { saga, declared, name, input, is_http } = step;
        self.roles.insert(command, SagaRole { saga, seq: declared.seq, part: SagaPart::Step });
        self.list[saga].steps.push(IssuedStep {
            declared,
            name,
            input,
            output: None,
            is_http,
            end: StepEnd::Open,
            is_waited_for: false,
            is_unclear: false,
            error: None,
        });
    }

    /// Registers the command with this index as the compensation of a step, or as the question
    /// about it.
    pub(super) fn acts(&mut self, command: u32, saga: usize, act: &UnwindAction) {
        let (step, part) = match act {
            UnwindAction::Undo(step, _) => (step, SagaPart::Undo),
            UnwindAction::Ask(step, _) => (step, SagaPart::Verdict),
            UnwindAction::Over => return,
        };
        self.roles.insert(command, SagaRole { saga, seq: step.seq, part });
        self.list[saga].steps[step.seq as usize].is_waited_for = true;
    }

    /// Returns true if a command belongs to a saga: its completion is needed even if no future
    /// awaits it.
    pub(crate) fn has(&self, command: u32) -> bool {
        self.roles.contains_key(&command)
    }

    /// Processes the completion of a command.
    pub(crate) fn complete(&mut self, completion: &types::Completion) -> Option<Waker> {
        let SagaRole { saga, seq, part } = self.roles.remove(&completion.command)?;
        let SagaProgress { steps, facts, .. } = &mut self.list[saga];
        let step = &mut steps[seq as usize];
        match (part, &completion.outcome) {
            (SagaPart::Step, types::Outcome::Success(output)) => {
                step.output = Some(json(output));
                if step.is_declined() && !step.declared.compensate_unknown {
                    step.end = StepEnd::Failed;
                } else {
                    step.end = StepEnd::Acted;
                    facts.push((seq, FactKind::Registered));
                }
            }
            (SagaPart::Step, types::Outcome::Failure(failure)) => {
                step.end = match failure.code {
                    Error::TIMED_OUT | Error::CANCELLED => StepEnd::Unknown,
                    _ => StepEnd::Failed,
                };
                if step.end == StepEnd::Unknown && step.declared.compensate_unknown {
                    facts.push((seq, FactKind::Registered));
                }
            }
            (SagaPart::Undo, types::Outcome::Success(_)) => facts.push((seq, FactKind::Completed)),
            (SagaPart::Undo, types::Outcome::Failure(failure)) => {
                step.error = Some(Error::from_failure(failure.clone()));
                facts.push((seq, FactKind::Failed));
            }
            (SagaPart::Verdict, types::Outcome::Success(_)) => {
                step.end = StepEnd::Acted;
                facts.push((seq, FactKind::Registered));
            }
            (SagaPart::Verdict, types::Outcome::Failure(failure)) => match failure.code {
                // The question was withdrawn, which is no answer.
                Error::CANCELLED => step.is_unclear = true,
                _ => step.end = StepEnd::Failed,
            },
        }
        step.is_waited_for = false;
        self.waker.take()
    }

    /// The next action of an unwinding; pending while a completion is missing.
    pub(super) fn next(&mut self, saga: usize, waker: &Waker) -> Poll<UnwindAction> {
        let SagaProgress { steps, facts, .. } = &self.list[saga];
        let views: Vec<StepOutcome> =
            (0..).zip(steps).map(|(seq, step)| StepOutcome { seq, end: step.end }).collect();
        let act = match saga_next(facts.iter().copied(), &views, true) {
            SagaNext::Forward => None,
            SagaNext::Compensate { seq } => {
                let step = &steps[seq as usize];
                let output = step.output.as_deref().unwrap_or("null");
                let input = format!("{{\"input\":{},\"output\":{output}}}", step.input);
                (!step.is_waited_for)
                    .then(|| UnwindAction::Undo(step.declared.clone(), Payload::Json(input)))
            }
            SagaNext::Unclear { seq } => {
                let step = &steps[seq as usize];
                if step.is_unclear {
                    return Poll::Ready(UnwindAction::Over);
                }
                (!step.is_waited_for)
                    .then(|| UnwindAction::Ask(step.declared.clone(), step.name.clone()))
            }
            SagaNext::Compensated | SagaNext::CompensationFailed { .. } => Some(UnwindAction::Over),
        };
        if act.is_none() {
            self.waker = Some(waker.clone());
        }
        act.map_or(Poll::Pending, Poll::Ready)
    }

    /// The report of an ended unwinding.
    pub(super) fn report(&self, saga: usize) -> SagaReport {
        let SagaProgress { name, steps, facts, .. } = &self.list[saga];
        let has = |step: &IssuedStep, kind| facts.contains(&(step.declared.seq, kind));
        let all = |wanted: &dyn Fn(&IssuedStep) -> bool| -> Vec<StepReport> {
            steps.iter().rev().filter(|step| wanted(step)).map(IssuedStep::report).collect()
        };
        let is_done =
            |step: &IssuedStep| has(step, FactKind::Completed) || has(step, FactKind::Failed);
        SagaReport {
            saga: name.clone(),
            undone: all(&|step| has(step, FactKind::Completed)),
            failed: all(&|step| has(step, FactKind::Failed)),
            unclear: all(&|step| step.is_unclear),
            left: all(&|step| has(step, FactKind::Registered) && !is_done(step)),
        }
    }
}

impl IssuedStep {
    /// Returns true if the server reported that it did not act.
    fn is_declined(&self) -> bool {
        #[derive(serde::Deserialize)]
        struct ResponseStatus {
            status: u16,
        }

        let answer = self.output.as_deref().filter(|_| self.is_http);
        let answer = answer.and_then(|text| serde_json::from_str::<ResponseStatus>(text).ok());
        answer.is_some_and(|answer| declines(answer.status))
    }

    fn report(&self) -> StepReport {
        StepReport {
            seq: self.declared.seq,
            step: self.name.clone(),
            compensate: self.declared.compensate.clone(),
            error: self.error.as_ref().map(|error| error.message().to_owned()),
        }
    }
}

/// The JSON of an input or an output; bytes become null.
pub(super) fn json(payload: &Payload) -> String {
    match payload {
        Payload::Json(text) => text.clone(),
        Payload::Bytes(_) => "null".to_owned(),
    }
}
