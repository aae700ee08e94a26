//! The history of a run.

use axum::{Json, extract::State};
use segno_core::graph::{NodeEvent, NodeState, ResetReason};
use segno_graph::Topology;

use super::look::found;
use crate::{
    Api, ApiError,
    body::{PathSegment, UrlQuery},
    model::{GraphFact, GraphHistory, GraphHistoryQuery, GraphNodeState, GraphReset},
    refusals::Refusals,
};

/// Maximum number of facts on a page, and the default.
const MOST: u32 = 10_000;
const DEFAULT: u32 = 1_000;

/// Reads a page of the facts of a run, in the order in which they were written.
#[utoipa::path(
    get, path = "/v1/graphs/{id}/history", tag = "graphs",
    params(("id" = String, Path, description = "The run; a slash is written %2F"), GraphHistoryQuery),
    responses((status = 200, body = GraphHistory), Refusals),
)]
pub(crate) async fn history(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<GraphHistoryQuery>,
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
    sort(&mut events, start.plan.topology());
    let first = usize::try_from(query.after.unwrap_or_default()).unwrap_or(usize::MAX);
    let last = first.saturating_add(limit as usize);
    let next = (events.len() > last).then_some(last as u64);
    let page = events.into_iter().skip(first).take(limit as usize);
    Ok(Json(GraphHistory { id: id.to_string(), facts: page.map(fact).collect(), next }))
}

/// Sorts facts in the order in which they were written. Facts of one claim have times of one clock;
/// at the same time, a node follows its predecessors.
fn sort(events: &mut [NodeEvent], topology: &Topology) {
    let depths = topology.depths();
    let depth = |event: &NodeEvent| topology.index_of(&event.node).map(|node| depths[node.at()]);
    events.sort_by_key(|event| (event.fact.claim, event.fact.at, depth(event)));
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
            ResetReason::Cancelled => GraphReset::Cancelled,
            ResetReason::Failed { .. } => GraphReset::Failed,
        }),
        begins_at_ms: fact.reset.and_then(ResetReason::begins_at).map(|begins_at| begins_at.0),
    }
}

#[cfg(test)]
mod tests {
    use segno_core::{
        graph::{NodeFact, NodeRow},
        id::Version,
        time::Timestamp,
    };
    use segno_graph::plan::Plan;

    use super::*;

    #[test]
    fn a_clock_that_was_set_back_between_two_claims_changes_no_order() {
        let plan = r#"{"nodes": {"b": {"call": "x"}, "a": {"call": "x", "needs": ["b"]}}}"#;
        let plan = Plan::from_json(plan).and_then(|plan| plan.check()).expect("a plan");
        let event = |node: &str, claim, at| NodeEvent {
            node: node.into(),
            row: NodeRow { state: NodeState::Running, attempt: 0 },
            fact: NodeFact { claim: Version(claim), at: Timestamp(at), reset: None },
        };
        let written = [event("b", 1, 9), event("a", 1, 9), event("a", 2, 4), event("b", 2, 5)];
        let mut sorted = written.clone();
        sorted.reverse();
        sort(&mut sorted, plan.topology());
        assert_eq!(sorted, written);
    }
}
