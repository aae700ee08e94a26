//! Randomness as a value: all of an invocation's random numbers follow from its seed, so a replay
//! draws them again.

use serde::{Deserialize, Serialize};

use crate::{
    id::{CommandIndex, Digest, PromiseId},
    time::Timestamp,
};

/// What a deterministic generator is begun with.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// The seed of an invocation made at this instant. It is not a secret: do not draw keys from
    /// it.
    pub fn of(invocation: &PromiseId, created_at: Timestamp) -> Self {
        Self(
            Digest::of_parts(&[
                b"seed",
                invocation.as_str().as_bytes(),
                &created_at.0.to_le_bytes(),
            ])
            .0,
        )
    }

    /// The seed inside the closure of a `run`: drawing there does not move the invocation's own
    /// generator.
    pub fn of_run(self, index: CommandIndex) -> Self {
        Self(Digest::of_parts(&[b"run", &self.0, &index.0.to_le_bytes()]).0)
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Digest(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_by_invocation_time_and_run() {
        let seed = Seed::of(&PromiseId::from("a"), Timestamp(1));
        assert_eq!(seed, Seed::of(&PromiseId::from("a"), Timestamp(1)));
        assert_ne!(seed, Seed::of(&PromiseId::from("b"), Timestamp(1)));
        assert_ne!(seed, Seed::of(&PromiseId::from("a"), Timestamp(2)));
        assert_ne!(seed.of_run(CommandIndex(0)), seed.of_run(CommandIndex(1)));
    }
}
