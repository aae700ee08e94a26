//! The programming languages of projects.

use std::{fmt, path::Path};

/// A language that has a template and can be built into a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// A crate, compiled by cargo.
    Rust,
    /// An npm package, bundled and run by QuickJS. TypeScript is bundled as well.
    JavaScript,
    /// A module `app`, run by CPython.
    Python,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 3] = [Self::Rust, Self::JavaScript, Self::Python];

    /// The short name, as in `segno new --lang`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::JavaScript => "js",
            Self::Python => "py",
        }
    }

    /// Files that identify a project of this language; the first is its manifest.
    pub(super) fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["Cargo.toml"],
            Self::JavaScript => &["package.json"],
            Self::Python => &["pyproject.toml", "app.py"],
        }
    }

    /// The language of the project in `folder`: the first one with an identifying file. A crate or
    /// Python project may also have a `package.json` for tools; the shim then tells a Python
    /// project apart.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let has = |name: &str| folder.join(name).is_file();
        let marked = |language: &Self| language.marks().iter().any(|mark| has(mark));
        if !has("Cargo.toml") && has("segno.py") && !has("segno.js") && marked(&Self::Python) {
            return Some(Self::Python);
        }
        Self::ALL.into_iter().find(marked)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Rust => "Rust",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_project_is_recognised_by_its_files() {
        for (files, expected) in [
            (&["Cargo.toml", "package.json"][..], Some(Language::Rust)),
            (&["package.json"], Some(Language::JavaScript)),
            (&["pyproject.toml"], Some(Language::Python)),
            (&["app.py", "segno.py"], Some(Language::Python)),
            (&["pyproject.toml", "segno.py", "package.json"], Some(Language::Python)),
            (&["pyproject.toml", "segno.js", "package.json"], Some(Language::JavaScript)),
            (&["README.md"], None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            files.iter().for_each(|name| fs::write(folder.path().join(name), "").unwrap());
            assert_eq!(Language::of(folder.path()), expected, "{files:?}");
        }
    }
}
