//! The verdict on one recorded execution that was run again.

use segno_core::{
    id::PromiseId,
    promise::{Promise, Task},
};

use super::{
    super::{
        ApiError,
        model::{
            DryAnswer, DryEnd, DryRun, DryStep, FailureView, FirstUnanswered, OutcomeView,
            RerunRow, RerunVerdict, function_label,
        },
        view,
    },
    path::first_difference,
};

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

/// A recorded execution that was selected.
#[derive(Debug, Clone)]
pub(super) struct RerunSubject {
    pub(super) id: PromiseId,
    function: String,
    duration_ms: Option<i64>,
    /// The reason not to run it.
    obstacle: Option<String>,
}

impl RerunSubject {
    /// An execution of the store.
    pub(super) fn new(promise: &Promise, task: &Task) -> Self {
        let state = view::state(promise, task);
        let obstacle =
            (!state.is_settled()).then(|| format!("it has not ended: it is {}", state.as_str()));
        let target = promise.target().unwrap_or_default();
        let settled = promise.settlement().map(|settlement| settlement.settled_at.0);
        Self {
            id: promise.id().clone(),
            function: function_label(target, view::function(promise).as_deref()),
            duration_ms: settled.map(|at| at - promise.spec.created_at.0),
            obstacle,
        }
    }

    /// An execution that the host cannot run again, for this reason.
    pub(super) fn missing(id: PromiseId, reason: String) -> Self {
        Self { id, function: String::new(), duration_ms: None, obstacle: Some(reason) }
    }

    /// The row of an execution that cannot be run again. `None` if it can.
    pub(super) fn skipped(&self) -> Option<RerunRow> {
        self.obstacle.clone().map(|reason| self.without_run(RerunVerdict::Skipped, reason))
    }

    /// The row of the execution after its dry run.
    ///
    /// # Errors
    /// The error concerns all executions.
    pub(super) fn row(&self, run: Result<DryRun, ApiError>) -> Result<RerunRow, ApiError> {
        let error = match run {
            Ok(run) => return Ok(self.compared(run)),
            Err(error) => error,
        };
        let verdict = match error.code() {
            "diverges" => RerunVerdict::Diverged,
            "replay-failed" => RerunVerdict::Failed,
            code if SKIPPED.contains(&code) => RerunVerdict::Skipped,
            _ => return Err(error),
        };
        Ok(self.without_run(verdict, error.to_string()))
    }

    fn without_run(&self, verdict: RerunVerdict, reason: String) -> RerunRow {
        RerunRow {
            duration_ms: self.duration_ms,
            // Equal reasons are equal for executions with other ids.
            difference: Some(reason.replace(&format!("`{}`", self.id), "the execution")),
            reason: Some(reason),
            ..RerunRow::new(self.id.as_str(), self.function.as_str(), verdict)
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
                let value = RerunRow::outcome_value;
                first_difference(&value(before), &value(after))
            }
            _ => None,
        };
        (row.difference, row.reason) = explained(&row, run.error.as_deref());
        row
    }
}

/// The first difference in general words, and with the details of this execution.
fn explained(row: &RerunRow, error: Option<&str>) -> (Option<String>, Option<String>) {
    let failure = row.after.as_ref().and_then(|outcome| outcome.failure.as_ref());
    let reason = match (row.verdict, &row.asks) {
        (RerunVerdict::Same | RerunVerdict::Skipped, _) => return (None, None),
        (RerunVerdict::Unanswered, None) => "waits for a signal".to_owned(),
        (RerunVerdict::Failed, _) if error.is_some() => error.unwrap_or_default().to_owned(),
        (RerunVerdict::Failed, _) if failure.is_some() => {
            failure.map(FailureView::line).unwrap_or_default()
        }
        (_, Some(asks)) => format!("{} {}", new_command(asks), asks.request),
        (_, None) => another_outcome(row),
    };
    let difference = match &row.asks {
        Some(asks) => new_command(asks),
        None if row.verdict == RerunVerdict::Differs => another_outcome(row),
        None => reason.clone(),
    };
    (Some(difference), Some(reason))
}

fn another_outcome(row: &RerunRow) -> String {
    match &row.output {
        Some(output) => format!("another outcome at {}", output.path),
        None => "another outcome".to_owned(),
    }
}

fn new_command(asks: &FirstUnanswered) -> String {
    let name = asks.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    format!("asks for something new: {}{name}", asks.command)
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
