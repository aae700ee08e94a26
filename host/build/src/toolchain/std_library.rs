//! Builds the standard library for the target, once, from a compiler's own sources.
//!
//! The compiler and the source must be of the same release: the library uses unstable features of
//! exactly that compiler.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::native::has_library;
use crate::{BuildProgress, TARGET, cargo, process};

/// The prefix of build folders; those left by a killed run are removed by [`clean`].
const BUILD: &str = "build.";

/// The source of a standard library, and the compiler it belongs to.
pub(super) struct StdLibrary<'a> {
    pub rustc: &'a Path,
    /// The folder in which to call the compiler; elsewhere, rustup may choose another one.
    pub directory: &'a Path,
    /// The source folder `library`.
    pub source: &'a Path,
    /// The path that replaces the source folder in panic messages: `/rustc/{commit}`.
    pub shown: String,
}

impl StdLibrary<'_> {
    /// Builds the library in a new folder under `scratch` and moves it to `into`, which must be on
    /// the same file system.
    pub(super) fn build(
        &self,
        scratch: &Path,
        into: &Path,
        progress: &dyn BuildProgress,
    ) -> Result<(), String> {
        progress
            .step(&format!("building Rust's standard library for {TARGET} (once; about a minute)"));
        let work =
            tempfile::Builder::new().prefix(BUILD).tempdir_in(scratch).map_err(failed(scratch))?;
        self.write_package(work.path()).map_err(failed(work.path()))?;
        self.compile(work.path(), progress)?;

        let compiled = work.path().join("target").join(TARGET).join("release/deps");
        let whole = work.path().join("lib");
        collect_libraries(&compiled, &whole).map_err(failed(&compiled))?;
        if !has_library(&whole) {
            return Err("cargo built no standard library from its source".to_owned());
        }
        move_into_place(&whole, into).map_err(failed(into))
    }

    /// Writes a private package around the library: cargo then ignores the library's
    /// dev-dependencies, which a vendored source lacks, and nothing is written into the source.
    fn write_package(&self, work: &Path) -> io::Result<()> {
        fs::create_dir(work.join("src"))?;
        fs::write(work.join("src/lib.rs"), "#![no_std]\n")?;
        fs::copy(self.source.join("Cargo.lock"), work.join("Cargo.lock"))?;
        let path = |name: &str| quoted(&self.source.join(name));
        let manifest = format!(
            r#"[package]
name = "segno-sysroot"
version = "0.0.0"
edition = "2021"

[workspace]

[dependencies]
sysroot = {{ path = {sysroot} }}

[patch.crates-io]
rustc-std-workspace-core = {{ path = {core} }}
rustc-std-workspace-alloc = {{ path = {alloc} }}
rustc-std-workspace-std = {{ path = {std} }}

[profile.release]
debug = 0

[profile.release.package.compiler_builtins]
codegen-units = 10000
"#,
            sysroot = path("sysroot"),
            core = path("rustc-std-workspace-core"),
            alloc = path("rustc-std-workspace-alloc"),
            std = path("rustc-std-workspace-std"),
        );
        fs::write(work.join("Cargo.toml"), manifest)?;
        if let Some(vendor) = self.vendored() {
            let config = format!(
                "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = {}\n",
                quoted(&vendor)
            );
            fs::write(work.join("vendored.toml"), config)?;
        }
        Ok(())
    }

    /// The vendored dependencies of the library, if they come with the source.
    fn vendored(&self) -> Option<PathBuf> {
        Some(self.source.join("vendor")).filter(|folder| folder.is_dir())
    }

    fn compile(&self, work: &Path, progress: &dyn BuildProgress) -> Result<(), String> {
        // With bitcode, so that workflows can be linked with LTO.
        let mut flags =
            vec!["-Zforce-unstable-if-unmarked".to_owned(), "-Cembed-bitcode=yes".to_owned()];
        let root = self.source.parent().unwrap_or(self.source);
        flags.push(format!("--remap-path-prefix={}={}", root.display(), self.shown));
        if let Some(home) = cargo::cargo_home() {
            flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
        }

        let mut command = cargo::cargo();
        command
            .current_dir(self.directory)
            .env("RUSTC", self.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .args(["build", "--package", "sysroot", "--release", "--target", TARGET])
            .arg("--manifest-path")
            .arg(work.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(work.join("target"));
        if self.vendored().is_some() {
            command.arg("--config").arg(work.join("vendored.toml")).arg("--offline");
        }
        match process::run(&mut command, None, &|line| progress.line(line)) {
            Ok(finished) if finished.success => Ok(()),
            Ok(finished) => {
                Err(format!("the standard library did not build: {}", finished.last_words()))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Removes folders that killed runs left in `scratch`. The caller must hold the cache's lock.
pub(super) fn clean(scratch: &Path) -> Result<(), String> {
    let entries = match fs::read_dir(scratch) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(scratch)(error)),
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(BUILD) || name.ends_with(".tmp") {
            fs::remove_dir_all(entry.path()).map_err(failed(&entry.path()))?;
        }
    }
    Ok(())
}

/// An error that names the path for which the system failed.
pub(super) fn failed(path: &Path) -> impl FnOnce(io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("`{path}`: {error}")
}

fn collect_libraries(compiled: &Path, whole: &Path) -> io::Result<()> {
    fs::create_dir(whole)?;
    for entry in fs::read_dir(compiled)? {
        let path = entry?.path();
        if let (Some("rlib"), Some(name)) =
            (path.extension().and_then(|ending| ending.to_str()), path.file_name())
        {
            fs::copy(&path, whole.join(name))?;
        }
    }
    Ok(())
}

fn move_into_place(whole: &Path, into: &Path) -> io::Result<()> {
    if into.exists() {
        fs::remove_dir_all(into)?;
    }
    if let Some(parent) = into.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(whole, into)
}

/// The path as a TOML string.
fn quoted(path: &Path) -> toml::Value {
    toml::Value::String(path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_killed_runs_left_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        for name in ["build.a1b2", "debian-1.96.tmp", "debian-1.95", "rust-src-1"] {
            fs::create_dir_all(cache.path().join(name).join("usr")).unwrap();
        }
        fs::write(cache.path().join("lock"), "").unwrap();
        clean(cache.path()).unwrap();
        clean(&cache.path().join("none")).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["debian-1.95", "lock", "rust-src-1"]);
    }

    #[test]
    fn the_package_around_the_library_is_readable_for_any_path() {
        let source =
            tempfile::Builder::new().prefix("with \"quotes\" and space").tempdir().unwrap();
        fs::write(source.path().join("Cargo.lock"), "").unwrap();
        let work = tempfile::tempdir().unwrap();
        let library = StdLibrary {
            rustc: Path::new("rustc"),
            directory: Path::new("/"),
            source: source.path(),
            shown: "/rustc/1".to_owned(),
        };
        library.write_package(work.path()).unwrap();
        let manifest: toml::Table =
            fs::read_to_string(work.path().join("Cargo.toml")).unwrap().parse().unwrap();
        let path = manifest["dependencies"]["sysroot"]["path"].as_str().unwrap();
        assert_eq!(Path::new(path), source.path().join("sysroot"));
    }
}
