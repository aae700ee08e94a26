//! The invariants of a recovered state.

use std::collections::BTreeSet;

use crate::{
    name::NodeName,
    relation::Relation,
    rules::ready_nodes,
    state::{GraphState, NodeStatus},
};

/// An invariant that a state violates, with the node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphViolation {
    /// Violated: statuses and outputs belong to nodes of the graph.
    #[error("graph_domain: `{node}` is no node of the graph, or has no status")]
    Domain {
        /// The node without a status, or the name that is not a node.
        node: NodeName,
    },
    /// Violated: a node has an output exactly if its status owns one.
    #[error(
        "graph_outputs: `{node}` is {status:?}, with an output it should not have or without one"
    )]
    Outputs {
        /// The node with a wrong or missing output.
        node: NodeName,
        /// The status of the node.
        status: NodeStatus,
    },
    /// Violated: no node claims to run.
    #[error("graph_normal: `{node}` is still {status:?}")]
    Normal {
        /// The node that claims to run.
        node: NodeName,
        /// The status of the node.
        status: NodeStatus,
    },
    /// Violated: every descendant of a failed node that has not started has failed.
    #[error("graph_closed: `{node}` is {status:?} behind the failed `{failed}`")]
    Closed {
        /// The node that should have failed.
        node: NodeName,
        /// The status of the node.
        status: NodeStatus,
        /// The failed node before it.
        failed: NodeName,
    },
    /// Violated: the frontier matches its definition.
    #[error("graph_ready: `{node}` is wrongly in the frontier, or wrongly not")]
    Ready {
        /// The node that is wrongly in the frontier or missing from it.
        node: NodeName,
    },
    /// Violated: all predecessors of a started node let it start.
    #[error("graph_causal: `{node}` is {status:?} although `{predecessor}` is {blocking:?}")]
    Causal {
        /// The node that was started.
        node: NodeName,
        /// The status of the node.
        status: NodeStatus,
        /// The predecessor that does not unblock.
        predecessor: NodeName,
        /// The status of that predecessor.
        blocking: NodeStatus,
    },
}

/// Checks a recovered state: normalised, closed and schedulable.
///
/// # Errors
/// The first [`GraphViolation`], in the order of the rules and of the nodes.
pub fn well_formed<V>(relation: &Relation, state: &GraphState<V>) -> Result<(), GraphViolation> {
    domain(relation, state)?;
    for node in relation.nodes() {
        let status = state.status(node).clone();
        if state.output.contains_key(node) != status.owns_output() {
            return Err(GraphViolation::Outputs { node: node.clone(), status });
        }
    }
    for node in relation.nodes() {
        let status = state.status(node).clone();
        if matches!(status, NodeStatus::Running | NodeStatus::Interrupted) {
            return Err(GraphViolation::Normal { node: node.clone(), status });
        }
    }
    closed(relation, state)?;
    frontier(relation, state)
}

/// Checks that every node that unblocks or waits could have started: all its predecessors unblock.
/// Stored rows satisfy this because a fact is accepted only for a node in the frontier.
///
/// # Errors
/// [`GraphViolation::Causal`].
pub fn causal<V>(relation: &Relation, state: &GraphState<V>) -> Result<(), GraphViolation> {
    let begun = |status: &NodeStatus| status.unblocks() || matches!(status, NodeStatus::Waiting(_));
    for node in relation.nodes().filter(|node| begun(state.status(node))) {
        for predecessor in relation.predecessors(node) {
            let blocking = state.status(predecessor);
            if !blocking.unblocks() {
                return Err(GraphViolation::Causal {
                    node: node.clone(),
                    status: state.status(node).clone(),
                    predecessor: predecessor.clone(),
                    blocking: blocking.clone(),
                });
            }
        }
    }
    Ok(())
}

fn domain<V>(relation: &Relation, state: &GraphState<V>) -> Result<(), GraphViolation> {
    let nodes: BTreeSet<&NodeName> = relation.nodes().collect();
    let known: BTreeSet<&NodeName> = state.status.keys().collect();
    let with_output: BTreeSet<&NodeName> = state.output.keys().collect();
    let wrong = nodes.symmetric_difference(&known).chain(with_output.difference(&nodes)).min();
    match wrong {
        None => Ok(()),
        Some(node) => Err(GraphViolation::Domain { node: (*node).clone() }),
    }
}

