//! Random handlers run on both state machines, while connections break at random frames. Despite
//! the losses, no attempt diverges, and the invocation ends as it does without losses.

mod guest;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use self::{
    guest::{HandlerStep, SimulatedHandler, step},
    world::SimulatedInvocation,
};
use super::server::RuntimeServer;
use crate::{
    ProtocolVersion::{self, *},
    immutable::{Future, NotificationId, NotificationOutcome},
    wire::{OperationOutcome, StartMessage},
};

/// A sequence of random numbers, followed by zeros: then no connection breaks any more.
struct RandomSequence<'a>(std::slice::Iter<'a, u8>);

impl RandomSequence<'_> {
    fn next(&mut self) -> usize {
        self.0.next().copied().unwrap_or(0).into()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.next() % count == count - 1
    }
}

/// Runs a handler to its end. Returns the events that it received, in order, and the number of
/// attempts.
fn converse(
    version: ProtocolVersion,
    steps: &[HandlerStep],
    eager: bool,
    chance: &[u8],
) -> (Vec<String>, usize) {
    let start =
        StartMessage { id: vec![1; 24].into(), partial_state: !eager, ..StartMessage::default() };
    let (server, _) = RuntimeServer::begin(version, start, "");
    let mut world = SimulatedInvocation {
        server,
        pending: Vec::new(),
        state: BTreeMap::new(),
        eager,
        runs: BTreeMap::new(),
        ended: false,
        suspended: None,
    };
    let mut chance = RandomSequence(chance.iter());
    let mut attempts = 0;
    while !world.ended {
        attempts += 1;
        attempt(&mut world, steps, &mut chance);
        if let Some((awaiting, ready)) = world.suspended.take() {
            let mut told = BTreeSet::new();
            let satisfied = |told: &BTreeSet<NotificationId>| {
                awaiting
                    .is_satisfied(|id| told.contains(id).then_some(NotificationOutcome::Succeeded))
            };
            while !ready && !satisfied(&told) {
                assert!(!world.pending.is_empty(), "nothing ends the wait for {awaiting:?}");
                told.insert(world.store(chance.next()).0.id);
            }
        }
    }
    // Replays the whole journal once more: the attempt must write nothing but the end.
    let mut last = world.again();
    let mut guest = SimulatedHandler::new(steps);
    guest.poll(&mut last).expect("no divergence");
    while !last.is_over() {
        let event = last.next_notification().expect("no divergence").expect("the journal has all");
        guest.deliver(&event);
        guest.poll(&mut last).expect("no divergence");
    }
    assert_eq!(last.take_output()[..], [0, 3, 0, 0, 0, 0, 0, 0]);
    (guest.events, attempts)
}

/// Runs one attempt until it ends or its connection breaks.
fn attempt(
    world: &mut SimulatedInvocation,
    steps: &[HandlerStep],
    chance: &mut RandomSequence<'_>,
) {
    let mut attempt = world.again();
    let mut guest = SimulatedHandler::new(steps);
    loop {
        guest.poll(&mut attempt).expect("no divergence");
        // Passes on single frames; the connection may break after each.
        let mut written = attempt.take_output();
        while !written.is_empty() {
            let length = u32::from_be_bytes(written[4..8].try_into().unwrap()) as usize;
            let frame = written.split_to(8 + length);
            for action in world.server.receive(&frame) {
                world.act(&action);
            }
            if world.server.runtime.is_over() || chance.one_in(9) {
                return;
            }
        }
        if !attempt.input_ended() && chance.one_in(7) {
            world.server.half_close(&mut attempt);
        }
        if let Some(event) = attempt.next_notification().expect("no divergence") {
            guest.deliver(&event);
            continue;
        }
        if let Some(run) = attempt.open_runs().first().copied() {
            attempt
                .propose_run(run, OperationOutcome::Success(format!("run {run}").into()))
                .unwrap();
            continue;
        }
        if attempt.input_ended() {
            let ids = guest.waits_for.keys().cloned();
            let future = if guest.missing == guest.waits_for.len() {
                Future::all_of(ids)
            } else {
                Future::first_of(ids)
            };
            attempt.suspend(future).expect("it waits for something");
            continue;
        }
        assert!(!world.pending.is_empty(), "nothing more comes");
        let (_, bytes) = world.store(chance.next());
        if chance.one_in(6) {
            return;
        }
        world.server.send(&mut attempt, &bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn what_is_lost_changes_nothing(
        version in proptest::sample::select(&[V5, V6, V7][..]),
        steps in vec(step(), 0..20),
        eager: bool,
        chance in vec(any::<u8>(), 0..300),
    ) {
        let steps: Vec<_> = steps.into_iter().chain([HandlerStep::Await(usize::MAX)]).collect();
        let (mut events, _) = converse(version, &steps, eager, &chance);
        let (mut expected, attempts) = converse(version, &steps, eager, &[]);
        prop_assert_eq!(attempts, 1);
        events.sort();
        expected.sort();
        prop_assert_eq!(events, expected);
    }
}

/// Guards the test above: it must lose attempts, suspend, and replay.
#[test]
fn conversations_are_broken_often() {
    let steps = [
        HandlerStep::Run,
        HandlerStep::Call,
        HandlerStep::Awakeable,
        HandlerStep::Note,
        HandlerStep::Await(2),
        HandlerStep::Note,
        HandlerStep::Get(1),
        HandlerStep::Await(9),
    ];
    let mut most = 0;
    for seed in 1..=32u8 {
        let chance: Vec<u8> = (0..=255u8).map(|number| number.wrapping_mul(seed) ^ seed).collect();
        let (events, attempts) = converse(V7, &steps, false, &chance);
        assert_eq!(events.len(), 5);
        most = most.max(attempts);
    }
    assert!(most > 4, "{most}");
}
