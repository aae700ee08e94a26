//! Runs of plans.

use std::collections::{BTreeMap, BTreeSet};

use segno_api::model::{GraphFact, GraphNodeState};

use super::Verdict;

/// Expected behaviour of a plan's node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRole {
    /// The node acts, perhaps more than once, and succeeds.
    Repeated,
    /// The node is begun once. If its outcome is unknown, it may or may not have acted.
    Once,
    /// The node has no effect outside.
    Silent,
    /// The node's effect is declined, so the node fails.
    Declined,
}

/// A node of a plan, and its observed effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRecord {
    pub role: NodeRole,
    /// Indexes of the nodes that this node directly needs. Each is lower than its own.
    pub needs: BTreeSet<usize>,
    /// Receipts of its first and last effect. `None` if it did not act.
    pub acted: Option<(u64, u64)>,
    /// Maximum number of requests for one of its effects.
    pub requests: u32,
}

/// Outcome of a run.
#[derive(Debug, Clone)]
pub struct GraphEnd {
    /// True if the first failure ends the run.
    pub fail_fast: bool,
    /// Failed nodes, as the run reports them. Empty if it resolved.
    pub failed: BTreeSet<usize>,
    /// Facts of the run, with nodes by index.
    pub facts: Vec<(usize, GraphNodeState)>,
}

impl GraphEnd {
    /// Converts the facts of a run whose nodes are `n0`, `n1` and so on.
    pub fn facts(facts: &[GraphFact]) -> Vec<(usize, GraphNodeState)> {
        let index =
            |fact: &GraphFact| Some((fact.node.strip_prefix('n')?.parse().ok()?, fact.state));
        facts.iter().filter_map(index).collect()
    }
}

/// Compares the effects of a run's nodes, and the run's own history, with the plan.
///
/// # Errors
/// A description of the violation.
pub fn graph(nodes: &[NodeRecord], end: &GraphEnd) -> Verdict {
    let before = ancestors(nodes);
    for (number, node) in nodes.iter().enumerate() {
        outside(nodes, end, number, node, &before[number])?;
    }
    history(nodes, end)
}

/// For each node, all nodes that precede it.
fn ancestors(nodes: &[NodeRecord]) -> Vec<BTreeSet<usize>> {
    let mut before: Vec<BTreeSet<usize>> = Vec::new();
    for node in nodes {
        let far = node.needs.iter().flat_map(|need| before[*need].iter().copied());
        before.push(far.chain(node.needs.iter().copied()).collect());
    }
    before
}

fn outside(
    nodes: &[NodeRecord],
    end: &GraphEnd,
    number: usize,
    node: &NodeRecord,
    before: &BTreeSet<usize>,
) -> Verdict {
    if node.role == NodeRole::Once && node.requests > 1 {
        return Err(format!("n{number} is begun once, and acted {} times", node.requests));
    }
    let stopped = before.iter().find(|other| end.failed.contains(other));
    let Some((first, _)) = node.acted else {
        let must_act = node.role == NodeRole::Repeated
            && stopped.is_none()
            && (end.failed.is_empty() || !end.fail_fast);
        return match must_act {
            true => Err(format!("n{number} did not act")),
            false => Ok(()),
        };
    };
    if let Some(failed) = stopped {
        return Err(format!("n{number} acted after n{failed}, which failed"));
    }
    let early = before.iter().find(|other| {
        nodes[**other].role == NodeRole::Repeated
            && nodes[**other].acted.is_none_or(|(_, last)| last > first)
    });
    match early {
        Some(other) => Err(format!("n{number} acted before n{other}, which it needs")),
        None => Ok(()),
    }
}

