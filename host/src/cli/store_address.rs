//! The address of a host's store, as written on the command line.

use std::{convert::Infallible, fmt, path::PathBuf, str::FromStr};

/// The address of a store. It may contain a password, so it is never printed, not even if it cannot
/// be parsed.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum StoreAddress {
    /// A data directory.
    Sqlite(PathBuf),
    /// A database.
    Postgres(String),
    /// An address of an unknown kind.
    Unknown,
}

impl StoreAddress {
    /// The addresses of the databases, which may be several with spaces in between.
    pub(super) fn each(&self) -> Vec<Self> {
        match self {
            Self::Postgres(addresses) => {
                addresses.split_whitespace().map(|one| Self::Postgres(one.to_owned())).collect()
            }
            Self::Sqlite(_) | Self::Unknown => vec![self.clone()],
        }
    }
}

impl FromStr for StoreAddress {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        if let Some(dir) = text.strip_prefix("sqlite:") {
            return Ok(Self::Sqlite(PathBuf::from(dir.strip_prefix("//").unwrap_or(dir))));
        }
        match text.starts_with("postgres://") || text.starts_with("postgresql://") {
            true => Ok(Self::Postgres(text.to_owned())),
            false => Ok(Self::Unknown),
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
            Self::Unknown => "unknown",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_several_databases_are_separated_by_spaces() {
        let several = StoreAddress::Postgres("postgres://a/x  postgres://b/y".to_owned());
        let each = ["postgres://a/x", "postgres://b/y"].map(str::to_owned);
        assert_eq!(several.each(), each.map(StoreAddress::Postgres));
    }

    #[test]
    fn an_address_is_read_and_never_shown() {
        for (text, address) in [
            ("sqlite:data", StoreAddress::Sqlite(PathBuf::from("data"))),
            ("sqlite:///srv/data", StoreAddress::Sqlite(PathBuf::from("/srv/data"))),
            (
                "postgres://a:secret@b/c",
                StoreAddress::Postgres("postgres://a:secret@b/c".to_owned()),
            ),
            ("mysql://a:secret@b/c", StoreAddress::Unknown),
        ] {
            let read = text.parse::<StoreAddress>().unwrap_or_else(|never| match never {});
            assert_eq!(read, address);
            assert_eq!(read.each(), vec![read.clone()]);
            assert!(!format!("{read:?}").contains("secret"));
        }
    }
}
