use std::fmt::Write;

use crate::{
    transition::transition,
    world::{self, World},
};

/// A durable step is decided by the rows that it names, so what else the store holds costs next to
/// nothing. The bound is loose, because a lookup among 20,000 rows takes a little longer than one
/// among two; a scan of them would break it many times over. Both are measured here, on one
/// machine, in turns.
#[test]
fn a_fence_costs_about_as_much_in_a_large_store_as_in_a_small_one() {
    let (small, large) = (held(0), held(20_000));
    let (mut in_small, mut in_large) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        in_small = in_small.min(cost(&small));
        in_large = in_large.min(cost(&large));
    }
    let times = in_large / in_small;
    println!(
        "a fence takes {:.2} µs in a small store and {times:.1} times that in a large one",
        in_small * 1e6
    );
    assert!(times < 10.0, "a fence takes {times:.1} times as long among 20,000 others");
}

/// A claim on `w`, in a store with this number of other workflows.
fn held(others: u32) -> World {
    let mut world = World::new();
    world.done(world::workflow("w"));
    world.acquire("w", 1);
    let mut name = String::new();
    for number in 0..others {
        name.clear();
        write!(name, "other/{number}").expect("text can be written");
        let decision = transition(&world.state, &world::workflow(&name), world.now, &world.config);
        world.state.apply(&decision.delta);
    }
    world
}

/// Seconds of processor time that the decision about a fence with one record takes.
fn cost(world: &World) -> f64 {
    const ROUNDS: u32 = 5_000;
    let fence = world::fence(world::claim("w", 1), vec![world::started()], Vec::new());
    let before = cpu_time();
    for _ in 0..ROUNDS {
        let fence = std::hint::black_box(&fence);
        std::hint::black_box(transition(&world.state, fence, world.now, &world.config));
    }
    (cpu_time() - before) / f64::from(ROUNDS)
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
