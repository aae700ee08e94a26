//! Steps of executions behind limits, and long scripts that consist only of them.

use proptest::prelude::*;

use super::{SeenReplies, alphabet::ScriptStep, few_attempts, take};
use crate::{
    command::{Command, FenceOperation},
    id::{Claim, PromiseId},
    limit::LimitName,
    promise::{NewPromise, OutboxKey, ReleaseReason, Verdict},
    tags,
    time::{Millis, Timestamp},
    world::{self, CheckedStore, MODULE, OTHER_MODULE, claim},
};

/// Names of the limited functions.
pub(super) const FUNCTIONS: [&str; 7] =
    ["pack", "mail", "both", "only", "last", "calm", "Cart@ada/pay"];

/// All steps worth trying with these executions of limited functions, and with one whose limit an
/// operator sets.
pub(super) fn steps(world: &CheckedStore, names: &[&str], functions: &[&str]) -> Vec<Command> {
    let mut steps = Vec::new();
    for limit in world.model.limits().map(|(name, _)| name.clone()) {
        steps.push(Command::LimitDue { name: limit });
    }
    for function in functions.iter().map(|function| function.replace("@ada", "")) {
        let name = LimitName::of("shop", &function);
        steps.push(Command::LimitSet { name: name.clone(), rule: Some(world::at_most(2)) });
        steps.push(Command::LimitSet { name: name.clone(), rule: None });
        steps.push(Command::LimitDue { name });
    }
    let nothing = crate::limit::AdmissionRule::default();
    steps.push(Command::LimitSet { name: "shop/pack".into(), rule: Some(nothing) });
    steps.push(Command::LimitSet { name: "shop".into(), rule: None });
    for module in [MODULE, OTHER_MODULE] {
        steps.push(Command::Deploy { alias: "shop".into(), module });
    }
    for (place, name) in names.iter().enumerate() {
        steps.extend(about(world, name, names[0], functions[place % functions.len()]));
        steps.extend(about(world, name, names[0], functions[(place + 1) % functions.len()]));
    }
    steps
}

fn about(world: &CheckedStore, name: &str, other: &str, function: &str) -> Vec<Command> {
    let id = PromiseId::from(name);
    let new = |key, priority| world::limited(name, function, key, priority);
    let tagged = |tag: &str, at: Timestamp| {
        let mut new = new("a", 0);
        new.tags.insert(tag.to_owned(), at.to_string());
        new
    };
    let delayed = tagged(tags::DELAY, world.now + Millis(10));
    let soon = NewPromise { timeout_at: world.now + Millis(20), ..new("a", 1) };
    let mut begun = world::begin(name, &[]);
    if let Command::TaskBegin { new: begun, born, .. } = &mut begun {
        *begun = new("b", 0);
        *born = world.model.first_version();
    }
    let calls = vec![child(name, "pack"), child(name, "mail")];
    let first = Claim::first(id.clone(), world.model.first_version());
    let mut calling = world::begin(name, &[world::fence(first, vec![], calls)]);
    if let Command::TaskBegin { born, .. } = &mut calling {
        *born = world.model.first_version();
    }
    let keyless = NewPromise { param: crate::value::Value::default(), ..new("a", 0) };
    let mut steps: Vec<Command> = [new("a", 0), new("a", 5), new("b", 0), delayed, soon, keyless]
        .into_iter()
        .map(Command::PromiseCreate)
        .collect();
    steps.extend([
        Command::TaskCreate { new: new("b", 1), request: world::claim_request(4) },
        begun,
        calling,
        world::settle(name, Verdict::Resolved),
        Command::Cancel { invocation: id.clone() },
        Command::Kill { invocation: id.clone() },
        Command::Prune { top: id.clone(), before: world.now, part: false, state: false },
        Command::PromiseDue { id: id.clone() },
    ]);
    let owed = world.model.outbox().map(|(key, _)| key);
    let leaves = owed.filter(|key| matches!(key, OutboxKey::LeaveLimit(of, _) if *of == id));
    for key in leaves {
        // Repeated, since in practice it happens soon.
        steps.extend(std::iter::repeat_n(Command::OutboxDue { key: key.clone() }, 4));
        steps.push(Command::OutboxAck { key: key.clone() });
    }
    let Some(task) = world.model.task(&id) else { return steps };
    let version = task.version.0;
    let live = || claim(name, version);
    steps.extend([
        Command::TaskHalt { id: id.clone() },
        Command::TaskContinue { id: id.clone() },
        Command::RetryDue { id: id.clone() },
        Command::LeaseDue { id: id.clone() },
        Command::Reconcile { id: id.clone() },
        world::acquire(name, version, 1),
        world::fence(live(), vec![], vec![child(name, "pack")]),
        world::callback(other, name),
        world::suspend(live(), &[other]),
        world::fulfill(live()),
        world::release(live(), ReleaseReason::Yield),
        world::release(live(), world::failed()),
    ]);
    steps
}

/// A call of a limited function from the same module.
fn child(caller: &str, function: &str) -> FenceOperation {
    let new = world::limited(&format!("{caller}/{function}"), function, "a", 2);
    let target = (tags::TARGET.to_owned(), function.to_owned());
    let mut new = NewPromise { tags: [target].into(), ..new };
    new.param.headers.insert(tags::MODULE_HEADER.to_owned(), "shop".to_owned());
    FenceOperation::Create { new, request: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, max_shrink_iters: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn long_scripts_behind_limits_admit_whoever_has_room_and_nobody_else(
        choices in proptest::collection::vec(any::<u32>(), 1..250),
        first in 0..FUNCTIONS.len(),
        several in 1..3_usize,
        limited in any::<bool>(),
    ) {
        let mut world = CheckedStore::new();
        world.config = if limited { few_attempts() } else { world.config };
        let functions: Vec<&str> =
            FUNCTIONS.iter().cycle().skip(first).take(several).copied().collect();
        let mut seen = SeenReplies::new();
        for choice in choices {
            let steps = steps(&world, &["v", "w", "x", "y", "z"], &functions);
            let waits = [ScriptStep::Wait(10), ScriptStep::Wait(40), ScriptStep::Wait(20_000)];
            let mut steps: Vec<ScriptStep> =
                steps.into_iter().map(ScriptStep::Command).chain(waits).collect();
            let step = steps.swap_remove(choice as usize % steps.len());
            take(&mut world, &step, &mut seen);
        }
    }
}
