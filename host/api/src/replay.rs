//! Replays an invocation, to check that its journal is reproduced.

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId},
    invocation::Divergence,
    promise::TaskStatus,
    reply::Reply,
};
use segno_engine::worker::{
    self, TrapReport,
    replay::{ReplayError, ReplayReport, open_places},
};
use segno_guest::GuestError;

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    model::{
        DivergenceView, FieldDifference, Note, OpenPlaceView, Replay, ReplayRequest, ReplayVerdict,
    },
    problem_kind as kind,
    refusals::Refusals,
    state::{refused, unexpected},
    view,
};

/// Replays an invocation's journal on a module, and reports if every record is reproduced. Changes
/// nothing.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/replay", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    request_body = ReplayRequest,
    responses((status = 200, body = Replay), Refusals),
)]
pub(crate) async fn replay(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(request, _room): JsonBody<ReplayRequest>,
) -> Result<Json<Replay>, ApiError> {
    let id = api.generation(id).await?;
    let module = match &request.module {
        Some(name) => Some(api.digest(name).await?),
        None => None,
    };
    let mut replay = match worker::replay_to(&api.host, &id, module, request.at).await {
        Ok(report) => found(&id, &report),
        Err(ReplayError::Guest { matched, error }) => {
            failed(&api, &id, module, matched, error).await?
        }
        Err(error) => return Err(not_replayed(error)),
    };
    if request.at.is_some() {
        replay.open = open(&api, &id, request.at).await?;
    }
    Ok(Json(replay))
}

/// Returns the commands open after the first records, with the places in the code that issued them.
async fn open(api: &Api, id: &PromiseId, at: Option<u32>) -> Result<Vec<OpenPlaceView>, ApiError> {
    let places = match open_places(&api.host, id, at, None).await {
        Ok(places) => places,
        // The pinned module cannot be run; the replay on another module reports what it can.
        Err(ReplayError::Guest { .. }) => Vec::new(),
        Err(error) => return Err(not_replayed(error)),
    };
    let shown = places.into_iter().map(|place| OpenPlaceView {
        index: place.index.0,
        command: place.kind.name().to_owned(),
        promise: place.promise.map(|promise| promise.to_string()),
        details: place.stack.details(),
    });
    Ok(shown.collect())
}

/// Converts the reason why nothing could be replayed.
pub(super) fn not_replayed(error: ReplayError) -> ApiError {
    let kind = match error {
        ReplayError::NotFound(id) => return ApiError::UnknownInvocation(id.to_string()),
        ReplayError::Store(error) => return error.into(),
        ReplayError::NoJournal(..) => kind::NO_JOURNAL,
        ReplayError::NoSuchRecord { .. } => kind::NO_SUCH_RECORD,
        ReplayError::Damaged(..) => kind::JOURNAL_DAMAGED,
        ReplayError::Guest { .. } => kind::REPLAY_FAILED,
    };
    ApiError::refused(kind, error.to_string())
}

/// Converts a report for the answer.
pub(super) fn found(id: &PromiseId, report: &ReplayReport) -> Replay {
    Replay {
        id: id.to_string(),
        module: report.module.to_string(),
        verdict: match report.is_identical() {
            true => ReplayVerdict::Identical,
            false => ReplayVerdict::Diverged,
        },
        matched: report.matched,
        journal_len: report.records,
        running: report.running,
        divergence: report.divergence.as_ref().map(|divergence| shown(divergence, report)),
        open: Vec::new(),
        error: None,
        note: report.note.as_ref().map(view::note),
    }
}

fn shown(divergence: &Divergence, report: &ReplayReport) -> DivergenceView {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(absent)".to_owned());
    let fields = divergence.differences().iter().map(|difference| FieldDifference {
        field: difference.field.to_string(),
        recorded: value(&difference.recorded),
        asked: value(&difference.asked),
    });
    DivergenceView {
        seq: Some(divergence.seq()),
        index: divergence.command().map(|index| index.0),
        message: format!(
            "the replay leaves the journal at record {}\n  recorded: {}\n  asked:    {}",
            divergence.seq(),
            divergence.recorded(),
            divergence.asked()
        ),
        fields: fields.collect(),
        details: places(report),
    }
}

/// The stack at the difference, and the frames of the recorded command as `recorded_frames`.
fn places(report: &ReplayReport) -> Option<serde_json::Value> {
    let recorded = report.recorded_stack.details();
    let recorded = recorded.and_then(|recorded| recorded.get("frames").cloned());
    let mut details = report.stack.details();
    if let Some(frames) = recorded {
        details.get_or_insert_with(|| serde_json::json!({}))["recorded_frames"] = frames;
    }
    details
}

/// Builds the report of a guest that failed during the replay, with the number of matched records.
async fn failed(
    api: &Api,
    id: &PromiseId,
    module: Option<Digest>,
    matched: u32,
    error: GuestError,
) -> Result<Replay, ApiError> {
    let found = match api.execute(Command::TaskGet { id: id.clone() }).await? {
        Reply::Task(found) => *found,
        Reply::Refused(refusal) => return Err(refused(id, refusal)),
        other => return Err(unexpected(&other)),
    };
    let module = module.or(found.task.module);
    let running = found.task.status() != TaskStatus::Fulfilled;
    Ok(Replay { running, ..failure(id, module, (matched, found.head.len), &error) })
}

/// Builds the report of a guest that failed after `matched` of `of` records, in an ended execution.
pub(super) fn failure(
    id: &PromiseId,
    module: Option<Digest>,
    (matched, of): (u32, u32),
    error: &GuestError,
) -> Replay {
    Replay {
        id: id.to_string(),
        module: module.map(|digest| digest.to_string()).unwrap_or_default(),
        verdict: ReplayVerdict::Failed,
        matched,
        journal_len: of,
        running: false,
        divergence: None,
        open: Vec::new(),
        error: Some(error.message()),
        note: Some(Note {
            kind: "trap".to_owned(),
            message: error.message(),
            details: TrapReport::new(error.backtrace(), None).details(),
        }),
    }
}
