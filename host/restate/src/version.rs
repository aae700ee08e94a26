//! Versions of the protocol: their two families, their media types, and the choice of one.

use std::{fmt, str::FromStr};

/// What a media type of the protocol begins with; `N` and nothing else follows.
const MEDIA_TYPE: &str = "application/vnd.restate.invocation.v";

/// A version that can be spoken. V4 was never released, so it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolVersion {
    /// Entries that are completed in place.
    V1,
    /// V1, and retries: how often an attempt failed, and when to try again.
    V2,
    /// V2, and entries that cancel, attach to and look at other invocations.
    V3,
    /// Commands and notifications, in a journal that only grows.
    V5,
    /// V5, and the random seed and metadata of failures.
    V6,
    /// V6, and waits as trees, acknowledged runs, scopes, and what to do after an error.
    V7,
    /// V7, and reads of state that are not journaled.
    V8,
}

/// The two shapes of a journal; their frames have the same numbers and other meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// V1 to V3: an entry gets its result later, in place.
    Mutable,
    /// V5 to V8: a result is a record of its own.
    Immutable,
}

impl ProtocolVersion {
    /// Every version, the oldest first.
    pub const ALL: [Self; 7] =
        [Self::V1, Self::V2, Self::V3, Self::V5, Self::V6, Self::V7, Self::V8];

    /// The version's number.
    pub const fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
            Self::V3 => 3,
            Self::V5 => 5,
            Self::V6 => 6,
            Self::V7 => 7,
            Self::V8 => 8,
        }
    }

    /// The version with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    /// The shape of its journal.
    pub const fn family(self) -> Family {
        match self {
            Self::V1 | Self::V2 | Self::V3 => Family::Mutable,
            Self::V5 | Self::V6 | Self::V7 | Self::V8 => Family::Immutable,
        }
    }

    /// The media type of requests and responses in this version.
    pub fn media_type(self) -> String {
        format!("{MEDIA_TYPE}{}", self.number())
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "V{}", self.number())
    }
}

/// Why a media type names no version that can be spoken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMediaType {
    /// It is a media type of something else.
    #[error("`{0}` is not a media type of the invocation protocol")]
    Other(String),
    /// It names a version that never was, or one that is newer than this library.
    #[error("version `{0}` of the invocation protocol is unknown")]
    Version(String),
}

impl FromStr for ProtocolVersion {
    type Err = UnknownMediaType;

    fn from_str(text: &str) -> Result<Self, UnknownMediaType> {
        let Some(number) = text.trim().strip_prefix(MEDIA_TYPE) else {
            return Err(UnknownMediaType::Other(text.to_owned()));
        };
        // The printed form alone: neither `+6` nor `06`.
        Self::ALL
            .into_iter()
            .find(|version| version.number().to_string() == number)
            .ok_or_else(|| UnknownMediaType::Version(number.to_owned()))
    }
}

/// Versions from `min` to `max`, both included, as a manifest announces them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionRange {
    /// The oldest.
    pub min: u32,
    /// The newest.
    pub max: u32,
}

impl fmt::Display for VersionRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "[{}, {}]", self.min, self.max)
    }
}

/// A deployment and a runtime that have no version in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the deployment speaks the protocol versions {deployment} and this runtime {runtime}; none is in both"
)]
pub struct NoCommonVersion {
    /// What the deployment announces.
    pub deployment: VersionRange,
    /// What the runtime speaks.
    pub runtime: VersionRange,
}

impl VersionRange {
    /// Everything that this library speaks.
    pub const ALL: Self = Self { min: 1, max: 8 };

    /// The newest version that is in this range of a deployment and in the one of a `runtime`.
    ///
    /// # Errors
    /// [`NoCommonVersion`], with both ranges.
    pub fn negotiate(self, runtime: Self) -> Result<ProtocolVersion, NoCommonVersion> {
        ProtocolVersion::ALL
            .into_iter()
            .rev()
            .find(|version| self.contains(*version) && runtime.contains(*version))
            .ok_or(NoCommonVersion { deployment: self, runtime })
    }

    /// Whether the range has this version.
    pub fn contains(self, version: ProtocolVersion) -> bool {
        (self.min..=self.max).contains(&version.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_read_as_it_is_printed_and_in_no_other_way() {
        for version in ProtocolVersion::ALL {
            let printed = version.media_type();
            assert_eq!(
                printed,
                format!("application/vnd.restate.invocation.v{}", version.number())
            );
            assert_eq!(printed.parse(), Ok(version));
        }
        for number in ["4", "9", "0", "06", "+6", "6 7", ""] {
            let text = format!("{MEDIA_TYPE}{number}");
            let refused = text.parse::<ProtocolVersion>();
            assert_eq!(refused, Err(UnknownMediaType::Version(number.into())), "{text}");
        }
        assert!(matches!(
            "application/json".parse::<ProtocolVersion>(),
            Err(UnknownMediaType::Other(_))
        ));
    }

    #[test]
    fn the_newest_common_version_is_chosen() {
        let range = |min, max| VersionRange { min, max };
        let rows = [
            (range(5, 7), range(1, 6), Some(ProtocolVersion::V6)),
            (range(5, 7), range(5, 8), Some(ProtocolVersion::V7)),
            (range(1, 1), range(1, 8), Some(ProtocolVersion::V1)),
            (range(3, 4), range(1, 8), Some(ProtocolVersion::V3)),
            (range(1, 99), range(1, 8), Some(ProtocolVersion::V8)),
            (range(4, 4), range(1, 8), None),
            (range(1, 2), range(5, 7), None),
            (range(7, 5), range(1, 8), None),
        ];
        for (deployment, runtime, expected) in rows {
            assert_eq!(deployment.negotiate(runtime).ok(), expected, "{deployment} {runtime}");
        }
        let refused = range(1, 1).negotiate(range(5, 7)).unwrap_err().to_string();
        assert!(refused.contains("[1, 1]") && refused.contains("[5, 7]"), "{refused}");
    }

    #[test]
    fn families_divide_at_the_version_that_never_was() {
        for version in ProtocolVersion::ALL {
            let expected = if version.number() < 4 { Family::Mutable } else { Family::Immutable };
            assert_eq!(version.family(), expected, "{version}");
        }
    }
}
