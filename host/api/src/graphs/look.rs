//! The state of a run.

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use segno_core::{
    graph::{GraphRunParameters, NodeRow, NodeState},
    id::PromiseId,
    promise::Promise,
    tags,
    value::Text,
};
use segno_graph::{
    NodeIndex,
    plan::{CheckedPlan, FunctionTarget, NodeAction, SubGraph},
    progress::Status,
    state::FailurePolicy,
};
use segno_store::PromiseRow;

use super::start::not_a_run;
use crate::{
    Api, ApiError,
    body::{PathSegment, UrlQuery},
    model::{GraphNode, GraphNodeState, GraphQuery, GraphRun},
    refusals::Refusals,
    state::promise_id,
    view,
};

/// Maximum number of nodes on a page, and the default.
const MOST: u32 = 10_000;
const DEFAULT: u32 = 1_000;

/// Reads the state of a run, and a page of its nodes.
#[utoipa::path(
    get, path = "/v1/graphs/{id}", tag = "graphs",
    params(("id" = String, Path, description = "The run; a slash is written %2F"), GraphQuery),
    responses((status = 200, body = GraphRun), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<GraphQuery>,
) -> Result<Json<GraphRun>, ApiError> {
    let limit = query.limit.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&limit) {
        let reason = format!("is a whole number from 1 to {MOST}");
        return Err(ApiError::BadField { field: "limit", reason });
    }
    let (id, row, start) = found(&api, id).await?;
    let store = api.look().await?;
    let rows = store.read().graph_nodes(&id).await?;
    let ended = !row.promise.is_pending();
    let RunNodeStates { states, promises } = RunNodeStates::of(&id, &start, &rows, ended)?;
    let topology = start.plan.topology();
    let first = match &query.after {
        None => 0,
        Some(after) => topology
            .nodes()
            .position(|node| topology.name(node).as_str() > after.as_str())
            .unwrap_or(topology.len()),
    };
    let page: Vec<NodeIndex> = topology.nodes().skip(first).take(limit as usize).collect();
    let ids: Vec<PromiseId> = page.iter().filter_map(|node| promises.get(node).cloned()).collect();
    let found = store.read().promises(&ids).await?.into_iter().flatten();
    drop(store);
    let found: BTreeMap<PromiseId, Promise> =
        found.map(|row| (row.promise.id().clone(), row.promise)).collect();
    let depths = topology.depths();
    let attempts: BTreeMap<&str, u32> =
        rows.iter().map(|(node, row)| (node.as_str(), row.attempt)).collect();
    let mut counts = BTreeMap::new();
    for state in &states {
        *counts.entry(*state).or_insert(0) += 1;
    }
    let nodes = page.iter().map(|node| {
        let name = topology.name(*node);
        let promise = promises.get(node).and_then(|id| found.get(id));
        let needs =
            topology.predecessors(*node).iter().map(|need| topology.name(*need).to_string());
        GraphNode {
            name: name.to_string(),
            what: what(&start.plan, *node),
            needs: needs.collect(),
            layer: depths[node.at()],
            state: states[node.at()],
            attempt: attempts.get(name.as_str()).copied().unwrap_or_default(),
            promise: promise.map(|promise| promise.id().to_string()),
            started_at_ms: promise.map(|promise| promise.spec.created_at.0),
            settled_at_ms: promise
                .and_then(|promise| promise.settlement())
                .map(|settlement| settlement.settled_at.0),
            failure: promise
                .filter(|_| states[node.at()] == GraphNodeState::Failed)
                .and_then(view::failure),
        }
    });
    let nodes: Vec<GraphNode> = nodes.collect();
    let is_last = first + nodes.len() >= topology.len();
    let next = nodes.last().filter(|_| !is_last).map(|node| node.name.clone());
    let task = row.task.as_ref();
    let outcome = task.map(|task| view::outcome(&row.promise, task));
    let outcome = outcome.ok_or_else(|| ApiError::UnknownInvocation(id.to_string()))?;
    Ok(Json(GraphRun {
        id: id.to_string(),
        name: start.plan.name().map(str::to_owned),
        digest: start.plan.digest_text(),
        state: outcome.state,
        module: row.promise.spec.tags.get(tags::MODULE).cloned(),
        max_parallel: start.plan.max_parallel(),
        fail_fast: start.plan.on_failure() == FailurePolicy::FailFast,
        continues: start.continues.as_ref().map(ToString::to_string),
        created_at_ms: outcome.created_at_ms,
        settled_at_ms: outcome.settled_at_ms,
        output: outcome.output,
        failure: outcome.failure,
        counts,
        nodes,
        next,
    }))
}

