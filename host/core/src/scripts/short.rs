//! All short scripts over two promises.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{
    SeenReplies,
    alphabet::{ScriptStep, alphabet},
    few_attempts, note, take,
};
use crate::{
    command::FenceOperation,
    config::{Config, VersionRule},
    tags,
    time::Timestamp,
    world::{self, CheckedStore},
};

/// Length of the exhaustive scripts: `ordinary`, or the value of `SEGNO_SCRIPTS`. Each additional
/// step takes twenty to thirty times as long; length 4 from every start takes minutes.
fn length(ordinary: u32) -> u32 {
    std::env::var("SEGNO_SCRIPTS").ok().and_then(|given| given.parse().ok()).unwrap_or(ordinary)
}

/// Tries every script of this length, continuing from each state once. While neither promise of a
/// pair exists, the two are interchangeable, so scripts begin with the first.
fn explore(start: CheckedStore, ids: &[&str], length: u32) -> (usize, SeenReplies) {
    let (mut met, mut seen) = (HashSet::new(), SeenReplies::new());
    let mut frontier = vec![start];
    for steps_left in (0..length).rev() {
        let mut next = Vec::new();
        for world in &frontier {
            let untouched = world.snapshot.promises.is_empty();
            let ids = if untouched { &ids[..1] } else { ids };
            for step in alphabet(world, ids) {
                let Some(successor) = step_from(world, &step, &mut seen) else { continue };
                if steps_left > 0 && met.insert(fingerprint(&successor)) {
                    next.push(successor);
                }
            }
        }
        frontier = next;
    }
    (met.len(), seen)
}

/// The state after a step. `None` if nothing changed.
fn step_from(
    world: &CheckedStore,
    step: &ScriptStep,
    seen: &mut SeenReplies,
) -> Option<CheckedStore> {
    let mut successor = match step {
        ScriptStep::Wait(_) => world.clone(),
        ScriptStep::Command(command) => {
            let decision = world.consider(command);
            note(command, &decision.reply, seen);
            if decision.delta.is_empty() {
                return None;
            }
            let mut successor = world.clone();
            successor.accept(command, &decision);
            return Some(successor);
        }
    };
    take(&mut successor, step, seen);
    Some(successor)
}

fn fingerprint(world: &CheckedStore) -> u64 {
    let mut hasher = DefaultHasher::new();
    postcard::to_allocvec(&world.snapshot).expect("a snapshot encodes").hash(&mut hasher);
    world.now.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn every_short_script_from_nothing_keeps_the_rules() {
    let (states, seen) = explore(CheckedStore::new(), &["a", "b"], length(4));
    assert!(states > 1_000, "{states} states were met");
    assert!(seen.contains(&("task-fulfill", "done".to_owned())), "{seen:?}");
}

#[test]
fn every_short_script_from_a_waiting_pair_keeps_the_rules() {
    for rule in [VersionRule::EveryHandover, VersionRule::AcquireOnly] {
        let mut start = CheckedStore::new();
        start.config = Config { version_rule: rule, ..few_attempts() };
        start.done(world::workflow("a"));
        start.done(world::outside("b"));
        let waiting = start.acquire("a", 1);
        start.done(world::suspend(waiting, &["b"]));
        start.acquire("b", 2);
        let (states, seen) = explore(start, &["a", "b"], length(3));
        assert!(states > 500, "{states} states were met");
        for wanted in
            [("task-suspend", "ready"), ("task-suspend", "suspended"), ("task-release", "done")]
        {
            assert!(seen.contains(&(wanted.0, wanted.1.to_owned())), "{wanted:?} in {seen:?}");
        }
    }
}

#[test]
fn every_short_script_around_a_parent_and_its_child_keeps_the_rules() {
    let mut start = CheckedStore::new();
    start.done(world::workflow("a"));
    let parent = start.acquire("a", 1);
    let child = world::new("a/0", &[(tags::TARGET, "ship")], Timestamp::NEVER);
    let create = FenceOperation::Create { new: child, request: None };
    start.done(world::fence(parent, vec![world::started(), world::asked(1, 0)], vec![create]));
    start.acquire("a/0", 7);
    let (states, _) = explore(start, &["a", "a/0"], length(3));
    assert!(states > 500, "{states} states were met");
}
