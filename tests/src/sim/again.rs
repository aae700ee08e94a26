//! Repeats commands. A repetition must change nothing.

use std::sync::{Arc, PoisonError};

use segno_core::{
    command::Command,
    id::{Claim, PromiseId},
};
use segno_env::Clock;
use segno_store::Store;

use super::{host::Node, judge, network::Network};

/// Repeats everything that a host sent under claims that have ended, as a host does that was away
/// for too long.
pub(super) async fn zombie(network: &Arc<Network>, node: &Node) {
    let asked = node.conditions.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let stale: Vec<Command> = {
        let Some(judge) = network.database.judge() else { return };
        asked
            .into_iter()
            .filter_map(|command| match command {
                Command::TaskHeartbeat { holder, mut items } => {
                    items.retain(|item| judge.is_over(&item.claim));
                    (!items.is_empty()).then_some(Command::TaskHeartbeat { holder, items })
                }
                Command::TaskAcquire { ref claim, .. } => {
                    let taken = Claim { version: claim.version.next(), ..claim.clone() };
                    judge.was_granted(&taken).then_some(command)
                }
                command => {
                    let over = judge::guard(&command).is_some_and(|claim| judge.is_over(claim));
                    over.then_some(command)
                }
            })
            .collect()
    };
    if !stale.is_empty() {
        network.log.count("operations replayed by a zombie");
    }
    again(network, &stale, "by a zombie").await;
}

/// Repeats these commands, and checks that nothing changes.
pub(super) async fn again(network: &Network, commands: &[Command], when: &str) {
    // A deadline that has passed is carried out by the next command that loads the promise. That
    // change is not due to the repetition.
    let rows = network.database.dump().await;
    let now = network.database.clock.now();
    let overdue: Vec<PromiseId> = rows
        .promises
        .values()
        .filter(|promise| promise.is_overdue(now))
        .map(|promise| promise.id().clone())
        .collect();
    for id in overdue {
        let (_, effects) =
            network.database.execute("operator", &[Command::PromiseDue { id }]).await;
        network.bus.committed(None, &effects, &network.database.memory.rows());
    }
    let mut before = network.database.dump().await;
    for command in commands {
        // Nor is an occurrence that has become due since.
        let has_come = |id| before.schedules.get(id).is_some_and(|known| known.next_at <= now);
        if matches!(command, Command::ScheduleDue { id } if has_come(id)) {
            continue;
        }
        // Nor is a change behind a limit that time alone causes.
        let is_due = |name| before.limits.get(name).and_then(|limit| limit.due_at) <= Some(now);
        if matches!(command, Command::LimitDue { name } if is_due(name)) {
            continue;
        }
        let asked = network.database.memory.execute(vec![command.clone()]).await;
        let replies = asked.expect("memory does not fail");
        network.database.forget_effects();
        let after = network.database.dump().await;
        if after != before {
            network.log.finding(format_args!(
                "asked again {when}, {command:?} changed something: {replies:?}"
            ));
            before = after;
        }
    }
}
