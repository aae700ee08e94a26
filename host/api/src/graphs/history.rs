//! The history of a run.

use axum::{Json, extract::State};
use segno_core::graph::{NodeEvent, NodeState, Reset};

use super::look::found;
use crate::{
    Api, ApiError,
    body::{Query, Segment},
    model::{GraphFact, GraphHistory, GraphHistoryQuery, GraphNodeState, GraphReset},
    openapi::Refusals,
};

/// How many facts a page has at most, and without a limit.
const MOST: u32 = 10_000;
const DEFAULT: u32 = 1_000;

/// Reads a page of the facts of a run, in the order in which they were written.
#[utoipa::path(
    get, path = "/v1/graphs/{id}/history", tag = "graphs",
    params(("id" = String, Path, description = "The run; a slash is written %2F"), GraphHistoryQuery),
    responses((status = 200, body = GraphHistory), Refusals),
)]
pub async fn history(
    State(api): State<Api>,
    Segment(id): Segment,
    Query(query): Query<GraphHistoryQuery>,
) -> Result<Json<GraphHistory>, ApiError> {
    let limit = query.limit.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&limit) {
        let reason = format!("is a whole number from 1 to {MOST}");
        return Err(ApiError::BadField { field: "limit", reason });
    }
    let (id, _, start) = found(&api, id).await?;
    let store = api.look().await?;
    let mut events = store.read().graph_history(&id).await?;
    drop(store);
    // Facts of one moment in the order in which one follows from the other.
    let topology = start.plan.topology();
    let depths = topology.depths();
    let depth = |event: &NodeEvent| topology.index_of(&event.node).map(|node| depths[node.at()]);
    events.sort_by_key(|event| (event.fact.at, depth(event)));
    let first = usize::try_from(query.after.unwrap_or_default()).unwrap_or(usize::MAX);
    let last = first.saturating_add(limit as usize);
    let next = (events.len() > last).then_some(last as u64);
    let page = events.into_iter().skip(first).take(limit as usize);
    Ok(Json(GraphHistory { id: id.to_string(), facts: page.map(fact).collect(), next }))
}

fn fact(event: NodeEvent) -> GraphFact {
    let NodeEvent { node, row, fact } = event;
    GraphFact {
        at_ms: fact.at.0,
        node: node.to_string(),
        attempt: row.attempt,
        state: match row.state {
            NodeState::Pending => GraphNodeState::Pending,
            NodeState::Running => GraphNodeState::Running,
            NodeState::Waiting => GraphNodeState::Waiting,
            NodeState::Completed => GraphNodeState::Completed,
            NodeState::Failed => GraphNodeState::Failed,
            NodeState::Skipped => GraphNodeState::Skipped,
        },
        reset: fact.reset.map(|reset| match reset {
            Reset::Cancelled => GraphReset::Cancelled,
            Reset::Failed { .. } => GraphReset::Failed,
        }),
        begins_at_ms: fact.reset.and_then(Reset::begins_at).map(|begins_at| begins_at.0),
    }
}
