//! Random numbers from a printed seed, so that a run can be repeated.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use segno_core::time::Millis;

#[derive(Debug, Clone)]
pub struct DemoRng(ChaCha8Rng);

impl DemoRng {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number in `from..=to`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        // The ranges are tiny compared to 2^64, so the modulo bias is negligible.
        from + self.0.next_u64() % (to - from + 1)
    }

    /// A duration in `from..=to` milliseconds.
    pub fn length(&mut self, from: u64, to: u64) -> Millis {
        Millis(i64::try_from(self.between(from, to)).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_stays_within_its_range() {
        let draw = |seed| {
            let mut rng = DemoRng::new(seed);
            (0..100).map(|_| rng.between(3, 7)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(
            draw(1).into_iter().collect::<std::collections::BTreeSet<_>>(),
            (3..=7).collect()
        );
    }
}
