//! The result of running one recorded execution again.

use std::collections::BTreeMap;

use segno_api::model::{
    DryAnswer, DryEnd, DryRun, DryStep, Forked, Invocation, InvocationState, InvocationSummary,
    OutcomeView, UnreadableRow,
};
use segno_client::ClientError;
use serde::Serialize;
use serde_json::{Number, Value, json};

use super::path::ValueDifference;
use crate::cli::show::{failure_line, function, plain};

/// Codes with which a host refuses to run one execution again, though others may be.
const SKIPPED: [&str; 8] = [
    "unknown-invocation",
    "no-journal",
    "journal-damaged",
    "no-such-record",
    "no-fork-there",
    "no-such-command",
    "invalid-result",
    "invalid-input",
];

/// The comparison of an execution with its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RerunVerdict {
    /// It ends with the recorded outcome.
    Same,
    /// It ends with another outcome.
    Differs,
    /// It fails, and did not before; or the code ended it without an outcome.
    Failed,
    /// The code does not repeat the first records.
    Diverged,
    /// It waits for something that the recording does not answer.
    Unanswered,
    /// It was not run.
    Skipped,
}

impl RerunVerdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::Failed => "failed",
            Self::Diverged => "diverged",
            Self::Unanswered => "unanswered",
            Self::Skipped => "skipped",
        }
    }
}

/// A recorded execution that was selected.
#[derive(Debug, Clone)]
pub(super) struct RerunSubject {
    pub(super) id: String,
    function: String,
    duration_ms: Option<i64>,
    /// The reason not to run it.
    obstacle: Option<String>,
}

/// A command without a recorded answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct FirstUnanswered {
    index: u32,
    /// Kind of the command.
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The arguments of the command.
    request: Value,
}

/// An execution, before and after.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RerunRow {
    pub(super) id: String,
    pub(super) function: String,
    pub(super) verdict: RerunVerdict,
    /// Recorded outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<OutcomeView>,
    /// Outcome with the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<OutcomeView>,
    /// Number of commands that the recording answered.
    pub(super) answered: u32,
    /// Number of commands without a recorded answer.
    pub(super) unanswered: u32,
    /// Number of recorded commands that were not issued.
    pub(super) left_out: u32,
    /// The costs that its calls reported, by unit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) recorded_cost: BTreeMap<String, Number>,
    /// The costs of those calls whose results the new run has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) cost: BTreeMap<String, Number>,
    /// Length of the recorded execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration_ms: Option<i64>,
    /// The first difference, in words that are equal for equal differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<String>,
    /// The reason of the verdict, with the details of this execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// The first command without a recorded answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) asks: Option<FirstUnanswered>,
    /// The first difference of the outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<ValueDifference>,
}

impl From<InvocationSummary> for RerunSubject {
    fn from(of: InvocationSummary) -> Self {
        let function = function(&of.target, of.function.as_deref());
        Self::new(of.id, function, of.state, of.created_at_ms, of.settled_at_ms)
    }
}

impl From<Invocation> for RerunSubject {
    fn from(of: Invocation) -> Self {
        let function = function(&of.target, Some(&of.function));
        Self::new(of.id, function, of.state, of.created_at_ms, of.settled_at_ms)
    }
}

impl From<UnreadableRow> for RerunSubject {
    fn from(of: UnreadableRow) -> Self {
        let obstacle = Some(format!("it cannot be read: {}", of.reason));
        Self { id: of.id, function: String::new(), duration_ms: None, obstacle }
    }
}

impl RerunSubject {
    fn new(
        id: String,
        function: String,
        state: InvocationState,
        created_at_ms: i64,
        settled_at_ms: Option<i64>,
    ) -> Self {
        let obstacle =
            (!state.is_settled()).then(|| format!("it has not ended: it is {}", state.as_str()));
        let duration_ms = settled_at_ms.map(|at| at - created_at_ms);
        Self { id, function, duration_ms, obstacle }
    }

    /// A subject that the host does not have.
    pub(super) fn missing(id: &str, reason: String) -> Self {
        let (id, function) = (id.to_owned(), String::new());
        Self { id, function, duration_ms: None, obstacle: Some(reason) }
    }

    /// The row of an execution that cannot be run again. `None` if it can.
    pub(super) fn skipped(&self) -> Option<RerunRow> {
        self.obstacle.clone().map(|reason| self.without_run(RerunVerdict::Skipped, reason))
    }

    /// The row of the execution.
    ///
    /// # Errors
    /// The answer of the host concerns all executions.
    pub(super) fn row(&self, answer: Result<Forked, ClientError>) -> Result<RerunRow, ClientError> {
        match answer {
            Ok(Forked { dry_run: Some(run), .. }) => Ok(self.compared(run)),
            Ok(_) => {
                Ok(self
                    .without_run(RerunVerdict::Skipped, "the host has no answer for it".to_owned()))
            }
            Err(ClientError::Refused(problem)) => {
                let verdict = match problem.code.as_str() {
                    "diverges" => RerunVerdict::Diverged,
                    "replay-failed" => RerunVerdict::Failed,
                    code if SKIPPED.contains(&code) => RerunVerdict::Skipped,
                    _ => return Err(ClientError::Refused(problem)),
                };
                Ok(self.without_run(verdict, problem.detail.clone()))
            }
            Err(error) => Err(error),
        }
    }

