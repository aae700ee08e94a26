//! The hash chain: each link covers a part and the link before it, so that a changed, missing,
//! added or moved part breaks the chain at its place.
//!
//! ```text
//! link 0     SHA-256 of the first line
//! link n     SHA-256 of (link n-1, the header of part n, the stored body of part n)
//! ```

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Size of a link, in bytes.
pub(crate) const LINK_BYTES: usize = 32;

/// A link of the chain. The last link of a bundle identifies the whole bundle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChainLink(pub [u8; LINK_BYTES]);

impl ChainLink {
    /// The first link, computed from the bundle's first line.
    pub(crate) fn first(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// The link of the next part.
    pub(crate) fn next(self, header: &[u8], body: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(header);
        hasher.update(body);
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for ChainLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({self})")
    }
}
