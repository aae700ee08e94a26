//! The name of a new crate.

use std::fmt;
use std::str::FromStr;

/// A name that cargo accepts, that is usable in Rust code, and that is not reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateName(String);

/// Reason why a word cannot name a crate.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    /// The name contains characters that are not allowed.
    #[error(
        "`{0}` is no name for a project: begin with a lower-case letter, and use lower-case letters, digits, `-` and `_`"
    )]
    Letters(String),
    /// The name is too long for a folder, a file and a module's alias.
    #[error("`{0}` is too long for a project's name: use at most 64 letters")]
    TooLong(String),
    /// The name is reserved.
    #[error("`{0}` means something else in Rust or here; choose another name")]
    Taken(String),
}

/// Reserved names: keywords, crates that every program has, cargo's own words, and dependencies of
/// the new crate.
const TAKEN: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "segno",
    "segno_macro",
    "segno_sdk",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

impl CrateName {
    /// The name in the form that cargo uses.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as an identifier in Rust code.
    fn in_rust(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl fmt::Display for CrateName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for CrateName {
    type Err = NameError;

    fn from_str(word: &str) -> Result<Self, NameError> {
        let mut letters = word.chars();
        let begins = letters.next().is_some_and(|first| first.is_ascii_lowercase());
        let goes_on = letters.all(|letter| {
            letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter)
        });
        if !begins || !goes_on {
            return Err(NameError::Letters(word.to_owned()));
        }
        if word.len() > 64 {
            return Err(NameError::TooLong(word.to_owned()));
        }
        let name = Self(word.to_owned());
        if TAKEN.contains(&name.in_rust().as_str()) {
            return Err(NameError::Taken(name.0));
        }
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_cargo_and_rust_can_say() {
        for (word, expected) in [
            ("order", Ok(())),
            ("order-2_b", Ok(())),
            ("", Err("no name")),
            ("2order", Err("no name")),
            ("Order", Err("no name")),
            ("or der", Err("no name")),
            ("größe", Err("no name")),
            ("..", Err("no name")),
            ("match", Err("means something else")),
            ("segno-sdk", Err("means something else")),
            ("proc-macro", Err("means something else")),
            (&"x".repeat(64), Ok(())),
            (&"x".repeat(65), Err("too long")),
        ] {
            match (word.parse::<CrateName>(), expected) {
                (Ok(name), Ok(())) => assert_eq!(name.as_str(), word),
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{word}: {error}")
                }
                (other, _) => panic!("{word}: {other:?}"),
            }
        }
    }
}
