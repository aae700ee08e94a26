//! The Debian toolchain: the package `rustc-web` and the source of its library, unpacked in the
//! cache.
//!
//! Nothing is installed; the path, rustup and the system's package list stay unchanged. The
//! compiler finds its own files relative to its location, so the unpacked tree works in place; only
//! its shared libraries need a path.

use std::{
    env::consts,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Toolchain, ToolchainSource,
    apt::{self, Apt},
    native::{Rustc, field, has_library},
    search::{Strategy, Unavailable},
    std_library::{self, StdLibrary, failed},
};
use crate::{BuildProgress, TARGET, cache::Lock, process};

/// Debian's folder of shared libraries on the one supported architecture.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The folder in which the compiler looks for its linker.
const TOOLS: &str = "usr/lib/rustlib/x86_64-unknown-linux-gnu/bin";

/// Libraries that LLVM needs and that a minimal system may lack.
const LLVM_NEEDS: [&str; 11] = [
    "libbsd0",
    "libedit2",
    "libffi8",
    "libicu72",
    "liblzma5",
    "libmd0",
    "libtinfo6",
    "libxml2",
    "libz3-4",
    "libzstd1",
    "zlib1g",
];

/// Runs a program of the unpacked tree with the tree's shared libraries.
const WRAPPER: &str = r#"#!/bin/sh
top=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
LD_LIBRARY_PATH="$top/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "$top/usr/bin/$(basename -- "$0")" "$@"
"#;

/// Unpacks Debian's compiler into the cache and builds its library.
pub(super) struct Debian<'a> {
    pub cache: &'a Path,
}

/// An unpacked compiler, in a folder named after its Debian version.
struct Sysroot {
    top: PathBuf,
}

impl Sysroot {
    fn rustc(&self) -> PathBuf {
        self.top.join("bin/rustc")
    }

    fn library(&self) -> PathBuf {
        self.top.join("usr/lib/rustlib").join(TARGET).join("lib")
    }

    fn is_unpacked(&self) -> bool {
        self.rustc().is_file()
    }

    fn toolchain(&self) -> Result<Toolchain, String> {
        let version = Rustc::new(self.rustc(), &self.top).version()?;
        Ok(Toolchain {
            road: ToolchainSource::Debian,
            rustc: Some(self.rustc()),
            sysroot: None,
            version,
        })
    }

    fn build_library(&self, scratch: &Path, progress: &dyn BuildProgress) -> Result<(), String> {
        let rustc = Rustc::new(self.rustc(), &self.top);
        let verbose_version = rustc.verbose_version()?;
        let commit = field(&verbose_version, "commit-hash").unwrap_or("unknown");
        let source = self.top.join("usr/lib/rustlib/src/rust/library");
        let source = fs::canonicalize(&source).map_err(failed(&source))?;
        let library = StdLibrary {
            rustc: rustc.program(),
            directory: scratch,
            source: &source,
            shown: format!("/rustc/{commit}"),
        };
        library.build(scratch, &self.library(), progress)
    }
}

impl Debian<'_> {
    /// A complete unpacked tree. It is used even if Debian has a newer version: a workflow's
    /// component should not change because a package list did. Deleting the cache upgrades.
    fn finished_tree(&self) -> Option<Sysroot> {
        let entries = fs::read_dir(self.cache).ok()?;
        let trees = entries.flatten().filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let release = apt::release(name.strip_prefix("debian-")?)?;
            let tree = Sysroot { top: entry.path() };
            (!name.ends_with(".tmp") && tree.is_unpacked() && has_library(&tree.library()))
                .then_some((release, tree))
        });
        trees.max_by_key(|(release, _)| *release).map(|(_, tree)| tree)
    }

    fn unpacked_tree(&self, progress: &dyn BuildProgress) -> Result<Sysroot, String> {
        let (apt, version) = self.offer(progress)?;
        let tree = Sysroot { top: self.cache.join(format!("debian-{version}")) };
        if !tree.is_unpacked() {
            let unfinished = self.cache.join(format!("debian-{version}.tmp"));
            fs::create_dir_all(&unfinished).map_err(failed(&unfinished))?;
            unpack(&apt, &version, &unfinished, progress)?;
            fs::rename(&unfinished, &tree.top).map_err(failed(&tree.top))?;
        }
        Ok(tree)
    }

    /// The compiler in the system's package list, otherwise in a fresh private list.
    fn offer(&self, progress: &dyn BuildProgress) -> Result<(Apt, String), String> {
        let system = Apt::system();
        if let Ok(version) = apt::good_enough(system.candidate("rustc-web", progress)?) {
            return Ok((system, version));
        }
        let fresh = Apt::private(&self.cache.join("apt"), progress)?;
        let version = apt::good_enough(fresh.candidate("rustc-web", progress)?)
            .map_err(|reason| format!("{reason} (is the security archive among apt's sources?)"))?;
        Ok((fresh, version))
    }
}

