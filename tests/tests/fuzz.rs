//! Decoders and parsers of foreign bytes, run on seeds and on mutated copies of them.
//!
//! `SEGNO_FUZZ` sets the number of inputs for the fastest target (4,000; slower ones get fewer),
//! `SEGNO_FUZZ_TARGET` names the only target to run, `SEGNO_SEED` repeats a run's draws. A failure
//! prints the input in hexadecimal.

use std::panic::{AssertUnwindSafe, catch_unwind};

use segno_demo::rng::DemoRng;
use tests::{
    fuzz::{TARGETS, Target, mutate::mutated},
    seed,
};

#[test]
fn no_foreign_bytes_make_a_decoder_panic() {
    let inputs = seed::number("SEGNO_FUZZ").unwrap_or(4_000);
    let only = std::env::var("SEGNO_FUZZ_TARGET").ok();
    let mut chance = seed::chance();
    let chosen = |target: &&Target| only.as_ref().is_none_or(|name| name == target.name);
    let mut run = 0;
    for target in TARGETS.iter().filter(chosen) {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "`{}` has no seeds", target.name);
        seeds.iter().for_each(|seed| try_out(target, seed));
        for _ in 0..(inputs / u64::from(target.weight)).max(8) {
            try_out(target, &mutated(&seeds, &mut chance));
            run += 1;
        }
    }
    assert!(run > 0, "there is no such target; there are {:?}", TARGETS.map(|target| target.name));
}

fn try_out(target: &Target, bytes: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_err() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        panic!("`{}` panics at {hex}", target.name);
    }
}

#[test]
fn changed_copies_differ_and_are_repeated_by_their_seed() {
    let seeds = [b"a seed of some length".to_vec(), vec![0; 40]];
    let draw = |seed| {
        let mut chance = DemoRng::new(seed);
        (0..200).map(|_| mutated(&seeds, &mut chance)).collect::<Vec<_>>()
    };
    assert_eq!(draw(1), draw(1));
    let mut distinct = draw(1);
    distinct.sort();
    distinct.dedup();
    assert!(distinct.len() > 150, "only {} of 200 copies differ", distinct.len());
}
