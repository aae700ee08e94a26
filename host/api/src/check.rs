//! Checks of a module against the journals of unfinished executions, before the module runs
//! anything.

use axum::{Json, extract::State};
use segno_core::id::Digest;
use segno_engine::worker::replay::{
    CandidateVerdict, CheckedInvocation, CostChange, CostMeter, ReplayError, check as replayed,
};
use segno_guest::{Cost, GuestError};
use segno_store::{InvocationFilter, InvocationRow};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    model::{
        CheckPage, CheckRequest, CheckVerdict, CheckedExecution, CostComparison, Replay, ReplayCost,
    },
    page::{self, PageSize},
    problem_kind as kind,
    refusals::Refusals,
    replay::{failure, found},
    view,
};

/// Number of executions on a page.
const CHECKED: PageSize = PageSize { usual: 64, largest: 1_000 };
/// Maximum number of executions examined for a page: most may have ended.
const LOOKED_AT: usize = 20_000;
/// Number of executions read from the store in one go.
const LISTED: u32 = 1_000;

/// Replays the unfinished executions of a module on another one, in pages, newest first. The replay
/// changes nothing, has no external effects, and activates nothing. Repeating every record proves
/// the past of an execution only: no record shows what the code does next.
#[utoipa::path(
    post, path = "/v1/modules/{module}/check", tag = "modules",
    params(("module" = String, Path, description = "The alias by which the executions were called")),
    request_body = CheckRequest,
    responses((status = 200, body = CheckPage), Refusals),
)]
pub(crate) async fn check(
    State(api): State<Api>,
    PathSegment(module): PathSegment,
    JsonBody(request, _room): JsonBody<CheckRequest>,
) -> Result<Json<CheckPage>, ApiError> {
    let limit = CHECKED.of(request.limit)? as usize;
    let after = request.after.as_deref().map(page::cursor).transpose()?;
    api.digest(&module).await?;
    let candidate = api.digest(&request.candidate).await?;
    let chosen = choose(&api, module, after, request.ended, limit).await?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let checked = replayed(&api.host, chosen.rows, candidate, processors).await?;
    let costs = costs(&api, &checked, candidate, request.costs).await?;
    let shown = |(checked, cost): (CheckedInvocation, Option<CostChange>)| {
        let shown = shown(checked, candidate)?;
        Some(CheckedExecution { cost: cost.map(comparison), ..shown })
    };
    Ok(Json(CheckPage {
        candidate: candidate.to_string(),
        items: checked.into_iter().zip(costs).filter_map(shown).collect(),
        ended: chosen.ended_left,
        next: chosen.next.map(|cursor| cursor.to_string()),
    }))
}

/// The executions selected for a page.
struct CheckSelection {
    rows: Vec<InvocationRow>,
    ended_left: u32,
    next: Option<i64>,
}

/// Selects unfinished executions, and up to `ended` ended ones, from the module's executions after
/// `after`.
async fn choose(
    api: &Api,
    module: String,
    after: Option<i64>,
    ended: u32,
    limit: usize,
) -> Result<CheckSelection, ApiError> {
    let listed = u32::try_from(limit).unwrap_or(LISTED).min(LISTED);
    let mut filter =
        InvocationFilter { module: Some(module), after, limit: listed, ..Default::default() };
    let mut chosen = CheckSelection { rows: Vec::new(), ended_left: ended, next: None };
    let mut looked_at = 0;
    loop {
        let store = api.look().await?;
        let page = store.read().list(&filter).await?;
        drop(store);
        looked_at += page.items.len();
        for row in page.items {
            let ended = row.promise.settlement().is_some();
            if ended && chosen.ended_left == 0 {
                continue;
            }
            chosen.ended_left -= u32::from(ended);
            chosen.rows.push(row);
        }
        chosen.next = page.next;
        filter.after = page.next;
        // A listing is not split, so a page may have nearly twice the requested number.
        if page.next.is_none() || chosen.rows.len() >= limit || looked_at >= LOOKED_AT {
            return Ok(chosen);
        }
    }
}

/// Measures replay costs of the first `count` executions that repeat every record.
async fn costs(
    api: &Api,
    checked: &[CheckedInvocation],
    candidate: Digest,
    count: u32,
) -> Result<Vec<Option<CostChange>>, ApiError> {
    let (mut costs, mut left, mut meter) = (Vec::new(), count, None);
    for CheckedInvocation { row, verdict } in checked {
        let report = match verdict {
            CandidateVerdict::Same(report) if left > 0 => report,
            _ => {
                costs.push(None);
                continue;
            }
        };
        let meter = match &meter {
            Some(meter) => meter,
            None => meter.insert(CostMeter::new(&api.host).map_err(not_counted)?),
        };
        let compared = meter.compare(row.promise.id(), report.records, candidate).await;
        costs.push(match compared {
            Ok(change) => change,
            Err(ReplayError::Store(error)) => return Err(error.into()),
            Err(ReplayError::Guest { error, .. }) => return Err(not_counted(error)),
            // The execution was removed meanwhile, or its journal was removed with its end.
            Err(_) => None,
        });
        left -= 1;
    }
    Ok(costs)
}

fn not_counted(error: GuestError) -> ApiError {
    ApiError::refused(
        kind::NOT_COUNTED,
        format!(
            "what replays cost cannot be counted: {}; ask with `costs` 0 for the rest",
            error.message()
        ),
    )
}

fn comparison(change: CostChange) -> CostComparison {
    let shown = |cost: Cost| ReplayCost {
        instructions: cost.instructions,
        memory_bytes: cost.memory_bytes,
    };
    CostComparison { own: shown(change.own), candidate: shown(change.other) }
}

/// Returns true if an execution with this verdict cannot continue on the candidate.
pub(super) fn is_bad(verdict: CheckVerdict) -> bool {
    matches!(verdict, CheckVerdict::Diverges | CheckVerdict::Fails | CheckVerdict::Damaged)
}

/// Converts a check result for the answer; `None` if the execution was removed.
pub(super) fn shown(checked: CheckedInvocation, candidate: Digest) -> Option<CheckedExecution> {
    let CheckedInvocation { row, verdict } = checked;
    let summary = view::summary(&row);
    let mut shown = CheckedExecution {
        function: summary.function.unwrap_or(summary.target),
        state: summary.state,
        module: row.task.module.map(|digest| digest.to_string()),
        records: summary.journal_len,
        verdict: CheckVerdict::Same,
        replay: None,
        cost: None,
        reason: None,
        id: summary.id,
    };
    match verdict {
        CandidateVerdict::Gone => return None,
        CandidateVerdict::There => shown.verdict = CheckVerdict::There,
        CandidateVerdict::Same(report) => shown.records = report.records,
        CandidateVerdict::NotStarted => shown.verdict = CheckVerdict::NotStarted,
        CandidateVerdict::Diverges(report) => {
            shown.verdict = CheckVerdict::Diverges;
            shown.records = report.records;
            shown.replay = Some(found(row.promise.id(), &report));
        }
        CandidateVerdict::Fails { matched, error } => {
            shown.verdict = CheckVerdict::Fails;
            let places = (matched, summary.journal_len);
            let failure = failure(row.promise.id(), Some(candidate), places, &error);
            shown.replay = Some(Replay { running: row.promise.is_pending(), ..failure });
        }
        CandidateVerdict::Incomparable(why) => {
            (shown.verdict, shown.reason) = (CheckVerdict::Incomparable, Some(why));
        }
        CandidateVerdict::Damaged(why) => {
            (shown.verdict, shown.reason) = (CheckVerdict::Damaged, Some(why));
        }
    }
    Some(shown)
}
