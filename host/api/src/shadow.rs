//! Shadow runs: new code follows live executions on the same events, without effects.

use axum::{Json, extract::State};
use segno_core::time::Millis;
use segno_engine::worker::replay::{CheckedInvocation, Follower};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    check::{is_bad, shown},
    model::{CheckedExecution, ShadowLook, ShadowRequest},
    refusals::Refusals,
};

/// Maximum duration of one request, in milliseconds.
const LONGEST_MS: u64 = 60_000;
/// Polling interval.
const PAUSE: Millis = Millis(1_000);

/// Follows the live executions of a module with other code: replays every journal that grows on the
/// candidate, without effects. Answers with the first differences, or at the end of the wait.
/// Changes nothing, and activates nothing.
#[utoipa::path(
    post, path = "/v1/modules/{module}/shadow", tag = "modules",
    params(("module" = String, Path, description = "The alias by which the executions were called")),
    request_body = ShadowRequest,
    responses((status = 200, body = ShadowLook), Refusals),
)]
pub(crate) async fn shadow(
    State(api): State<Api>,
    PathSegment(module): PathSegment,
    JsonBody(request, _room): JsonBody<ShadowRequest>,
) -> Result<Json<ShadowLook>, ApiError> {
    api.digest(&module).await?;
    let candidate = api.digest(&request.candidate).await?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut follower = Follower::new(module, candidate, processors);
    let clock = &api.host.env.clock;
    let wait = Millis(i64::try_from(request.wait_ms.min(LONGEST_MS)).unwrap_or(i64::MAX));
    let until = clock.now() + wait;
    loop {
        let differs = |checked: CheckedInvocation| -> Option<CheckedExecution> {
            let known = request.known.iter().any(|id| id == checked.row.promise.id().as_str());
            shown(checked, candidate).filter(|shown| is_bad(shown.verdict) && !known)
        };
        let looked = follower.look(&api.host).await?;
        let differences: Vec<_> = looked.into_iter().filter_map(differs).collect();
        let left = until.0.saturating_sub(clock.now().0);
        if !differences.is_empty() || left <= 0 || api.stopping.is_cancelled() {
            return Ok(Json(ShadowLook {
                candidate: candidate.to_string(),
                executions: follower.executions() as u64,
                records: follower.compared(),
                differences,
            }));
        }
        tokio::select! {
            biased;
            () = api.stopping.cancelled() => {}
            () = api.host.env.runtime.sleep(Millis(left.min(PAUSE.0))) => {}
        }
    }
}
