//! Queries of workflows.

use std::time::Duration;

use axum::{Json, extract::State};
use segno_core::json;
use segno_engine::worker::{AskError, ReplayError};
use serde_json::Value;

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegments, UrlQuery},
    handlers::{answer, not_asked, not_begun},
    model::{AskQuery, HandlerKind, QueryAnswer, SendQuery},
    refusals::Refusals,
    updates::{PAUSE, paused},
    wait::DEFAULT_WAIT_MS,
};

/// Sends a query to a workflow in any state: running, waiting, halted, or ended. If it has not
/// begun, the request waits for its beginning. The workflow sees its committed state and changes
/// nothing.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/queries/{name}", tag = "invocations",
    params(
        ("id" = String, Path, description = "The invocation; a slash is written %2F"),
        ("name" = String, Path, description = "The query"),
        AskQuery,
    ),
    responses((status = 200, body = QueryAnswer), Refusals),
)]
pub(crate) async fn get(
    State(api): State<Api>,
    PathSegments((id, name)): PathSegments<(String, String)>,
    UrlQuery(query): UrlQuery<AskQuery>,
) -> Result<Json<QueryAnswer>, ApiError> {
    let input = query.input.as_deref().map_or(Ok(Value::Null), json::parse);
    let input = input.map_err(|error| ApiError::BadField {
        field: "input",
        reason: format!("is not JSON: {error}"),
    })?;
    ask(&api, id, name, SendQuery { input, at: query.at }).await.map(Json)
}

/// Sends a query whose input is too long for a URL.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/queries/{name}", tag = "invocations",
    params(
        ("id" = String, Path, description = "The invocation; a slash is written %2F"),
        ("name" = String, Path, description = "The query"),
    ),
    request_body = SendQuery,
    responses((status = 200, body = QueryAnswer), Refusals),
)]
pub(crate) async fn post(
    State(api): State<Api>,
    PathSegments((id, name)): PathSegments<(String, String)>,
    JsonBody(query, _room): JsonBody<SendQuery>,
) -> Result<Json<QueryAnswer>, ApiError> {
    ask(&api, id, name, query).await.map(Json)
}

async fn ask(
    api: &Api,
    id: String,
    name: String,
    SendQuery { input, at }: SendQuery,
) -> Result<QueryAnswer, ApiError> {
    let id = api.generation(id).await?;
    if at == Some(0) {
        let reason = "is 0: a journal begins with its first record".to_owned();
        return Err(ApiError::BadField { field: "at", reason });
    }
    let row = api.invocation(&id).await?;
    api.check_handler(&row, HandlerKind::Query, &name, &input).await?;
    let what = (HandlerKind::Query, name.as_str());
    let (clock, limit) = (&api.host.env.clock, Duration::from_millis(DEFAULT_WAIT_MS));
    let (began, mut pause) = (clock.elapsed(), PAUSE.0);
    let answered = loop {
        match api.ask(&id, what, &input, at).await {
            Ok(answered) => break answered,
            // The workflow is about to begin, or waits to begin.
            Err(AskError::Replay(ReplayError::NoJournal(..))) if row.promise.is_pending() => {
                if clock.elapsed().saturating_sub(began) >= limit {
                    return Err(not_begun(&id, what, DEFAULT_WAIT_MS));
                }
                pause = paused(api, pause).await;
            }
            Err(error) => return Err(not_asked(error, what)),
        }
    };
    Ok(QueryAnswer {
        id: id.to_string(),
        value: answer(HandlerKind::Query, &name, &answered.outcome)?,
        name,
        records: answered.records,
        journal_len: answered.of,
        module: answered.module.to_string(),
    })
}