/// Checks the history. No node begins before its needs have completed, none completes twice, a node
/// that is begun once begins once, and none begins after a failure that ends the run.
fn history(nodes: &[NodeRecord], end: &GraphEnd) -> Verdict {
    let (mut completed, mut failed) = (BTreeSet::new(), None);
    let mut begun: BTreeMap<usize, u32> = BTreeMap::new();
    for (number, state) in &end.facts {
        match state {
            GraphNodeState::Running | GraphNodeState::Waiting => {
                let needs = &nodes[*number].needs;
                if let Some(need) = needs.difference(&completed).next() {
                    return Err(format!("n{number} began before n{need} had completed"));
                }
                if let Some(failed) = failed.filter(|_| end.fail_fast) {
                    return Err(format!("n{number} began after n{failed} had failed"));
                }
                *begun.entry(*number).or_default() += 1;
                if nodes[*number].role == NodeRole::Once && begun[number] > 1 {
                    return Err(format!("n{number} is begun once, and began again"));
                }
            }
            GraphNodeState::Completed => {
                if !completed.insert(*number) {
                    return Err(format!("n{number} completed twice"));
                }
            }
            GraphNodeState::Failed => failed = failed.or(Some(*number)),
            GraphNodeState::Pending
            | GraphNodeState::Ready
            | GraphNodeState::Skipped
            | GraphNodeState::NotRun => {}
        }
    }
    let declined = |number: &usize| nodes[*number].role == NodeRole::Declined;
    if let Some(number) = completed.iter().find(|number| declined(number)) {
        return Err(format!("n{number} was declined, and completed"));
    }
    match end.failed.is_empty() && completed.len() != nodes.len() {
        true => Err(format!("{completed:?} completed, of {} nodes", nodes.len())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use GraphNodeState::{Completed, Failed, NotRun, Running};

    fn node(role: NodeRole, needs: &[usize], acted: Option<(u64, u64)>) -> NodeRecord {
        let requests = u32::from(acted.is_some());
        NodeRecord { role, needs: needs.iter().copied().collect(), acted, requests }
    }

    fn end(fail_fast: bool, failed: &[usize], facts: &[(usize, GraphNodeState)]) -> GraphEnd {
        GraphEnd { fail_fast, failed: failed.iter().copied().collect(), facts: facts.to_vec() }
    }

    #[test]
    fn order_repetition_and_what_begins_after_a_failure_are_noticed() {
        use NodeRole::{Declined, Once, Repeated, Silent};
        let facts: Vec<_> = (0..3).flat_map(|n| [(n, Running), (n, Completed)]).collect();
        let chain = |acted: [Option<(u64, u64)>; 3]| {
            let needs: [&[usize]; 3] = [&[], &[0], &[1]];
            let roles = [Repeated, Silent, Once];
            (0..3).map(|n| node(roles[n], needs[n], acted[n])).collect::<Vec<_>>()
        };
        let fine = chain([Some((1, 2)), None, Some((3, 3))]);
        assert_eq!(graph(&fine, &end(true, &[], &facts)), Ok(()));
        let mut twice = fine.clone();
        twice[2].requests = 2;
        let again = [facts.as_slice(), &[(2, Running)]].concat();
        let doubled = [facts.as_slice(), &[(0, Completed)]].concat();
        let hasty = [facts[0], facts[2], facts[1], facts[3], facts[4], facts[5]];
        for (nodes, facts, said) in [
            (&chain([Some((1, 4)), None, Some((3, 3))]), facts.as_slice(), "n2 acted before n0"),
            (&chain([None, None, None]), &facts, "n0 did not act"),
            (&twice, &facts, "acted 2 times"),
            (&fine, &again, "began again"),
            (&fine, &doubled, "completed twice"),
            (&fine, &hasty, "n1 began before n0 had completed"),
            (&fine, &facts[..4], "of 3 nodes"),
        ] {
            let wrong = graph(nodes, &end(false, &[], facts)).expect_err(said);
            assert!(wrong.contains(said), "{wrong}");
        }

        // n0 is declined; n1 needs it, and n2 needs nothing.
        let fork = |late, other| {
            vec![node(Declined, &[], None), node(Repeated, &[0], late), node(Repeated, &[], other)]
        };
        let (other, late) = (Some((2, 2)), Some((3, 3)));
        let drained = [(0, Running), (0, Failed), (1, NotRun), (2, Running), (2, Completed)];
        assert_eq!(graph(&fork(None, other), &end(false, &[0], &drained)), Ok(()));
        assert_eq!(graph(&fork(None, None), &end(true, &[0], &drained[..3])), Ok(()));
        for (nodes, fail_fast, failed, facts, said) in [
            (fork(late, other), false, &[0][..], drained.as_slice(), "n1 acted after n0"),
            (fork(None, None), false, &[0], &drained, "n2 did not act"),
            (fork(None, other), true, &[0], &drained, "n2 began after n0 had failed"),
            (fork(late, other), false, &[], &[(0, Completed)], "n0 was declined"),
        ] {
            let wrong = graph(&nodes, &end(fail_fast, failed, facts)).expect_err(said);
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}
