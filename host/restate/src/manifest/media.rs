//! Versions of the manifest, and their media types.

use std::{fmt, str::FromStr};

const BEGIN: &str = "application/vnd.restate.endpointmanifest.v";
const END: &str = "+json";

/// A version of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManifestVersion {
    /// Services and handlers.
    V1 = 1,
    /// V1, and documentation and metadata.
    V2 = 2,
    /// V2, and timeouts, retention periods, lazy state, and private services and handlers.
    V3 = 3,
    /// V3, and retry policies and compression.
    V4 = 4,
}

/// A media type that is not a known version of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no version of the endpoint manifest")]
pub struct UnknownManifestVersion(pub String);

impl ManifestVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 4] = [Self::V1, Self::V2, Self::V3, Self::V4];

    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Media type of the version.
    pub fn media_type(self) -> String {
        format!("{BEGIN}{}{END}", self.number())
    }

    /// The value of `accept` that requests any version, as a runtime sends it.
    pub fn accept_all() -> String {
        Self::ALL.map(Self::media_type).join(", ")
    }

    /// Returns the newest version in an `accept` header, regardless of order. Ignores wildcards,
    /// because no version is readable for every client.
    pub fn choose(accept: &str) -> Option<Self> {
        accept
            .split(',')
            .filter(|part| !is_refused(part))
            .filter_map(|part| part.parse().ok())
            .max()
    }
}

/// Returns true if a part of `accept` has the weight 0.
fn is_refused(part: &str) -> bool {
    let weights = part.split(';').skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse::<f32>())
    });
    weights.flatten().any(|weight| weight <= 0.0)
}

impl fmt::Display for ManifestVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "V{}", self.number())
    }
}

impl FromStr for ManifestVersion {
    type Err = UnknownManifestVersion;

    /// Parses a media type; ignores its parameters.
    fn from_str(text: &str) -> Result<Self, UnknownManifestVersion> {
        let essence = text.split(';').next().unwrap_or_default().trim();
        Self::ALL
            .into_iter()
            .find(|version| essence.eq_ignore_ascii_case(&version.media_type()))
            .ok_or_else(|| UnknownManifestVersion(text.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_read_as_it_is_printed() {
        for version in ManifestVersion::ALL {
            let printed = version.media_type();
            let number = version.number();
            assert_eq!(printed, format!("application/vnd.restate.endpointmanifest.v{number}+json"));
            assert_eq!(printed.parse(), Ok(version));
            assert_eq!(format!(" {printed} ; charset=utf-8").parse(), Ok(version));
        }
        for text in
            ["", "*/*", "application/json", "application/vnd.restate.endpointmanifest.v5+json"]
        {
            assert_eq!(
                text.parse::<ManifestVersion>(),
                Err(UnknownManifestVersion(text.into())),
                "{text}"
            );
        }
    }

    #[test]
    fn the_newest_of_an_accept_list_is_chosen() {
        let of = |numbers: &[u32]| {
            let types = numbers.iter().map(|number| format!("{BEGIN}{number}{END}"));
            types.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(ManifestVersion::accept_all(), of(&[1, 2, 3, 4]));
        for (accept, expected) in [
            (of(&[1, 2, 3, 4]), Some(ManifestVersion::V4)),
            (of(&[3, 1]), Some(ManifestVersion::V3)),
            (of(&[2, 9]), Some(ManifestVersion::V2)),
            (format!("{};q=0.5, text/html", of(&[1])), Some(ManifestVersion::V1)),
            (format!("{}; q=0, {}", of(&[4]), of(&[2])), Some(ManifestVersion::V2)),
            ("*/*".into(), None),
            (of(&[5]), None),
            (String::new(), None),
        ] {
            assert_eq!(ManifestVersion::choose(&accept), expected, "{accept}");
        }
    }
}
