//! A module: what is known of a component, which follows as a part of its own.
//!
//! ```text
//! module = format: u8 (1), then in postcard: digest: 32 bytes, size: u64, created_at: i64 (ms),
//!          aliases: list of texts, description: text (JSON)
//! ```

use segno_core::{id::Digest, time::Timestamp};
use serde::{Deserialize, Serialize};

const FORMAT: u8 = 1;

/// A module that executions of the bundle run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The SHA-256 of the component.
    pub digest: Digest,
    /// Bytes of the component; 0, if the host did not have it any more.
    pub size: u64,
    /// When it was uploaded.
    pub created_at: Timestamp,
    /// The names that stood for it when the bundle was made.
    pub aliases: Vec<String>,
    /// What it says of its functions, as JSON.
    pub description: String,
}

#[derive(Serialize, Deserialize)]
struct StoredModule {
    digest: [u8; 32],
    size: u64,
    created_at: i64,
    aliases: Vec<String>,
    description: String,
}

impl Module {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let stored = StoredModule {
            digest: self.digest.0,
            size: self.size,
            created_at: self.created_at.0,
            aliases: self.aliases.clone(),
            description: self.description.clone(),
        };
        postcard::to_extend(&stored, vec![FORMAT]).expect("a module holds nothing postcard refuses")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let stored: StoredModule = super::execution::decoded(FORMAT, bytes)?;
        let StoredModule { digest, size, created_at, aliases, description } = stored;
        let (digest, created_at) = (Digest(digest), Timestamp(created_at));
        Ok(Self { digest, size, created_at, aliases, description })
    }
}
