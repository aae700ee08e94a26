//! Dry runs of forks, and their conversion to the API's types.

use segno_core::{id::PromiseId, stream::StreamDifference};
use segno_engine::{
    values,
    worker::{
        commands,
        fork::{
            self, AnswerSource, DryRun as Run, DryRunEnd, DryRunStream, ForkPrefix, GivenOutcome,
            MissingAnswer, ReplayedFork, StreamMatch,
        },
    },
};
use segno_guest::{Failure, Outcome};

use super::{
    Api, ApiError, budgets,
    fork::{ForkModule, PreparedFork, free, not_forked},
    model::{
        DryAnswer, DryEnd, DryRun, DryStep, DryStream, FailureView, LeftOutCommand, OutcomeView,
        UnansweredPolicy,
    },
};

/// A change with which executions are run again in memory.
#[derive(Debug)]
pub(super) struct DryRunChange {
    /// Number of records that each begins with.
    pub(super) at: u32,
    /// Results that replace recorded ones.
    pub(super) set: Vec<GivenOutcome>,
    /// The module. `None`: the one to which each is pinned.
    pub(super) module: Option<ForkModule>,
    pub(super) unanswered: UnansweredPolicy,
}

/// Runs an execution again in memory. Nothing is stored.
pub(super) async fn dry_run(
    api: &Api,
    id: &PromiseId,
    change: &DryRunChange,
) -> Result<DryRun, ApiError> {
    let prefix = ForkPrefix::for_dry_run(&api.host, id, change.at).await.map_err(not_forked)?;
    let (module, new) = (change.module.as_ref(), free(api, id).await?);
    let PreparedFork { prefix, replayed, .. } =
        PreparedFork::new(api, prefix, &change.set, module, new).await?;
    forward(api, &prefix, replayed, change.unanswered).await
}

/// Runs a fork in memory from the end of its records.
pub(super) async fn forward(
    api: &Api,
    prefix: &ForkPrefix,
    replayed: ReplayedFork,
    unanswered: UnansweredPolicy,
) -> Result<DryRun, ApiError> {
    let run = fork::forward(&api.host, prefix, replayed, missing(unanswered)).await;
    run.map(shown).map_err(not_forked)
}

fn missing(policy: UnansweredPolicy) -> MissingAnswer {
    match policy {
        UnansweredPolicy::Stop => MissingAnswer::Stop,
        UnansweredPolicy::Fail => MissingAnswer::Fail,
        UnansweredPolicy::Null => MissingAnswer::Null,
    }
}

fn shown(run: Run) -> DryRun {
    let same_end = run.ends_as_recorded();
    let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    let steps = run.steps.into_iter().map(|step| {
        let (answered, of_command) = match step.answered.as_ref().map(|(by, _)| *by) {
            Some(AnswerSource::Recorded(index)) => (DryAnswer::Recorded, Some(index.0)),
            Some(AnswerSource::Clock) => (DryAnswer::Clock, None),
            Some(AnswerSource::LeftOut) => (DryAnswer::LeftOut, None),
            Some(AnswerSource::Policy) => (DryAnswer::Policy, None),
            None => (DryAnswer::Open, None),
        };
        let told = step.answered.filter(|_| step.asked.kind.completes());
        DryStep {
            index: step.index.0,
            command: step.asked.kind.name().to_owned(),
            name: named(&step.asked.name),
            request: commands::display(&step.asked.request),
            answered,
            of_command,
            outcome: told.map(|(_, told)| outcome(&told)),
            recorded: step.is_recorded,
            known: step.is_known,
        }
    });
    let left_out = run.left_out.into_iter().map(|(index, asked)| LeftOutCommand {
        index: index.0,
        command: asked.kind.name().to_owned(),
        name: named(&asked.name),
    });
    let (end, ended, error) = match run.end {
        DryRunEnd::Ended(told) => (DryEnd::Ended, Some(outcome(&told)), None),
        DryRunEnd::Waits => (DryEnd::Waits, None, None),
        DryRunEnd::Failed(error) => (DryEnd::Failed, None, Some(error.message())),
    };
    DryRun {
        steps: steps.collect(),
        end,
        outcome: ended,
        error,
        recorded_outcome: run.recorded_end.as_ref().map(outcome),
        same_end,
        left_out: left_out.collect(),
        recorded_cost: budgets::numbers(&run.recorded_cost),
        cost: budgets::numbers(&run.cost),
        streams: run.streams.into_iter().map(stream).collect(),
    }
}

fn stream(of: DryRunStream) -> DryStream {
    let (same, compared) =
        (of.compared == StreamMatch::Equal, of.compared != StreamMatch::TooLarge);
    let (differs_at, recorded, forked) = match of.compared {
        StreamMatch::Differs(StreamDifference { position, first, second }) => {
            (Some(position), first, second)
        }
        StreamMatch::Equal | StreamMatch::TooLarge => (None, Vec::new(), Vec::new()),
    };
    DryStream {
        name: of.name.to_string(),
        content_type: of.content_type.to_string(),
        recorded_length: of.recorded_len,
        length: of.len,
        same,
        compared,
        differs_at,
        recorded,
        forked,
    }
}

fn outcome(outcome: &Outcome) -> OutcomeView {
    match outcome {
        Outcome::Success(payload) => {
            OutcomeView { value: Some(values::payload_json(payload)), failure: None }
        }
        Outcome::Failure(Failure { code, message, details }) => OutcomeView {
            value: None,
            failure: Some(FailureView {
                code: *code,
                message: message.clone(),
                details: details.as_ref().map(values::payload_json),
            }),
        },
    }
}
