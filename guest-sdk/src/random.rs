//! Random numbers that are the same in every replay.

use std::{convert::Infallible, fmt::Write, sync::Arc};

use chacha20::rand_core::{Rng, TryRng};

use crate::invocation::CurrentInvocation;

/// The generator of one invocation (ChaCha with 12 rounds, from the invocation's seed). It
/// implements the traits of `rand_core` 0.10, so it works with the `rand` crate.
///
/// In the closure of a [`run`](crate::Context::run), numbers come from a separate generator of that
/// closure, so that later numbers do not depend on the closure being executed or replayed.
#[derive(Clone)]
pub struct Random(pub(crate) Arc<CurrentInvocation>);

impl Random {
    /// A uniformly distributed number.
    pub fn u64(&mut self) -> u64 {
        self.next_u64()
    }

    /// A number from 0 up to, not including, `bound`, uniformly distributed; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Numbers above the largest multiple of `bound` would make small results more likely.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let drawn = self.next_u64();
            if drawn < limit {
                return drawn % bound;
            }
        }
    }

    /// A number from 0 up to, not including, 1.
    pub fn f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A random UUID (version 4) as text.
    pub fn uuid(&mut self) -> String {
        let mut bytes = [0; 16];
        self.fill_bytes(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut text = String::with_capacity(36);
        for (place, byte) in bytes.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            write!(text, "{byte:02x}").expect("writing to a string does not fail");
        }
        text
    }
}

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.with_random(Rng::next_u32))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.with_random(Rng::next_u64))
    }

    fn try_fill_bytes(&mut self, place: &mut [u8]) -> Result<(), Infallible> {
        self.0.with_random(|random| random.fill_bytes(place));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};

    use super::*;

    /// A crate that is rebuilt with a later SDK must draw the same numbers.
    #[test]
    fn the_numbers_of_a_seed_are_always_the_same() {
        let mut random = ChaCha12Rng::from_seed([7; 32]);
        assert_eq!(random.next_u64(), 2_363_194_108_971_422_454);
        assert_eq!(random.next_u64(), 13_552_751_203_817_743_523);
        assert_eq!(random.next_u32(), 4_053_010_230);
        let mut inside_run = ChaCha12Rng::from_seed([7; 32]);
        inside_run.set_stream(4);
        assert_eq!(inside_run.next_u64(), 10_375_285_251_081_987_355);
    }
}
