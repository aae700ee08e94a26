//! Queries the compiler that is active in a folder, and provides the source that needs nothing
//! else.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Toolchain, ToolchainSource,
    search::{Strategy, Unavailable},
};
use crate::{BuildProgress, TARGET, process};

/// A rustc to query.
pub(super) struct Rustc {
    program: PathBuf,
    directory: PathBuf,
}

impl Rustc {
    /// Queries `program` in `directory`, for which rustup may choose another compiler.
    pub(super) fn new(program: PathBuf, directory: &Path) -> Self {
        Self { program, directory: directory.to_owned() }
    }

    /// The output for `arguments`, or an error message.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.directory);
        match process::run(&mut command, None, &|_| ()) {
            Ok(finished) if finished.success => Ok(finished.stdout.trim().to_owned()),
            Ok(finished) => {
                Err(format!("`{}` failed: {}", self.program.display(), finished.last_words()))
            }
            Err(_) => Err(format!("there is no `{}` to run", self.program.display())),
        }
    }

    /// The version line, such as `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub(super) fn version(&self) -> Result<String, String> {
        self.ask(&["--version"])
    }

    /// The output of `rustc -vV`: release, host and commit, one per line.
    pub(super) fn verbose_version(&self) -> Result<String, String> {
        self.ask(&["-vV"])
    }

    /// The folder of the compiler's own files.
    pub(super) fn sysroot(&self) -> Result<PathBuf, String> {
        self.ask(&["--print", "sysroot"]).map(PathBuf::from)
    }

    /// The name or path of the compiler.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// The folder in which the compiler is queried.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// This compiler as a toolchain of `road`, if it has the target's standard library.
    pub(super) fn with_own_library(&self, road: ToolchainSource) -> Result<Toolchain, String> {
        let version = self.version()?;
        let folder = self.ask(&["--print", "target-libdir", "--target", TARGET])?;
        if has_library(Path::new(&folder)) {
            Ok(Toolchain { road, rustc: None, sysroot: None, version })
        } else {
            Err(format!("the active {version} has no standard library for this target"))
        }
    }
}

/// The value of a line in the output of `rustc -vV`.
pub(super) fn field<'a>(verbose_version: &'a str, name: &str) -> Option<&'a str> {
    verbose_version.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// True if a target's library folder is complete: it has both `core` and `std`.
pub(super) fn has_library(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let has =
        |start: &str| names.iter().any(|name| name.starts_with(start) && name.ends_with(".rlib"));
    // If cargo built the library, `std` has no hash in its name, because it is also a dynamic
    // library.
    has("libcore-") && (has("libstd-") || has("libstd."))
}

/// The toolchain source that uses the active compiler with its own library for the target.
pub(super) struct Native<'a> {
    pub rustc: &'a Rustc,
}

impl Strategy for Native<'_> {
    fn road(&self) -> ToolchainSource {
        ToolchainSource::Native
    }

    fn finished(&self) -> Result<Toolchain, Unavailable> {
        self.rustc.with_own_library(ToolchainSource::Native).map_err(Unavailable::Shut)
    }

    fn prepare(&self, _: &dyn BuildProgress) -> Result<Toolchain, String> {
        self.rustc.with_own_library(ToolchainSource::Native)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_folder_with_one_end_missing_is_not_whole() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_library(&folder.path().join("none")));
        fs::write(folder.path().join("libcore-1f.rlib"), "").unwrap();
        fs::write(folder.path().join("libstd_detect-1f.rlib"), "").unwrap();
        assert!(!has_library(folder.path()));
        fs::write(folder.path().join("libstd-1f.rlib"), "").unwrap();
        assert!(has_library(folder.path()));
        fs::rename(folder.path().join("libstd-1f.rlib"), folder.path().join("libstd.rlib"))
            .unwrap();
        assert!(has_library(folder.path()));
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "rustc 1.95.0\nbinary: rustc\ncommit-hash: 59807\ncommit-date: 2026-04-14\nhost: x86_64-unknown-linux-gnu";
        assert_eq!(field(text, "host"), Some("x86_64-unknown-linux-gnu"));
        assert_eq!(field(text, "commit-hash"), Some("59807"));
        assert_eq!(field(text, "commit"), None);
    }

    #[test]
    fn a_compiler_that_is_not_there_is_named() {
        let rustc = Rustc::new("/nowhere/rustc".into(), Path::new("/"));
        let Err(Unavailable::Shut(reason)) = (Native { rustc: &rustc }).finished() else {
            panic!("found")
        };
        assert_eq!(reason, "there is no `/nowhere/rustc` to run");
    }
}
