//! The seed of a suite's random numbers, printed and repeatable.

use segno::{demo::rng::DemoRng, runtime::Env};

/// The draws of this run; the seed is printed, and `SEGNO_SEED` sets it.
///
/// # Panics
/// `SEGNO_SEED` is not a number.
pub fn chance() -> DemoRng {
    let fresh = || Env::system().runtime.nonce() % 1_000_000;
    let seed = number("SEGNO_SEED").unwrap_or_else(fresh);
    eprintln!("seed {seed}: repeat with SEGNO_SEED={seed}");
    DemoRng::new(seed)
}

/// The number in the environment variable `name`.
///
/// # Panics
/// It is set and not a number.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("`{name}` must be a number, not `{text}`")))
}
