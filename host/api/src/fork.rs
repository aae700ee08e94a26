//! Forks: starts a new invocation with the first records of another one's journal, optionally with
//! replaced results, on the same module or another that repeats the records.

use axum::{Json, extract::State, http::StatusCode};
use segno_core::{
    command::Command,
    fork::ForkOrigin as Stored,
    id::{Digest, PromiseId},
    invocation::CommandKind,
    json,
    reply::Reply,
    stream::StreamDifference,
    value::Tags,
};
use segno_engine::{
    values,
    worker::{
        commands,
        fork::{
            self, AnswerSource, DryRun as Run, DryRunEnd, DryRunStream, ForkError, ForkPrefix,
            ForkedInvocation, GivenOutcome, MissingAnswer, ReplayedFork, StreamMatch,
        },
    },
};
use segno_guest::{Failure, Outcome, Payload};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    budgets,
    model::{
        DryAnswer, DryEnd, DryRun, DryStep, DryStream, FailureView, ForkInvocation, Forked,
        ForkedFrom, GivenResult, LeftOutCommand, OutcomeView, UnansweredPolicy,
    },
    problem_kind as kind,
    refusals::Refusals,
    replay::{found, not_replayed},
    state::{new_id, refused, unexpected},
};

/// Maximum number of forks with host-generated ids.
const NUMBERED: u32 = 1_000;

/// Starts a new invocation from the first records of this one's journal; this one does not change.
/// Recorded effects are not repeated; commands open at that position are issued again. The module
/// repeats the records first; if it fails to, nothing is started.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/fork", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    request_body = ForkInvocation,
    responses(
        (status = 200, body = Forked, description = "This fork exists, or was tried only"),
        (status = 201, body = Forked, description = "Started"),
        Refusals,
    ),
)]
pub(crate) async fn fork(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(request, _room): JsonBody<ForkInvocation>,
) -> Result<(StatusCode, Json<Forked>), ApiError> {
    let id = api.generation(id).await?;
    if !request.dry_run && request.unanswered != UnansweredPolicy::Stop {
        let reason = "is for dry runs: a fork is answered by the host".to_owned();
        return Err(ApiError::BadField { field: "unanswered", reason });
    }
    let set = given_results(&request.set)?;
    let prefix = match request.dry_run {
        true => ForkPrefix::for_dry_run(&api.host, &id, request.at).await,
        false => ForkPrefix::read(&api.host, &id, request.at).await,
    };
    let prefix = prefix.map_err(not_forked)?;
    let module = match &request.module {
        Some(name) => Some(ForkModule::find(&api, name).await?),
        None => None,
    };
    let new = match request.id {
        Some(new) => new_id(new)?,
        None => free(&api, &id).await?,
    };
    let PreparedFork { prefix, module, replayed } =
        PreparedFork::new(&api, prefix, &set, module.as_ref(), new.clone()).await?;
    let mut forked = Forked {
        id: new.to_string(),
        forked_from: ForkedFrom {
            id: id.to_string(),
            records: u32::try_from(prefix.records.len()).unwrap_or(u32::MAX),
            set: prefix.set.iter().map(|index| index.0).collect(),
        },
        module: module.to_string(),
        created: false,
        dry_run: None,
    };
    if request.dry_run {
        let missing = missing(request.unanswered);
        let run = fork::forward(&api.host, &prefix, replayed, missing).await;
        forked.dry_run = Some(shown(run.map_err(not_forked)?));
        return Ok((StatusCode::OK, Json(forked)));
    }
    let fork = replayed.into_fork(&api.host, &prefix).await.map_err(not_forked)?;
    match api.execute(Command::InvocationFork(Box::new(fork))).await? {
        Reply::Promise { changed, .. } => {
            forked.created = changed;
            let status = if changed { StatusCode::CREATED } else { StatusCode::OK };
            Ok((status, Json(forked)))
        }
        Reply::Refused(refusal) => Err(refused(&new, refusal)),
        other => Err(unexpected(&other)),
    }
}

/// A module that a request names.
#[derive(Debug)]
pub(super) struct ForkModule {
    digest: Digest,
    /// The name, if the request has it instead of the digest.
    alias: Option<String>,
}

impl ForkModule {
    pub(super) async fn find(api: &Api, name: &str) -> Result<Self, ApiError> {
        let digest = api.digest(name).await?;
        let is_alias = api.modules().await?.aliases().iter().any(|alias| alias == name);
        Ok(Self { digest, alias: is_alias.then(|| name.to_owned()) })
    }
}

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
    let run = fork::forward(&api.host, &prefix, replayed, missing(change.unanswered)).await;
    Ok(shown(run.map_err(not_forked)?))
}

/// A fork whose module has repeated the records.
struct PreparedFork {
    prefix: ForkPrefix,
    module: Digest,
    replayed: ReplayedFork,
}

