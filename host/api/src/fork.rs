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
    value::Tags,
};
use segno_engine::worker::fork::{
    ForkError, ForkPrefix, ForkedInvocation, GivenOutcome, ReplayedFork,
};
use segno_guest::{Failure, Outcome, Payload};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    dry_run,
    model::{FailureView, ForkInvocation, Forked, ForkedFrom, GivenResult, UnansweredPolicy},
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
        let run = dry_run::forward(&api, &prefix, replayed, request.unanswered).await?;
        forked.dry_run = Some(run);
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

/// A fork whose module has repeated the records.
pub(super) struct PreparedFork {
    pub(super) prefix: ForkPrefix,
    module: Digest,
    pub(super) replayed: ReplayedFork,
}

impl PreparedFork {
    pub(super) async fn new(
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

pub(super) fn not_forked(error: ForkError) -> ApiError {
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
pub(super) async fn free(api: &Api, id: &PromiseId) -> Result<PromiseId, ApiError> {
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
