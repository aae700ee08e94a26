//! Valid components with changed or missing bytes: each is accepted, or refused with a named
//! reason.

use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

use super::*;
use crate::InvalidComponent;

/// Number of mutations per valid component.
const MUTATIONS: usize = 400;

/// The component with up to four bits or a letter changed, truncated, or with a piece repeated or
/// removed.
fn mutated(component: &[u8], random: &mut ChaCha20Rng) -> Vec<u8> {
    let mut below = |limit: usize| random.next_u64() as usize % limit.max(1);
    let mut bytes = component.to_vec();
    match below(9) {
        0 => bytes.truncate(below(component.len())),
        1 => {
            let (from, length) = (below(component.len()), below(64));
            let piece = bytes[from..(from + length).min(component.len())].to_vec();
            bytes.splice(from..from, piece);
        }
        2 => {
            let from = below(component.len());
            bytes.drain(from..(from + 1 + below(8)).min(component.len()));
        }
        // Changed names: still readable, with another meaning.
        3 | 4 => {
            let is_letter = |at: &usize| component[*at].is_ascii_lowercase();
            let letters: Vec<usize> = (0..component.len()).filter(is_letter).collect();
            bytes[letters[below(letters.len())]] = b'a' + below(26) as u8;
        }
        _ => {
            for _ in 0..=below(4) {
                let at = below(component.len());
                bytes[at] ^= 1 << below(8);
            }
        }
    }
    bytes
}

async fn all_are_taken_or_refused_by_name(guest: &Guest, seed: u64) {
    let component = guest.component();
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    let wasm = host_with(&[], |config| config.limits.cpu_ms = 20);
    let mut refused = 0;
    for mutation in 0..MUTATIONS {
        let bytes = mutated(&component, &mut random);
        match wasm.inspect(bytes.into()).await {
            Ok(_) => {}
            // The host must not be at fault.
            Err(InvalidComponent::Host(reason)) => {
                panic!("mutation {mutation} of seed {seed}: {reason}")
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > MUTATIONS / 4, "only {refused} mutations were refused");
    assert!(refused < MUTATIONS, "none was taken: they are refused for another reason");
    assert_eq!(wasm.free_slots(), wasm.limits().instances as usize, "an instance was left behind");
}

#[tokio::test]
async fn a_mutated_component_is_taken_or_refused_by_name() {
    all_are_taken_or_refused_by_name(&Guest::default(), 1).await;
}

#[tokio::test]
async fn a_mutated_component_with_wasi_is_taken_or_refused_by_name() {
    let guest = Guest {
        imports: r#"
            (import "wasi:filesystem/types@0.2.0" "[method]descriptor.open-at"
              (func (param i32 i32 i32 i32 i32 i32 i32)))
            (import "wasi:random/random@0.2.0" "get-random-u64" (func (result i64)))"#
            .into(),
        wasi: true,
        ..Guest::default()
    };
    all_are_taken_or_refused_by_name(&guest, 2).await;
}
