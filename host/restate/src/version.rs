//! Versions of the protocol: families, media types, and negotiation.

use std::{fmt, str::FromStr};

/// Prefix of the protocol's media types; the version number follows.
const MEDIA_TYPE: &str = "application/vnd.restate.invocation.v";

/// A version of the protocol. V4 was never released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolVersion {
    /// Entries that are completed in place.
    V1 = 1,
    /// V1, and retries: number of failed attempts, and delay of the next one.
    V2 = 2,
    /// V2, and entries that cancel, attach to and read other invocations.
    V3 = 3,
    /// Commands and notifications, in an append-only journal.
    V5 = 5,
    /// V5, and the random seed and metadata of failures.
    V6 = 6,
    /// V6, and trees of waits, acknowledged runs, scopes, and error behaviors.
    V7 = 7,
    /// V7, and reads of state that are not journaled.
    V8 = 8,
}

/// The two journal formats. Their frames share type numbers but differ in meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProtocolFamily {
    /// V1 to V3: an entry is completed in place.
    Mutable,
    /// V5 to V8: a result is a separate record.
    Immutable,
}

impl ProtocolVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 7] =
        [Self::V1, Self::V2, Self::V3, Self::V5, Self::V6, Self::V7, Self::V8];

    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The version with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    /// Returns the family of the version.
    pub const fn family(self) -> ProtocolFamily {
        match self {
            Self::V1 | Self::V2 | Self::V3 => ProtocolFamily::Mutable,
            Self::V5 | Self::V6 | Self::V7 | Self::V8 => ProtocolFamily::Immutable,
        }
    }

    /// Returns the media type of requests and responses in this version.
    pub fn media_type(self) -> String {
        format!("{MEDIA_TYPE}{}", self.number())
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "V{}", self.number())
    }
}

/// The reason why a media type is not a known version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMediaType {
    /// The media type is not one of the protocol.
    #[error("`{0}` is not a media type of the invocation protocol")]
    Other(String),
    /// The version does not exist, or is newer than this library.
    #[error("version `{0}` of the invocation protocol is unknown")]
    Version(String),
}

impl FromStr for ProtocolVersion {
    type Err = UnknownMediaType;

    fn from_str(text: &str) -> Result<Self, UnknownMediaType> {
        let Some(number) = text.trim().strip_prefix(MEDIA_TYPE) else {
            return Err(UnknownMediaType::Other(text.to_owned()));
        };
        // Only the canonical form: neither `+6` nor `06`.
        Self::ALL
            .into_iter()
            .find(|version| version.number().to_string() == number)
            .ok_or_else(|| UnknownMediaType::Version(number.to_owned()))
    }
}

/// A range of versions from `min` to `max`, both inclusive, as announced in a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionRange {
    /// The oldest version.
    pub min: u32,
    /// The newest version.
    pub max: u32,
}

impl fmt::Display for VersionRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "[{}, {}]", self.min, self.max)
    }
}

/// A deployment and a runtime without a common version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the deployment speaks the protocol versions {deployment} and this runtime {runtime}; none is in both"
)]
pub struct NoCommonVersion {
    /// Versions that the deployment announces.
    pub deployment: VersionRange,
    /// Versions that the runtime supports.
    pub runtime: VersionRange,
}

impl VersionRange {
    /// All versions that this library supports.
    pub const ALL: Self = Self { min: 1, max: 8 };

    /// Returns the newest version in both this range, of a deployment, and the range of `runtime`.
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

    /// Returns true if the range contains this version.
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
            let expected = if version.number() < 4 {
                ProtocolFamily::Mutable
            } else {
                ProtocolFamily::Immutable
            };
            assert_eq!(version.family(), expected, "{version}");
        }
    }
}
