//! Deterministic randomness: all random numbers of an invocation derive from its seed, so a replay
//! draws the same ones.

use serde::{Deserialize, Serialize};

use crate::{
    id::{CommandIndex, Digest, PromiseId},
    time::Timestamp,
};

/// Seed of a deterministic random number generator.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// The seed of an invocation created at this instant. It is not secret: do not derive keys from
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

    /// The seed inside the closure of a `run`. Drawing there does not advance the invocation's own
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
