//! The guests of the suites, beside the examples: each is a crate under `tests/guests`.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, OnceLock},
};

use crate::guests;

/// The crates, by package name.
const FIXTURES: [&str; 14] = [
    "hostile",
    "ambient",
    "gaps",
    "tune-one",
    "tune-two",
    "herald",
    "bridge",
    "flows",
    "configured",
    "journey",
    "shelf",
    "narrow",
    "wide",
    "planted",
];

/// The component of the crate `tests/guests/{name}`; all of them are built once in a run.
///
/// # Panics
/// There is no such crate, or they cannot be built; the message says why.
pub fn fixture(name: &str) -> Vec<u8> {
    static BUILT: OnceLock<BTreeMap<&'static str, Arc<[u8]>>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests");
        let folders: Vec<_> = FIXTURES.iter().map(|name| folder.join(name)).collect();
        FIXTURES.into_iter().zip(guests::build(&folders)).collect()
    });
    built.get(name).unwrap_or_else(|| panic!("there is no fixture `{name}`")).to_vec()
}

/// The component of the example `name`.
///
/// # Panics
/// There is no such example, or they cannot be built; the message says why.
pub fn example(name: &str) -> Vec<u8> {
    let examples = guests::examples();
    examples.get(name).unwrap_or_else(|| panic!("there is no example `{name}`")).to_vec()
}
