//! Length limits of names.

use super::PromiseId;

/// Maximum stored length of a name chosen by a client, in bytes: the id of a promise or a schedule,
/// the key of a signal, the name of a resource, a holder, a module.
///
/// Every store looks names up in an index, and a PostgreSQL index holds about 2,700 bytes per key,
/// regardless of the text. So the limit is the same everywhere. A longer name is refused when an
/// item is created under it. Items with longer names from earlier versions stay usable.
pub const LONGEST: usize = 2_048;

/// Maximum length of an id below an invocation, in bytes. It leaves room for steps below the
/// longest client-chosen id.
pub const LONGEST_MINTED: usize = 2_560;

/// Error: a name is too long for a store to index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (`{begins}…`) is too long: it takes {bytes} bytes, and {limit} are the most")]
pub struct NameLengthError {
    /// Kind of the name.
    pub what: &'static str,
    /// Beginning of the name.
    pub begins: String,
    /// Length in bytes, as stored.
    pub bytes: usize,
    /// Maximum length in bytes.
    pub limit: usize,
}

/// Checks that a name chosen by a client fits into the stores' indexes.
///
/// # Errors
/// [`NameLengthError`].
pub fn fits(what: &'static str, text: &str) -> Result<(), NameLengthError> {
    fits_within(what, text, LONGEST)
}

/// Checks that `id`, which is below `owner`, fits into the stores' indexes.
///
/// # Errors
/// [`NameLengthError`].
pub fn fits_under(owner: &PromiseId, id: &PromiseId) -> Result<(), NameLengthError> {
    // An owner beyond the limit was created by an earlier version, in a store that accepts such
    // ids. It must be able to continue.
    let before = Some(stored_bytes(owner.as_str())).filter(|bytes| *bytes > LONGEST_MINTED);
    let limit = before.map_or(LONGEST_MINTED, |bytes| bytes + LONGEST);
    fits_within("the id of a step", id.as_str(), limit)
}

/// Checks that a name chosen by a client has at most `limit` bytes.
///
/// # Errors
/// [`NameLengthError`].
pub fn fits_within(what: &'static str, text: &str, limit: usize) -> Result<(), NameLengthError> {
    let bytes = stored_bytes(text);
    if bytes <= limit {
        return Ok(());
    }
    Err(NameLengthError { what, begins: text.chars().take(40).collect(), bytes, limit })
}

/// Length of a text in the store that needs the most bytes: there, U+0000 and U+0001 take two each.
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
        // Lengths as PostgreSQL stores them.
        assert!(fits("the id", &"\u{0}".repeat(LONGEST / 2 + 1)).is_err());
        assert_eq!(fits("the id", &"\u{1}".repeat(LONGEST / 2)), Ok(()));
        // The longest client-chosen id has room for its steps, and so does an older id beyond the
        // limit.
        for length in [LONGEST, LONGEST_MINTED + 1, 9_000] {
            let owner = PromiseId::new("x".repeat(length));
            assert_eq!(fits_under(&owner, &owner.command(CommandIndex(u32::MAX))), Ok(()));
        }
        let owner = PromiseId::new("x".repeat(LONGEST_MINTED));
        assert!(fits_under(&owner, &owner.command(CommandIndex(0))).is_err());
    }
}
