//! Invariants of the nodes of graph runs.

use std::collections::BTreeMap;

use segno_graph::{
    RunProgress,
    progress::RecoverError,
    state::{ClassificationKind, RunOutcome},
};

use super::{Predicate, Violations};
use crate::{
    graph::{GraphRunParameters, NodeRow, NodeState, is_run},
    id::PromiseId,
    promise::{Promise, Settlement, Verdict},
    snapshot::Snapshot,
    value::Text,
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("graph_domain", graph_domain),
    ("graph_causal", graph_causal),
    ("graph_facts_follow_settlements", graph_facts_follow_settlements),
    ("graph_settles_with_its_nodes", graph_settles_with_its_nodes),
    ("graph_history_ends_where_nodes_stand", graph_history_ends_where_nodes_stand),
];

struct GraphRunRows<'a> {
    rows: &'a Snapshot,
    promise: &'a Promise,
    start: GraphRunParameters,
    nodes: BTreeMap<&'a Text, &'a NodeRow>,
}

impl GraphRunRows<'_> {
    fn id(&self) -> &PromiseId {
        self.promise.id()
    }

    fn settlement(&self, id: &PromiseId) -> Option<&Settlement> {
        self.rows.promises.get(id).and_then(Promise::settlement)
    }

    fn recovered(&self) -> Result<RunProgress, RecoverError> {
        self.start.recover(self.nodes.iter().map(|(node, row)| (*node, *row)))
    }
}

/// The runs that have node rows and a readable plan.
fn runs(rows: &Snapshot) -> Vec<GraphRunRows<'_>> {
    let mut nodes: BTreeMap<&PromiseId, BTreeMap<&Text, &NodeRow>> = BTreeMap::new();
    for ((run, node), row) in &rows.graph_nodes {
        nodes.entry(run).or_default().insert(node, row);
    }
    let read = |(id, nodes)| {
        let promise = rows.promises.get(id)?;
        Some(GraphRunRows { rows, promise, start: GraphRunParameters::of(promise).ok()?, nodes })
    };
    nodes.into_iter().filter_map(read).collect()
}

/// Every node row belongs to a node in the plan of a run.
fn graph_domain(rows: &Snapshot) -> Violations {
    let is_of_run = |run: &PromiseId| rows.promises.get(run).is_some_and(is_run);
    let strays = rows.graph_nodes.keys().filter(|(run, _)| !is_of_run(run));
    let mut found: Violations =
        strays.map(|(run, node)| (vec![run.clone()], format!("{node} has no run"))).collect();
    for run in runs(rows) {
        let unknown = |node: &&&Text| run.start.plan.topology().index_of(node).is_none();
        for node in run.nodes.keys().filter(unknown) {
            found.push((vec![run.id().clone()], format!("`{node}` is no node of the plan")));
        }
    }
    found
}

/// A node has begun only after all of its dependencies.
fn graph_causal(rows: &Snapshot) -> Violations {
    let wrong = runs(rows).into_iter().filter_map(|run| match run.recovered() {
        Err(error @ RecoverError::Causal { .. }) => {
            Some((vec![run.id().clone()], error.to_string()))
        }
        Ok(_) | Err(_) => None,
    });
    wrong.collect()
}

/// The row of a node matches its promise. The promises of an ended run may be removed before the
/// run.
fn graph_facts_follow_settlements(rows: &Snapshot) -> Violations {
    let mut found = Violations::new();
    for run in runs(rows) {
        for (node, row) in &run.nodes {
            let id = run.start.promise_of(run.id(), node, row);
            let verdict = run.settlement(&id).map(|settlement| settlement.verdict);
            let exists = rows.promises.contains_key(&id);
            let follows = match row.state {
                NodeState::Pending | NodeState::Skipped => true,
                NodeState::Running | NodeState::Waiting => exists,
                NodeState::Completed => verdict == Some(Verdict::Resolved),
                NodeState::Failed => verdict.is_some_and(|verdict| verdict != Verdict::Resolved),
            };
            if !follows && (exists || run.promise.is_pending()) {
                found.push((
                    vec![run.id().clone(), id],
                    format!("`{node}` is {:?}, its promise {verdict:?}", row.state),
                ));
            }
        }
    }
    found
}

/// The last fact of a node equals its row. Nodes from versions without histories have no facts.
fn graph_history_ends_where_nodes_stand(rows: &Snapshot) -> Violations {
    let mut last: BTreeMap<(&PromiseId, &Text), NodeRow> = BTreeMap::new();
    for (run, node, attempt, state) in rows.graph_facts.keys() {
        let row = NodeRow { state: *state, attempt: *attempt };
        let known = last.entry((run, node)).or_insert(row);
        if row.follows(known) {
            *known = row;
        }
    }
    let wrong = last.into_iter().filter_map(|((run, node), last)| {
        let row = rows.graph_nodes.get(&(run.clone(), node.clone()));
        (row != Some(&last))
            .then(|| (vec![run.clone()], format!("`{node}` is {row:?}, its history says {last:?}")))
    });
    wrong.collect()
}

/// A run that resolved has completed.
fn graph_settles_with_its_nodes(rows: &Snapshot) -> Violations {
    let resolved = runs(rows).into_iter().filter(|run| {
        run.promise.settlement().is_some_and(|settlement| settlement.verdict == Verdict::Resolved)
    });
    let wrong = resolved.filter_map(|run| {
        let step = run.recovered().ok()?.classify();
        (step != ClassificationKind::Settled(RunOutcome::Completed))
            .then(|| (vec![run.id().clone()], format!("it resolved while it is {step:?}")))
    });
    wrong.collect()
}