    fn without_run(&self, verdict: RerunVerdict, reason: String) -> RerunRow {
        RerunRow {
            id: self.id.clone(),
            function: self.function.clone(),
            verdict,
            before: None,
            after: None,
            answered: 0,
            unanswered: 0,
            left_out: 0,
            recorded_cost: BTreeMap::new(),
            cost: BTreeMap::new(),
            duration_ms: self.duration_ms,
            // Equal reasons are equal for executions with other ids.
            difference: Some(reason.replace(&format!("`{}`", self.id), "the execution")),
            reason: Some(reason),
            asks: None,
            output: None,
        }
    }

    fn compared(&self, run: DryRun) -> RerunRow {
        let count = |steps: usize| u32::try_from(steps).unwrap_or(u32::MAX);
        let is_answered = |step: &&DryStep| step.answered == DryAnswer::Recorded;
        let has_none = |step: &&DryStep| is_unanswered(step, run.end);
        let asks = run.steps.iter().find(has_none).map(|step| FirstUnanswered {
            index: step.index,
            command: step.command.clone(),
            name: step.name.clone(),
            request: step.request.clone(),
        });
        let (before, after) = (run.recorded_outcome.clone(), run.outcome.clone());
        let is_failure =
            |outcome: &Option<OutcomeView>| outcome.as_ref().is_some_and(|it| it.failure.is_some());
        let verdict = match run.end {
            DryEnd::Ended if run.same_end => RerunVerdict::Same,
            DryEnd::Ended if is_failure(&after) && !is_failure(&before) => RerunVerdict::Failed,
            DryEnd::Ended => RerunVerdict::Differs,
            DryEnd::Waits => RerunVerdict::Unanswered,
            DryEnd::Failed => RerunVerdict::Failed,
        };
        let mut row = RerunRow {
            before,
            after,
            answered: count(run.steps.iter().filter(is_answered).count()),
            unanswered: count(run.steps.iter().filter(has_none).count()),
            left_out: count(run.left_out.len()),
            recorded_cost: run.recorded_cost,
            cost: run.cost,
            difference: None,
            reason: None,
            asks,
            ..self.without_run(verdict, String::new())
        };
        row.output = match (&row.before, &row.after) {
            (Some(before), Some(after)) => {
                ValueDifference::first(&document(before), &document(after))
            }
            _ => None,
        };
        (row.difference, row.reason) = row.explained(run.error.as_deref());
        row
    }
}

impl RerunRow {
    /// The first difference in general words, and with the details of this execution.
    fn explained(&self, error: Option<&str>) -> (Option<String>, Option<String>) {
        let failure = self.after.as_ref().and_then(|outcome| outcome.failure.as_ref());
        let reason = match (self.verdict, &self.asks) {
            (RerunVerdict::Same | RerunVerdict::Skipped, _) => return (None, None),
            (RerunVerdict::Unanswered, None) => "waits for a signal".to_owned(),
            (RerunVerdict::Failed, _) if error.is_some() => error.unwrap_or_default().to_owned(),
            (RerunVerdict::Failed, _) if failure.is_some() => {
                failure.map(failure_line).unwrap_or_default()
            }
            (_, Some(asks)) => asks.in_words(true),
            (_, None) => self.output_in_words(),
        };
        let difference = match &self.asks {
            Some(asks) => asks.in_words(false),
            None if self.verdict == RerunVerdict::Differs => self.output_in_words(),
            None => reason.clone(),
        };
        (Some(difference), Some(reason))
    }

    fn output_in_words(&self) -> String {
        match &self.output {
            Some(output) => format!("another outcome at {}", output.path),
            None => "another outcome".to_owned(),
        }
    }
}

impl FirstUnanswered {
    fn in_words(&self, is_detailed: bool) -> String {
        let name = self.name.as_deref().map(|name| format!(" {}", plain(name)));
        let lead = format!("asks for something new: {}{}", self.command, name.unwrap_or_default());
        match is_detailed {
            true => format!("{lead} {}", self.request),
            false => lead,
        }
    }
}

/// True if the recording has no answer that the step needs: the policy gave one, or the step is open
/// where the workflow cannot continue or where the original did not issue it.
fn is_unanswered(step: &DryStep, end: DryEnd) -> bool {
    match step.answered {
        DryAnswer::Policy => true,
        DryAnswer::Open => !step.known || end == DryEnd::Waits,
        DryAnswer::Recorded | DryAnswer::Clock | DryAnswer::LeftOut => false,
    }
}

/// An outcome as one value, so that outcomes can be compared: a failure has a form of its own.
pub(super) fn document(outcome: &OutcomeView) -> Value {
    match (&outcome.failure, &outcome.value) {
        (Some(failure), _) => json!({ "failure": failure }),
        (None, value) => value.clone().unwrap_or_default(),
    }
}
