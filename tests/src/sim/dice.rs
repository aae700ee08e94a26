//! Random numbers from a seed. Each purpose has its own generator, so that a removed draw affects
//! no other purpose.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Creates the stream of `purpose` for `seed`.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mixed = purpose
            .bytes()
            .fold(seed ^ 0x9E37_79B9_7F4A_7C15, |mixed, byte| mix(mixed ^ u64::from(byte)));
        Self(mixed)
    }

    /// A number below `bound`, which must be greater than 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0) % bound
    }

    /// A number of `from..=to`.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        let width = u64::try_from(to - from + 1).expect("ranges are not empty");
        from + i64::try_from(self.below(width)).expect("ranges are short")
    }

    /// Returns true with a probability of `per_mille` thousandths.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && self.below(1_000) < per_mille
    }

    /// One of `choices`.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        let index = usize::try_from(self.below(choices.len() as u64)).expect("slices are short");
        choices[index].clone()
    }
}

/// The finaliser of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
