//! Offsets as texts: two numbers with a fixed number of digits, so that they sort as texts. The
//! second one is the position. The first one is zero, as in the protocol's reference server.

use super::super::ApiError;

/// Number of digits of a position.
const DIGITS: usize = 16;
const FIRST: &str = "0000000000000000_";

/// Where a read begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadStart {
    /// At a position; 0 for `-1`.
    At(u64),
    /// At the end, for `now`.
    Now,
}

/// The offset of a position.
pub(crate) fn offset(position: u64) -> String {
    format!("{FIRST}{position:0DIGITS$}")
}

/// The position of an offset. `None` if the text is no offset of this host.
pub(super) fn position(offset: &str) -> Option<u64> {
    let digits = offset.strip_prefix(FIRST)?;
    let is_position = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_position.then(|| digits.parse().ok()).flatten()
}

impl ReadStart {
    /// Where a read from this offset begins.
    pub(super) fn parse(offset: &str) -> Result<Self, ApiError> {
        match offset {
            "-1" => Ok(Self::At(0)),
            "now" => Ok(Self::Now),
            other => position(other).map(Self::At).ok_or_else(|| {
                let given: String = other.chars().take(40).collect();
                ApiError::BadQuery(format!(
                    "`offset` is `{}`: give the `Stream-Next-Offset` of an answer, -1 for the beginning, or now",
                    given.escape_debug()
                ))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_sort_as_their_positions() {
        assert_eq!(offset(12), "0000000000000000_0000000000000012");
        assert!(offset(9) < offset(10) && offset(99_999) < offset(100_000));
        assert_eq!(position(&offset(7)), Some(7));
        for bad in [
            "",
            "7",
            "-1",
            "0000000000000012",
            "0000000000000000_000000000000001x",
            "0000000000000001_0000000000000000",
            "../etc/passwd__",
        ] {
            assert_eq!(position(bad), None, "{bad}");
        }
        assert_eq!(ReadStart::parse("-1").ok(), Some(ReadStart::At(0)));
        assert_eq!(ReadStart::parse("now").ok(), Some(ReadStart::Now));
        assert!(ReadStart::parse("0,1").is_err());
    }
}