fn closed<V>(relation: &Relation, state: &GraphState<V>) -> Result<(), GraphViolation> {
    for failed in relation.nodes().filter(|node| *state.status(node) == NodeStatus::Failed) {
        for node in relation.descendants([failed]) {
            let status = state.status(node).clone();
            if status.is_propagatable() {
                return Err(GraphViolation::Closed {
                    node: node.clone(),
                    status,
                    failed: failed.clone(),
                });
            }
        }
    }
    Ok(())
}

fn frontier<V>(relation: &Relation, state: &GraphState<V>) -> Result<(), GraphViolation> {
    let ready: BTreeSet<NodeName> = ready_nodes(relation, state).into_iter().collect();
    for node in relation.nodes() {
        let pending = *state.status(node) == NodeStatus::Pending;
        let blocked = relation.predecessors(node).iter().any(|one| !state.status(one).unblocks());
        if ready.contains(node) != (pending && !blocked) {
            return Err(GraphViolation::Ready { node: node.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use NodeStatus::{Completed, Failed, Pending, Running, Skipped};

    use super::*;
    use crate::graph::GraphExpression;

    /// The path `a -> b -> c` with these statuses, and outputs where the status owns one.
    fn path(statuses: [NodeStatus; 3]) -> (Relation, GraphState<u8>) {
        let nodes = ["a", "b", "c"].map(|text| NodeName::new(text).expect("a name"));
        let relation =
            Relation::from_graph(&GraphExpression::path(nodes.clone())).expect("no cycle");
        let status: std::collections::BTreeMap<_, _> = nodes.into_iter().zip(statuses).collect();
        let owned = status.iter().filter(|(_, status)| status.owns_output());
        let output = owned.map(|(node, _)| (node.clone(), 1)).collect();
        (relation, GraphState { status, output })
    }

    fn told(broken: Result<(), GraphViolation>) -> String {
        broken.err().map_or("nothing".into(), |violation| violation.to_string())
    }

    #[test]
    fn each_rule_names_itself_and_the_node_that_breaks_it() {
        let name = |text| NodeName::new(text).expect("a name");
        let (relation, state) = path([Completed, Skipped, Pending]);
        assert_eq!(well_formed(&relation, &state), Ok(()));

        let mut stranger = state.clone();
        stranger.status.insert(name("x"), Pending);
        let text = "graph_domain: `x` is no node of the graph, or has no status";
        assert_eq!(told(well_formed(&relation, &stranger)), text);
        let mut missing = state.clone();
        missing.status.remove("c");
        assert!(told(well_formed(&relation, &missing)).starts_with("graph_domain: `c`"));
        let mut stray = state.clone();
        stray.output.insert(name("x"), 1);
        assert!(told(well_formed(&relation, &stray)).starts_with("graph_domain: `x`"));

        let mut without = state.clone();
        without.output.clear();
        assert!(told(well_formed(&relation, &without)).starts_with("graph_outputs: `a`"));
        let mut with = state;
        with.output.insert(name("b"), 1);
        assert!(told(well_formed(&relation, &with)).starts_with("graph_outputs: `b`"));

        let (_, running) = path([Completed, Running, Pending]);
        assert_eq!(told(well_formed(&relation, &running)), "graph_normal: `b` is still Running");

        let (_, open) = path([Failed, Failed, Pending]);
        let text = "graph_closed: `c` is Pending behind the failed `a`";
        assert_eq!(told(well_formed(&relation, &open)), text);
    }

    #[test]
    fn what_begun_before_its_predecessors_is_not_causal() {
        let (relation, state) = path([Completed, Pending, Pending]);
        assert_eq!(causal(&relation, &state), Ok(()));
        let (_, state) = path([Failed, Failed, Failed]);
        assert_eq!(causal(&relation, &state), Ok(()));
        let (_, state) = path([Completed, Pending, Skipped]);
        let text = "graph_causal: `c` is Skipped although `b` is Pending";
        assert_eq!(told(causal(&relation, &state)), text);
        let (_, state) = path([Pending, NodeStatus::Waiting("s".into()), Pending]);
        assert!(told(causal(&relation, &state)).starts_with("graph_causal: `b`"));
    }
}