/// Reads the plan of a run, in its canonical form.
#[utoipa::path(
    get, path = "/v1/graphs/{id}/plan", tag = "graphs",
    params(("id" = String, Path, description = "The run; a slash is written %2F")),
    responses((status = 200, body = serde_json::Value, description = "The plan"), Refusals),
)]
pub(crate) async fn plan(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Response, ApiError> {
    let (_, _, start) = found(&api, id).await?;
    let plan = start.plan.canonical();
    Ok(([(header::CONTENT_TYPE, "application/json")], plan).into_response())
}

pub(super) async fn found(
    api: &Api,
    id: String,
) -> Result<(PromiseId, PromiseRow, GraphRunParameters), ApiError> {
    let id = promise_id(id)?;
    let row = api.invocation(&id).await?;
    let start =
        GraphRunParameters::of(&row.promise).map_err(|error| not_a_run(&id, &error.to_string()))?;
    Ok((id, row, start))
}

/// States of a run's nodes, by index, and promises of the started ones.
struct RunNodeStates {
    states: Vec<GraphNodeState>,
    promises: BTreeMap<NodeIndex, PromiseId>,
}

impl RunNodeStates {
    fn of(
        id: &PromiseId,
        start: &GraphRunParameters,
        rows: &[(Text, NodeRow)],
        ended: bool,
    ) -> Result<Self, ApiError> {
        let topology = start.plan.topology();
        let run = start.recover(rows.iter().map(|(node, row)| (node, row)));
        let run = run.map_err(|error| ApiError::Internal(error.to_string()))?;
        let stored: BTreeMap<&str, NodeRow> =
            rows.iter().map(|(node, row)| (node.as_str(), *row)).collect();
        let ready: BTreeSet<NodeIndex> = run.frontier().into_iter().collect();
        let mut promises = BTreeMap::new();
        let state = |node: NodeIndex| {
            let name = topology.name(node).as_str();
            let row = stored.get(name);
            if let Some(row) = row.filter(|row| row.state != NodeState::Skipped) {
                promises.insert(node, start.promise_of(id, name, row));
                if row.state == NodeState::Running && !ended {
                    return GraphNodeState::Running;
                }
            }
            match run.status(node) {
                Status::Completed => GraphNodeState::Completed,
                Status::Skipped => GraphNodeState::Skipped,
                Status::Failed if row.is_some_and(|row| row.state == NodeState::Failed) => {
                    GraphNodeState::Failed
                }
                Status::Failed => GraphNodeState::NotRun,
                Status::Pending | Status::Running | Status::Waiting if ended => {
                    GraphNodeState::NotRun
                }
                Status::Waiting => GraphNodeState::Waiting,
                Status::Pending | Status::Running if ready.contains(&node) => GraphNodeState::Ready,
                Status::Pending | Status::Running => GraphNodeState::Pending,
            }
        };
        let states = topology.nodes().map(state).collect();
        Ok(Self { states, promises })
    }
}

/// Short description of a node's action.
fn what(plan: &CheckedPlan, node: NodeIndex) -> String {
    match &plan.node(node).kind {
        NodeAction::Call(FunctionTarget::Own(function) | FunctionTarget::Module(function)) => {
            format!("call {}", function.trim_start_matches("wasm://"))
        }
        NodeAction::Call(FunctionTarget::Service(address)) => {
            format!("call {}", address.trim_start_matches("restate://"))
        }
        NodeAction::Call(FunctionTarget::Worker { address, function }) => {
            format!("call {function} at {address}")
        }
        NodeAction::Http(http) => {
            format!("http {} {}", http.method, http.url.as_str().unwrap_or("…"))
        }
        NodeAction::Sleep(length) => format!("sleep {}", humantime::format_duration(*length)),
        NodeAction::Promise => "promise".to_owned(),
        NodeAction::Signal(name) => format!("signal {name}"),
        NodeAction::Graph(SubGraph::Plan(plan)) => match plan.topology().len() {
            1 => "graph of 1 node".to_owned(),
            nodes => format!("graph of {nodes} nodes"),
        },
        NodeAction::Graph(SubGraph::Offered(name)) => format!("graph {name}"),
    }
}
