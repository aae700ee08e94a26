//! Runs of random plans, started directly or by a workflow.

use std::collections::{BTreeMap, BTreeSet};

use segno_api::model::{
    FailureView, GraphFact, GraphHistoryQuery, InvocationOutcome, InvocationState, StartGraph,
};
use serde_json::{Value, json};

use super::{Flow, MODULE};
use crate::chaos::{
    oracle::{self, GraphEnd, NodeRecord, NodeRole},
    outside::Hopeless,
};

/// Number of effects of a node that runs a workflow.
const EFFECTS: u32 = 2;

/// A node of a plan.
struct PlannedNode {
    role: NodeRole,
    needs: BTreeSet<usize>,
    what: Value,
    /// True for a request, whose output has the receipt as its body.
    is_request: bool,
    /// Name of the node's effects in the ledger.
    flow: String,
}

impl Flow<'_> {
    pub(super) async fn planned(&self) -> Result<InvocationOutcome, Hopeless> {
        let nodes = self.nodes();
        let fail_fast = self.outside.draw(0, 1) == 0;
        let run = match self.outside.draw(0, 2) {
            0 => self.by_workflow(plan(&nodes, fail_fast)).await?,
            _ => self.by_request(plan(&nodes, fail_fast)).await?,
        };
        let end = self.end(&self.id).await?;
        let facts = self.facts(&run).await?;
        let failed = failed_nodes(end.failure.as_ref());
        let records: Vec<NodeRecord> = nodes.iter().map(|node| self.record(node)).collect();
        let graph_end =
            GraphEnd { fail_fast, failed: failed.clone(), facts: GraphEnd::facts(&facts) };
        if let Err(wrong) = oracle::graph(&records, &graph_end) {
            self.complain(&format!("{wrong}: {} {facts:?}", plan(&nodes, fail_fast)));
        }
        self.ended_well(&nodes, &end, &failed);
        Ok(end)
    }

    async fn by_request(&self, plan: Value) -> Result<String, Hopeless> {
        let (id, module) = (Some(self.id.clone()), Some(MODULE.to_owned()));
        let start = StartGraph { id, plan, module, ..StartGraph::default() };
        let what = format!("starting the run `{}`", self.id);
        self.outside.ask(&what, &[], async |host| host.start_graph(&start).await).await?;
        Ok(self.id.clone())
    }

    /// Starts the plan by a workflow. The run is the workflow's first child.
    async fn by_workflow(&self, plan: Value) -> Result<String, Hopeless> {
        self.start(&self.id, "planned", plan).await?;
        Ok(format!("{}/0", self.id))
    }

    /// Random nodes. Each needs some of the earlier ones, and at most one fails.
    fn nodes(&self) -> Vec<PlannedNode> {
        let count = self.outside.draw(3, 8) as usize;
        let declined = self.outside.draw(0, 2 * count as u64) as usize;
        let node = |number: usize| {
            let needs = (0..number).filter(|_| self.outside.draw(0, 2) == 0).collect();
            let flow = format!("{}.n{number}", self.id);
            let mut effect = self.place(&flow);
            effect["step"] = 0.into();
            let request = json!({
                "method": "POST",
                "url": format!("{}/effects", self.outside.ledger),
                "body": effect,
            });
            let kind = if number == declined { 6 } else { self.outside.draw(0, 5) };
            let (role, what) = match kind {
                0 => (NodeRole::Repeated, json!({ "call": "by_activity", "input": effect })),
                1 => (NodeRole::Repeated, json!({ "http": request })),
                2 => {
                    let mut plan = self.place(&flow);
                    plan["effects"] = EFFECTS.into();
                    (NodeRole::Repeated, json!({ "call": "effects", "input": plan }))
                }
                3 => (NodeRole::Silent, json!({ "sleep": "50ms" })),
                4 => (NodeRole::Once, json!({ "http": request, "once": "output" })),
                5 => (
                    NodeRole::Once,
                    json!({ "call": "by_activity", "input": effect, "once": true }),
                ),
                _ => {
                    effect["refuse"] = 422.into();
                    (NodeRole::Declined, json!({ "call": "by_activity", "input": effect }))
                }
            };
            PlannedNode { role, needs, what, is_request: matches!(kind, 1 | 4), flow }
        };
        (0..count).map(node).collect()
    }

    fn record(&self, node: &PlannedNode) -> NodeRecord {
        let effects = self.ledger.effects(&node.flow);
        let receipts: Vec<u64> = effects.values().filter_map(|seen| seen.receipt).collect();
        let wanted = match node.what["call"] == "effects" {
            true => EFFECTS as usize,
            false => 1,
        };
        let is_whole = node.role != NodeRole::Repeated || receipts.len() == wanted;
        NodeRecord {
            role: node.role,
            needs: node.needs.clone(),
            acted: receipts
                .iter()
                .min()
                .copied()
                .zip(receipts.iter().max().copied())
                .map(|(first, last)| (first, if is_whole { last } else { u64::MAX })),
            requests: effects.values().map(|seen| seen.requests).max().unwrap_or_default(),
        }
    }

    async fn facts(&self, run: &str) -> Result<Vec<GraphFact>, Hopeless> {
        let what = format!("the history of `{run}`");
        let query = GraphHistoryQuery::default();
        let request = async |host: &segno_client::Client| host.graph_history(run, &query).await;
        Ok(self.outside.ask(&what, &[], request).await?.facts)
    }

    /// Checks the outcome of the run. It must fail if a node failed, and otherwise have the outputs
    /// of all nodes that no other node needs.
    fn ended_well(&self, nodes: &[PlannedNode], end: &InvocationOutcome, failed: &BTreeSet<usize>) {
        let may_fail =
            |number: &usize| matches!(nodes[*number].role, NodeRole::Once | NodeRole::Declined);
        if let Some(number) = failed.iter().find(|number| !may_fail(number)) {
            self.complain(&format!("n{number} failed: {:?}", end.failure));
        }
        let must_fail = nodes.iter().any(|node| node.role == NodeRole::Declined);
        let state = match failed.is_empty() {
            true => InvocationState::Resolved,
            false => InvocationState::Rejected,
        };
        if end.state != state || must_fail && failed.is_empty() {
            self.complain(&format!(
                "it is {}, and {failed:?} failed: {:?}",
                end.state, end.failure
            ));
        }
        let Some(output) = &end.output else { return };
        let outputs: BTreeMap<String, Value> =
            serde_json::from_value(output.clone()).unwrap_or_default();
        let is_needed = |number| nodes.iter().any(|node| node.needs.contains(&number));
        for number in (0..nodes.len()).filter(|number| !is_needed(*number)) {
            let output = outputs.get(&format!("n{number}"));
            if !output.is_some_and(|output| self.is_output(&nodes[number], output)) {
                self.complain(&format!("the output of n{number} is {output:?}"));
            }
        }
    }

    fn is_output(&self, node: &PlannedNode, output: &Value) -> bool {
        let receipts = self.ledger.receipts(&node.flow);
        let unknown = node.role == NodeRole::Once && output.get("unknown").is_some();
        let right = match (node.role, node.is_request) {
            (NodeRole::Silent, _) => output.is_null(),
            (_, true) => {
                let body = output["body"].as_str().and_then(|body| body.parse::<u64>().ok());
                output["status"] == 200 && receipts == Vec::from_iter(body)
            }
            (_, false) if node.what["call"] == "effects" => *output == json!(receipts),
            (_, false) => json!([output]) == json!(receipts),
        };
        unknown || right
    }
}

fn plan(nodes: &[PlannedNode], fail_fast: bool) -> Value {
    let named = nodes.iter().enumerate().map(|(number, node)| {
        let mut what = node.what.clone();
        let needs: Vec<_> = node.needs.iter().map(|need| format!("n{need}")).collect();
        what["needs"] = json!(needs);
        (format!("n{number}"), what)
    });
    let nodes: serde_json::Map<String, Value> = named.collect();
    let on_failure = if fail_fast { "fail-fast" } else { "drain" };
    json!({ "nodes": nodes, "on_failure": on_failure, "max_parallel": 3 })
}

/// The failed nodes, from the details of the run's failure.
fn failed_nodes(failure: Option<&FailureView>) -> BTreeSet<usize> {
    let details = failure.and_then(|failure| failure.details.as_ref());
    let failed = details.and_then(|details| details["failed"].as_object());
    let names = failed.into_iter().flat_map(|failed| failed.keys());
    names.filter_map(|name| name.strip_prefix('n')?.parse().ok()).collect()
}
