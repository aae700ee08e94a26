//! Script tests: all short scripts over two promises with a clock that jumps, and long random
//! scripts. The checked store contains the assertions.

mod alphabet;
mod graph;
mod limits;
mod objects;
mod runs;
mod short;
mod walk;

use std::collections::BTreeSet;

use self::alphabet::ScriptStep;
use crate::{
    command::Command,
    config::{Config, ExhaustionPolicy},
    reply::{PruneResult, Reply},
    time::Millis,
    tree::TreeBounds,
    world::CheckedStore,
};

/// Reply kinds seen so far, by command name.
type SeenReplies = BTreeSet<(&'static str, String)>;

fn take(world: &mut CheckedStore, step: &ScriptStep, seen: &mut SeenReplies) {
    match step {
        ScriptStep::Wait(length) => world.wait(*length),
        ScriptStep::Command(command) => note(command, &world.decide(command).reply, seen),
    }
}

fn note(command: &Command, reply: &Reply, seen: &mut SeenReplies) {
    let kind = match reply {
        Reply::Refused(refusal) => refusal.kind().to_owned(),
        Reply::Suspended => "suspended".to_owned(),
        Reply::Ready { .. } => "ready".to_owned(),
        Reply::Parked { .. } => "parked".to_owned(),
        Reply::Pruned(PruneResult::Kept(_)) => "kept".to_owned(),
        _ => "done".to_owned(),
    };
    seen.insert((command.name(), kind));
}

/// Low limits on attempts, lost claims and stalls, so that scripts soon exceed them.
fn few_attempts() -> Config {
    Config {
        lost_limit: 3,
        tree: TreeBounds { depth: 2, executions: 3, births: Some(2) },
        attempt_limit: Some(4),
        stall_limit: Some(Millis(40)),
        on_exhausted: ExhaustionPolicy::Reject,
        ..Config::default()
    }
}
