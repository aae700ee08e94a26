//! Steps of executions of one object, and long scripts that consist only of them.

use proptest::prelude::*;

use super::{SeenReplies, alphabet::ScriptStep, few_attempts, take};
use crate::{
    command::Command,
    id::PromiseId,
    promise::{ReleaseReason, Verdict},
    tags,
    time::{Millis, Timestamp},
    world::{self, CheckedStore, claim},
};

/// All steps worth trying with these executions of one object.
pub(super) fn steps(world: &CheckedStore, names: &[&str]) -> Vec<Command> {
    let write =
        |name: &str| Command::ObjectWrite { object: world::cart(), write: world::entry(name, "7") };
    let mut steps = vec![write("total"), write("")];
    for name in names {
        steps.extend(about(world, name, names[0]));
    }
    steps
}

fn about(world: &CheckedStore, name: &str, other: &str) -> Vec<Command> {
    let id = PromiseId::from(name);
    let soon = world.now + Millis(20);
    let target = "wasm://shop/Cart@ada/add";
    let later = (world.now + Millis(10)).to_string();
    let delayed = [(tags::TARGET, target), (tags::DELAY, later.as_str())];
    let mut steps = vec![
        world::keyed(name, "add"),
        world::keyed(name, "total"),
        Command::PromiseCreate(world::new(name, &[(tags::TARGET, target)], soon)),
        Command::PromiseCreate(world::new(name, &delayed, Timestamp::NEVER)),
        Command::TaskCreate {
            new: world::new(name, &[(tags::TARGET, target)], Timestamp::NEVER),
            request: world::claim_request(4),
        },
        world::settle(name, Verdict::Resolved),
        Command::Cancel { invocation: id.clone() },
        Command::Kill { invocation: id.clone() },
        Command::Prune { top: id.clone(), before: world.now, part: false, state: false },
        Command::Prune { top: id.clone(), before: world.now, part: false, state: true },
        Command::PromiseDue { id: id.clone() },
    ];
    let Some(task) = world.model.task(&id) else { return steps };
    let version = task.version.0;
    let live = || claim(name, version);
    let index = world.model.head(&id).commands;
    let records = match world.model.head(&id).len {
        0 => vec![world::started(), world::wrote(1, 0)],
        seq => vec![world::wrote(seq, index)],
    };
    let mut writes = world::fence(live(), records, vec![world::state("total", "1")]);
    if let Command::TaskFence { actions, records, .. } = &mut writes {
        actions.iter_mut().for_each(|action| action.index.0 = index);
        records.iter_mut().filter(|record| record.seq > 0).for_each(|record| record.at = world.now);
    }
    steps.extend([
        Command::TaskHalt { id: id.clone() },
        Command::TaskContinue { id: id.clone() },
        Command::RetryDue { id: id.clone() },
        Command::LeaseDue { id: id.clone() },
        Command::Reconcile { id: id.clone() },
        world::acquire(name, version, 1),
        writes,
        world::callback(other, name),
        world::suspend(live(), &[other]),
        world::fulfill(live()),
        world::release(live(), ReleaseReason::Yield),
        world::release(live(), world::failed()),
    ]);
    steps
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn long_scripts_of_one_object_keep_the_order_of_its_line(
        choices in proptest::collection::vec(any::<u32>(), 1..250),
        limited in any::<bool>(),
    ) {
        let mut world = CheckedStore::new();
        world.config = if limited { few_attempts() } else { world.config };
        let mut seen = SeenReplies::new();
        for choice in choices {
            let steps = steps(&world, &["v", "w", "x", "y", "z"]);
            let waits = [ScriptStep::Wait(10), ScriptStep::Wait(20_000)];
            let mut steps: Vec<ScriptStep> =
                steps.into_iter().map(ScriptStep::Command).chain(waits).collect();
            let step = steps.swap_remove(choice as usize % steps.len());
            take(&mut world, &step, &mut seen);
        }
    }
}
