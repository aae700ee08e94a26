//! Steps of a key that runs once, including its object's content, and long scripts that consist
//! only of them.

use proptest::prelude::*;

use super::{SeenReplies, alphabet::ScriptStep, few_attempts, take};
use crate::{
    command::{Command, FenceOperation},
    id::PromiseId,
    object::StateWrite,
    promise::{ReleaseReason, Verdict},
    tags,
    time::{Millis, Timestamp},
    world::{self, CheckedStore, MODULE, OTHER_MODULE, claim},
};

/// All steps worth trying with these executions of one key. The other module's function is also
/// exclusive, but runs as often as it is called.
pub(super) fn steps(world: &CheckedStore, names: &[&str]) -> Vec<Command> {
    let clears = StateWrite { clears: true, entries: Vec::new() };
    let object = world::ada();
    let mut steps = vec![Command::ObjectWrite { object, write: clears }];
    for module in [MODULE, OTHER_MODULE] {
        steps.push(Command::Deploy { alias: "shop".into(), module });
    }
    for name in ["sure", "maybe"] {
        let id = world::ada().promise(name);
        steps.push(world::known(name));
        steps.push(world::settle(id.as_str(), Verdict::Resolved));
        steps.push(prune(id.as_str(), world.now, true));
    }
    for name in names {
        steps.extend(about(world, name, names[0]));
    }
    steps
}

fn prune(top: &str, before: Timestamp, state: bool) -> Command {
    Command::Prune { top: top.into(), before, part: false, state }
}

fn about(world: &CheckedStore, name: &str, other: &str) -> Vec<Command> {
    let id = PromiseId::from(name);
    let target = (tags::TARGET, "wasm://shop/Signup@ada/run");
    let later = (world.now + Millis(10)).to_string();
    let run = |more: &[(&str, &str)], timeout_at| {
        let tags = [&[target], more].concat();
        Command::PromiseCreate(world::new(name, &tags, timeout_at))
    };
    let mut steps = vec![
        world::signup(name, "run"),
        world::signup(name, "confirm"),
        run(&[], world.now + Millis(20)),
        run(&[], world.now - Millis(1)),
        run(&[(tags::DELAY, &later)], Timestamp::NEVER),
        Command::TaskCreate {
            new: world::new(name, &[target], Timestamp::NEVER),
            request: world::claim_request(4),
        },
        world::settle(name, Verdict::Resolved),
        Command::Cancel { invocation: id.clone() },
        Command::Kill { invocation: id.clone() },
        prune(name, world.now, false),
        prune(name, world.now, true),
        Command::PromiseDue { id: id.clone() },
    ];
    let Some(task) = world.model.task(&id) else { return steps };
    let version = task.version.0;
    let live = || claim(name, version);
    let index = world.model.head(&id).commands;
    let fence = |act: FenceOperation| {
        let mut records = match (world.model.head(&id).len, &act) {
            (0, FenceOperation::State(_)) => vec![world::started(), world::wrote(1, 0)],
            (seq, FenceOperation::State(_)) => vec![world::wrote(seq, index)],
            _ => Vec::new(),
        };
        records.iter_mut().filter(|record| record.seq > 0).for_each(|record| record.at = world.now);
        let mut fence = world::fence(live(), records, vec![act]);
        if let Command::TaskFence { actions, .. } = &mut fence {
            actions.iter_mut().for_each(|action| action.index.0 = index);
        }
        fence
    };
    let sure = world::ada().promise("sure");
    steps.extend([
        Command::RetryDue { id: id.clone() },
        Command::LeaseDue { id: id.clone() },
        Command::Reconcile { id: id.clone() },
        world::acquire(name, version, 1),
        fence(world::state("mail", "1")),
        fence(world::of_object("sure", None)),
        fence(world::of_object("sure", Some(Verdict::Resolved))),
        fence(world::of_object("maybe", Some(Verdict::Rejected))),
        world::suspend(live(), &[sure.as_str()]),
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
    fn long_scripts_of_one_key_have_one_run_at_a_time(
        choices in proptest::collection::vec(any::<u32>(), 1..250),
        limited in any::<bool>(),
    ) {
        let mut world = CheckedStore::new();
        world.config = if limited { few_attempts() } else { world.config };
        let mut seen = SeenReplies::new();
        for choice in choices {
            let steps = steps(&world, &["v", "w", "x"]);
            let waits = [ScriptStep::Wait(10), ScriptStep::Wait(20_000)];
            let mut steps: Vec<ScriptStep> =
                steps.into_iter().map(ScriptStep::Command).chain(waits).collect();
            let step = steps.swap_remove(choice as usize % steps.len());
            take(&mut world, &step, &mut seen);
        }
    }
}

/// Checks that the scripts reach all special cases.
#[test]
fn a_long_walk_of_one_key_meets_what_is_special_about_it() {
    let (mut seen, mut random) = (SeenReplies::new(), 7_u64);
    let mut began_anew = 0;
    for _ in 0..40 {
        let mut world = CheckedStore::new();
        let mut gone = false;
        for _ in 0..200 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mut steps = steps(&world, &["v", "w", "x"]);
            let step = steps.swap_remove((random >> 33) as usize % steps.len());
            let run = |world: &CheckedStore| {
                world.model.line(&world::ada()).is_some_and(|line| line.run.is_some())
            };
            let before = run(&world);
            take(&mut world, &ScriptStep::Command(step), &mut seen);
            gone |= before && !run(&world);
            began_anew += u32::from(gone && !before && run(&world));
        }
    }
    let met = |name, kind: &str| seen.contains(&(name, kind.to_owned()));
    assert!(met("promise-create", "ran-already") && met("object-write", "object-busy"), "{seen:?}");
    assert!(met("prune", "kept") && met("prune", "done") && began_anew > 10, "{began_anew}");
}
