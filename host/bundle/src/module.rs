//! A module: the metadata of a component, which follows as a separate part.
//!
//! ```text
//! module = format: u8 (1), then in postcard: digest: 32 bytes, size: u64, created_at: i64 (ms),
//!          aliases: list of texts, description: text (JSON)
//! ```

use segno_core::{id::Digest, time::Timestamp};
use serde::{Deserialize, Serialize};

const FORMAT: u8 = 1;

/// A module that executions of the bundle run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleModule {
    /// SHA-256 of the component.
    pub digest: Digest,
    /// Size of the component, in bytes; 0 if the host no longer had it.
    pub size: u64,
    /// Upload time.
    pub created_at: Timestamp,
    /// The aliases of the module when the bundle was made.
    pub aliases: Vec<String>,
    /// The module's description of its functions, as JSON.
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

impl BundleModule {
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