impl PreparedFork {
    async fn new(
        api: &Api,
        mut prefix: ForkPrefix,
        set: &[GivenOutcome],
        module: Option<&ForkModule>,
        new: PromiseId,
    ) -> Result<Self, ApiError> {
        let pinned = prefix.row.task.as_ref().and_then(|task| task.module);
        let (module, alias) = match module {
            None => (pinned.ok_or_else(|| no_module(prefix.row.promise.id()))?, None),
            Some(ForkModule { digest, alias }) => (*digest, alias.as_deref()),
        };
        for given in set {
            prefix.give(given).map_err(not_forked)?;
            fits(api, &prefix, module, given).await?;
        }
        let now = api.host.env.clock.now();
        let origin = ForkedInvocation::of(&prefix.row.promise, new, module, alias, now);
        let replayed = ReplayedFork::new(&api.host, &prefix, origin).await.map_err(not_forked)?;
        Ok(Self { prefix, module, replayed })
    }
}

/// Reads the results of a request.
pub(super) fn given_results(set: &[GivenResult]) -> Result<Vec<GivenOutcome>, ApiError> {
    set.iter().map(given).collect()
}

fn missing(policy: UnansweredPolicy) -> MissingAnswer {
    match policy {
        UnansweredPolicy::Stop => MissingAnswer::Stop,
        UnansweredPolicy::Fail => MissingAnswer::Fail,
        UnansweredPolicy::Null => MissingAnswer::Null,
    }
}

/// Returns the origin of an invocation; `None` if it is not a fork.
pub(super) fn origin(tags: &Tags) -> Option<ForkedFrom> {
    let Stored { of, records, set } = Stored::of(tags)?;
    Some(ForkedFrom { id: of, records, set })
}

fn given(given: &GivenResult) -> Result<GivenOutcome, ApiError> {
    let outcome = match (&given.value, &given.failure) {
        (Some(value), None) => Outcome::Success(Payload::Json(value.to_string())),
        (None, Some(FailureView { code, message, details })) => Outcome::Failure(Failure {
            code: *code,
            message: message.clone(),
            details: details.as_ref().map(|details| Payload::Json(details.to_string())),
        }),
        _ => {
            let reason =
                format!("gives command {} a value or a failure, and one of them", given.command);
            return Err(ApiError::BadField { field: "set", reason });
        }
    };
    Ok(GivenOutcome { command: given.command, outcome })
}

/// Checks that a given value of a call matches the output schema of the called function.
async fn fits(
    api: &Api,
    prefix: &ForkPrefix,
    module: Digest,
    given: &GivenOutcome,
) -> Result<(), ApiError> {
    let Outcome::Success(Payload::Json(text)) = &given.outcome else { return Ok(()) };
    let Some((CommandKind::Call, name)) = prefix.command(given.command) else { return Ok(()) };
    let modules = api.modules().await?;
    let known = modules.find(&module.to_string()).and_then(|entry| entry.function(name));
    let Some(function) = known else { return Ok(()) };
    let value = json::read(text.as_bytes())
        .map_err(|error| ApiError::BadField { field: "set", reason: error.to_string() })?;
    let errors = api.output_misfits(module, function, &value);
    match errors.is_empty() {
        true => Ok(()),
        false => Err(ApiError::BadInput {
            target: format!("the result of command {} (`{name}`)", given.command),
            errors,
        }),
    }
}

fn no_module(id: &PromiseId) -> ApiError {
    ApiError::refused(
        kind::NO_JOURNAL,
        format!("`{id}` runs on no module: only what this host executes is forked"),
    )
}

fn not_forked(error: ForkError) -> ApiError {
    let kind = match error {
        ForkError::Replay(error) => return not_replayed(error),
        ForkError::Impossible(_) => kind::NO_FORK_THERE,
        ForkError::Diverges { ref id, ref report } => {
            let replay = found(id, report);
            let message = replay.divergence.map(|divergence| divergence.message);
            return ApiError::refused(
                kind::DIVERGES,
                format!(
                    "the module does not repeat the first {} records of `{id}`: {}",
                    report.records,
                    message.unwrap_or_default()
                ),
            );
        }
        ForkError::NoSuchCommand { .. } => kind::NO_SUCH_COMMAND,
        ForkError::GivenTwice(_) => kind::GIVEN_TWICE,
        ForkError::CannotHave { .. } => kind::INVALID_RESULT,
    };
    ApiError::refused(kind, error.to_string())
}

/// Returns the first unused id of `{id}-f1`, `{id}-f2`, ….
async fn free(api: &Api, id: &PromiseId) -> Result<PromiseId, ApiError> {
    for number in 1..=NUMBERED {
        let new = PromiseId::new(format!("{id}-f{number}"));
        if api.host.store.read().promise(&new).await?.is_none() {
            return Ok(new);
        }
    }
    Err(ApiError::refused(
        kind::ID_TAKEN,
        format!("`{id}-f1` to `{id}-f{NUMBERED}` are taken: name the id of the new one"),
    ))
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
