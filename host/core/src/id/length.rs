//! How long a name may be.

use super::PromiseId;

/// The most bytes, as they are stored, of what a client names: the id of a promise or a schedule,
/// the key of a signal, the name of a resource, a holder, a module.
///
/// Every store looks names up in an index, and PostgreSQL's hold about 2,700 bytes a key, whatever
/// the text. So the limit is the same everywhere, and a name beyond it is refused when something is
/// made under it. What an earlier version made under a longer one is read and worked on as ever.
pub const LONGEST: usize = 2_048;

/// The most bytes of an id that lies under an invocation: its steps have room under the longest id
/// of a client's.
pub const LONGEST_MINTED: usize = 2_560;

/// A name with more bytes than a store looks up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (`{begins}…`) is too long: it takes {bytes} bytes, and {limit} are the most")]
pub struct TooLong {
    /// What it names.
    pub what: &'static str,
    /// How it begins.
    pub begins: String,
    /// Its bytes, as they are stored.
    pub bytes: usize,
    /// The limit.
    pub limit: usize,
}

/// Checks that stores can look up what a client named `text`.
///
/// # Errors
/// [`TooLong`].
pub fn fits(what: &'static str, text: &str) -> Result<(), TooLong> {
    fits_within(what, text, LONGEST)
}

/// Checks that stores can look up `id`, which lies under `owner`.
///
/// # Errors
/// [`TooLong`].
pub fn fits_under(owner: &PromiseId, id: &PromiseId) -> Result<(), TooLong> {
    // An owner beyond the limit was made by an earlier version, in a store that takes such ids; it
    // goes on.
    let before = Some(stored_bytes(owner.as_str())).filter(|bytes| *bytes > LONGEST_MINTED);
    let limit = before.map_or(LONGEST_MINTED, |bytes| bytes + LONGEST);
    fits_within("the id of a step", id.as_str(), limit)
}

/// Checks that what a client named `text` has at most `limit` bytes.
///
/// # Errors
/// [`TooLong`].
pub fn fits_within(what: &'static str, text: &str, limit: usize) -> Result<(), TooLong> {
    let bytes = stored_bytes(text);
    if bytes <= limit {
        return Ok(());
    }
    Err(TooLong { what, begins: text.chars().take(40).collect(), bytes, limit })
}

/// The bytes of a text in the store that needs most: U+0000 and U+0001 take two there.
fn stored_bytes(text: &str) -> usize {
    text.len() + text.bytes().filter(|byte| *byte <= 1).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::CommandIndex;

    #[test]
    fn a_name_that_no_index_holds_does_not_fit() {
        assert_eq!(fits("the id", &"x".repeat(LONGEST)), Ok(()));
        let refused = fits("the id", &"é".repeat(LONGEST / 2 + 1)).expect_err("too long");
        assert_eq!((refused.bytes, refused.limit), (LONGEST + 2, LONGEST));
        assert!(refused.to_string().len() < 200, "{refused}");
        // As PostgreSQL stores them.
        assert!(fits("the id", &"\u{0}".repeat(LONGEST / 2 + 1)).is_err());
        assert_eq!(fits("the id", &"\u{1}".repeat(LONGEST / 2)), Ok(()));
        // The longest id of a client's has room for its steps; an older one, longer than any, has
        // as well.
        for length in [LONGEST, LONGEST_MINTED + 1, 9_000] {
            let owner = PromiseId::new("x".repeat(length));
            assert_eq!(fits_under(&owner, &owner.command(CommandIndex(u32::MAX))), Ok(()));
        }
        let owner = PromiseId::new("x".repeat(LONGEST_MINTED));
        assert!(fits_under(&owner, &owner.command(CommandIndex(0))).is_err());
    }
}
