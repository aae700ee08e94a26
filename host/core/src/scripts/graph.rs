//! Steps of a graph run: the possible next writes of its holder, and concurrent commands of others.

use crate::{
    command::{Command, FenceOperation},
    graph::NodeState,
    id::PromiseId,
    promise::{Promise, ReleaseReason, TaskStatus, Verdict},
    value::{Text, Value},
    world::{self, CheckedStore, claim},
};

const RUN: &str = "g";

/// All steps worth trying with the run.
pub(super) fn steps(world: &CheckedStore) -> Vec<Command> {
    let id = PromiseId::from(RUN);
    let signal = |name: &str, payload: &str| Command::Signal {
        invocation: id.clone(),
        name: Text::from(name),
        payload: Value::of(payload.as_bytes()),
        key: None,
    };
    let mut steps = vec![
        world::graph_run(RUN),
        signal("go", "1"),
        signal("go", "2"),
        signal("?", "1"),
        world::settle("g/n/a/0", Verdict::Resolved),
        world::settle("g/n/a/0", Verdict::Rejected),
        world::settle("g/n/c/0", Verdict::Resolved),
        Command::Cancel { invocation: id.clone() },
        Command::Kill { invocation: id.clone() },
        Command::Prune { top: id.clone(), before: world.now, part: false, state: false },
    ];
    let Some(task) = world.model.task(&id) else { return steps };
    let version = task.version.0;
    steps.push(world::acquire(RUN, version, 1));
    steps.push(world::release(claim(RUN, version), ReleaseReason::Yield));
    if task.status() == TaskStatus::Acquired {
        steps.extend(held(world, version));
    }
    steps
}

/// Possible next commands of the run's holder.
fn held(world: &CheckedStore, version: u64) -> Vec<Command> {
    let id = PromiseId::from(RUN);
    let state = |node: &str| {
        let mut nodes = world.model.nodes_of(&id);
        nodes.find(|(name, _)| name.as_str() == node).map(|(_, row)| row.state)
    };
    let settled = |of: PromiseId| world.model.promise(&of).and_then(Promise::settlement);
    let mut steps = Vec::new();
    let mut fence = |acts: Vec<FenceOperation>| {
        steps.push(world::fence(claim(RUN, version), vec![], acts));
    };
    let mut is_open = true;
    for node in ["a", "b", "c"] {
        let of = match node {
            "b" => id.run_signal("go"),
            _ => id.attempt(node, 0),
        };
        let (make, began) = match node {
            "b" => (world::awaited_signal(RUN), NodeState::Waiting),
            _ => (world::attempt(RUN, node), NodeState::Running),
        };
        let end = settled(of).map(|settlement| match settlement.verdict {
            Verdict::Resolved => NodeState::Completed,
            Verdict::Rejected | Verdict::Canceled | Verdict::TimedOut => NodeState::Failed,
        });
        match (state(node), end) {
            (None, _) => fence(vec![make, world::node(node, began)]),
            (Some(NodeState::Running | NodeState::Waiting), Some(end)) => {
                fence(vec![world::node(node, end)]);
            }
            (Some(_), _) => {}
        }
        is_open = state(node) == Some(NodeState::Completed);
        if !is_open {
            break;
        }
    }
    if is_open {
        steps.push(world::fulfill(claim(RUN, version)));
    } else if world.model.promise(&id.run_signal("go")).is_some() {
        steps.push(world::suspend(claim(RUN, version), &["g/sig/go"]));
    }
    steps
}
