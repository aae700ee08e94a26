use std::fmt::Write;

use crate::transition::transition;
use crate::world::{self, World};

/// One durable step decides in microseconds however much else the store holds: the bound is loose, because other
/// work shares the machine, yet a scan of the rows would break it many times over.
#[test]
fn a_fence_with_one_record_costs_the_same_in_a_large_store() {
    let mut world = World::new();
    world.done(world::workflow("w"));
    let claim = world.acquire("w", 1);
    let mut name = String::new();
    for number in 0..20_000 {
        name.clear();
        write!(name, "other/{number}").expect("text can be written");
        let decision = transition(&world.state, &world::workflow(&name), world.now, &world.config);
        world.state.apply(&decision.delta);
    }
    let fence = world::fence(claim, vec![world::started()], Vec::new());
    let rounds = 20_000;
    let best = (0..5)
        .map(|_| {
            let before = cpu_time();
            for _ in 0..rounds {
                std::hint::black_box(transition(
                    &world.state,
                    std::hint::black_box(&fence),
                    world.now,
                    &world.config,
                ));
            }
            (cpu_time() - before) / f64::from(rounds)
        })
        .fold(f64::INFINITY, f64::min);
    println!("a fence with one record decides in {:.2} µs", best * 1e6);
    assert!(best < 20e-6, "a fence took {:.2} µs", best * 1e6);
}

/// Seconds of processor time this thread has used.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")
        .expect("Linux tells the time a thread ran");
    let nanoseconds: f64 = stat
        .split(' ')
        .next()
        .and_then(|field| field.parse().ok())
        .expect("it begins with a number");
    nanoseconds / 1e9
}
