//! The seed of a suite's random numbers. It is printed, so that a run can be repeated.

use segno_demo::rng::DemoRng;
use segno_env::Env;

/// Random numbers of this run. The seed is printed, and `SEGNO_SEED` sets it.
///
/// # Panics
/// If `SEGNO_SEED` is not a number.
pub fn chance() -> DemoRng {
    let fresh = || Env::system().runtime.nonce() % 1_000_000;
    let seed = number("SEGNO_SEED").unwrap_or_else(fresh);
    eprintln!("seed {seed}: repeat with SEGNO_SEED={seed}");
    DemoRng::new(seed)
}

/// Number in the environment variable `name`. `None` if it is not set.
///
/// # Panics
/// If it is set and not a number.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("`{name}` must be a number, not `{text}`")))
}
