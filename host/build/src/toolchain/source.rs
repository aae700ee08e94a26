//! The sources of toolchains.

use std::{env, fmt, str::FromStr};

use super::ToolchainError;

/// A source of a compiler for wasm, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolchainSource {
    /// The active compiler has the target's standard library.
    Native,
    /// The active compiler has the standard library's source installed.
    RustSrc,
    /// `rustup target add`.
    Rustup,
    /// A compiler and its library's source from Debian's packages, unpacked in the cache.
    Debian,
}

impl ToolchainSource {
    /// All sources, in order.
    pub const ALL: [Self; 4] = [Self::Native, Self::RustSrc, Self::Rustup, Self::Debian];

    const VARIABLE: &str = "SEGNO_WASM_TOOLCHAIN";

    pub(super) fn from_environment() -> Result<Option<Self>, ToolchainError> {
        match env::var(Self::VARIABLE) {
            Ok(name) if !name.is_empty() => name.parse().map(Some),
            _ => Ok(None),
        }
    }

    /// The name, as in `SEGNO_WASM_TOOLCHAIN`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::RustSrc => "rust-src",
            Self::Rustup => "rustup",
            Self::Debian => "debian",
        }
    }
}

impl fmt::Display for ToolchainSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for ToolchainSource {
    type Err = ToolchainError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|road| road.name() == name);
        found.ok_or_else(|| ToolchainError::UnknownRoad {
            variable: Self::VARIABLE,
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for road in ToolchainSource::ALL {
            assert_eq!(road.name().parse::<ToolchainSource>().unwrap(), road);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "debain".parse::<ToolchainSource>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`SEGNO_WASM_TOOLCHAIN` is `debain`, which is not one of native, rust-src, rustup, debian"
        );
    }
}