impl Strategy for Debian<'_> {
    fn road(&self) -> ToolchainSource {
        ToolchainSource::Debian
    }

    fn finished(&self) -> Result<Toolchain, Unavailable> {
        if let Some(tree) = self.finished_tree() {
            return tree.toolchain().map_err(Unavailable::Shut);
        }
        if (consts::OS, consts::ARCH) != ("linux", "x86_64") {
            return Err(Unavailable::Shut(format!(
                "only for Linux on x86_64, and this is {} on {}",
                consts::OS,
                consts::ARCH
            )));
        }
        for program in ["apt-get", "dpkg"] {
            if process::run(Command::new(program).arg("--version"), None, &|_| ()).is_err() {
                return Err(Unavailable::Shut(format!("there is no {program} here")));
            }
        }
        Err(Unavailable::Unprepared(format!(
            "would download Debian's rustc-web (150 MB), unpack it in {} and build its standard library",
            self.cache.display()
        )))
    }

    fn prepare(&self, progress: &dyn BuildProgress) -> Result<Toolchain, String> {
        let _lock =
            Lock::take(&self.cache.join("lock"), progress).map_err(|error| error.to_string())?;
        std_library::clean(self.cache)?;
        if let Some(tree) = self.finished_tree() {
            return tree.toolchain();
        }
        let tree = self.unpacked_tree(progress)?;
        tree.build_library(self.cache, progress)?;
        let rustc = Rustc::new(tree.rustc(), &tree.top);
        rustc.with_own_library(ToolchainSource::Debian)?;
        tree.toolchain()
    }
}

/// Unpacks a working compiler and the source of its library into `top`.
fn unpack(
    apt: &Apt,
    version: &str,
    top: &Path,
    progress: &dyn BuildProgress,
) -> Result<(), String> {
    let (major, minor) =
        apt::release(version).ok_or_else(|| format!("`{version}` is not a version of Rust"))?;
    let shared = format!("libstd-rust-web-{major}.{minor}");
    let depends = apt.depends(&shared, version, progress)?;
    let llvm = apt::llvm_release(&depends)
        .ok_or_else(|| format!("{shared} does not say which LLVM it needs"))?;
    progress
        .step(&format!("downloading Debian's rustc-web {version} (150 MB; nothing is installed)"));
    let mut packages: Vec<String> = ["rustc-web", "libstd-rust-web-dev", &shared, "rust-web-src"]
        .iter()
        .map(|package| format!("{package}={version}"))
        .collect();
    packages.extend([format!("libllvm{llvm}"), format!("lld-{llvm}")]);
    let downloads = top.join("downloads");
    apt.unpack(&packages, &downloads, top, progress)?;
    let linker = format!("usr/bin/lld-{llvm}");
    if !missing_libraries(top, &linker, progress)?.is_empty() {
        apt.unpack(&LLVM_NEEDS.map(str::to_owned), &downloads, top, progress)?;
        let missing = missing_libraries(top, &linker, progress)?;
        if !missing.is_empty() {
            return Err(format!("shared libraries are missing: {}", missing.join(", ")));
        }
    }
    arrange(top, &linker).map_err(failed(top))
}

/// Removes unneeded files, and moves the linker and the wrappers to their expected places.
fn arrange(top: &Path, linker: &str) -> io::Result<()> {
    for source in fs::read_dir(top.join("usr/src"))? {
        for entry in fs::read_dir(source?.path())? {
            let entry = entry?;
            if entry.file_name() == "library" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
    }
    if top.join("usr/share").is_dir() {
        fs::remove_dir_all(top.join("usr/share"))?;
    }
    let tools = top.join(TOOLS);
    fs::create_dir_all(&tools)?;
    make_link(&Path::new("../../../../..").join(linker), &tools.join("rust-lld"))?;
    let wrappers = top.join("bin");
    fs::create_dir_all(&wrappers)?;
    for name in ["rustdoc", "rustc"] {
        let path = wrappers.join(name);
        fs::write(&path, WRAPPER)?;
        make_executable(&path)?;
    }
    Ok(())
}

/// The shared libraries that the compiler, LLVM or the linker would miss.
fn missing_libraries(
    top: &Path,
    linker: &str,
    progress: &dyn BuildProgress,
) -> Result<Vec<String>, String> {
    let libraries = top.join(LIBRARIES);
    let mut files = vec![top.join(linker)];
    for entry in fs::read_dir(&libraries).map_err(failed(&libraries))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("librustc_driver-") || name.starts_with("libLLVM") {
            files.push(entry.path());
        }
    }
    let mut command = Command::new("ldd");
    command.args(&files).env("LD_LIBRARY_PATH", &libraries);
    match process::run(&mut command, None, &|line| progress.line(line)) {
        Ok(finished) => Ok(not_found(&finished.stdout)),
        Err(error) => Err(error.to_string()),
    }
}

fn not_found(ldd: &str) -> Vec<String> {
    let lines = ldd.lines().filter_map(|line| line.trim().strip_suffix(" => not found"));
    let mut names: Vec<String> = lines.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(unix)]
fn make_link(to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(cache: &Path, name: &str, with_library: bool) {
        let tree = Sysroot { top: cache.join(name) };
        fs::create_dir_all(tree.library()).unwrap();
        fs::create_dir_all(tree.top.join("bin")).unwrap();
        fs::write(tree.rustc(), "").unwrap();
        if with_library {
            for name in ["libcore-1.rlib", "libstd-1.rlib"] {
                fs::write(tree.library().join(name), "").unwrap();
            }
        }
    }

    #[test]
    fn the_newest_finished_tree_is_used() {
        let cache = tempfile::tempdir().unwrap();
        let debian = Debian { cache: cache.path() };
        assert!(debian.finished_tree().is_none());
        tree(cache.path(), "debian-1.96.0-1", true);
        tree(cache.path(), "debian-1.100.0-1", true);
        tree(cache.path(), "debian-1.101.0-1", false);
        tree(cache.path(), "debian-1.102.0-1.tmp", true);
        assert_eq!(debian.finished_tree().unwrap().top, cache.path().join("debian-1.100.0-1"));
    }

    #[test]
    fn only_the_libraries_source_is_kept() {
        let top = tempfile::tempdir().unwrap();
        let source = top.path().join("usr/src/rustc-1.96.0");
        fs::create_dir_all(source.join("library/std")).unwrap();
        fs::create_dir_all(source.join("src/llvm-project")).unwrap();
        fs::write(source.join("README"), "").unwrap();
        fs::create_dir_all(top.path().join("usr/bin")).unwrap();
        fs::write(top.path().join("usr/bin/lld-22"), "lld").unwrap();
        arrange(top.path(), "usr/bin/lld-22").unwrap();
        let left: Vec<_> =
            fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["library"]);
        assert_eq!(fs::read_to_string(top.path().join(TOOLS).join("rust-lld")).unwrap(), "lld");
    }

    #[test]
    fn each_missing_library_is_named_once() {
        let ldd = "a:\n\tlibedit.so.2 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\nb:\n\tlibedit.so.2 => not found\n\tlibz3.so.4 => not found\n";
        assert_eq!(not_found(ldd), ["libedit.so.2", "libz3.so.4"]);
    }
}
