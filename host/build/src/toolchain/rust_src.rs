//! The toolchain source that builds the library once from the sources installed with the compiler
//! (rustup's component `rust-src`).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    Toolchain, ToolchainSource,
    native::{Rustc, field, has_library},
    search::{Strategy, Unavailable},
    std_library::{self, StdLibrary, failed},
};
use crate::{BuildProgress, TARGET, cache::Lock};

/// Builds the active compiler's own library into the cache.
pub(super) struct RustSrc<'a> {
    pub rustc: &'a Rustc,
    pub cache: &'a Path,
}

/// The folders of the active compiler.
struct CompilerFolders {
    version: String,
    verbose_version: String,
    /// Folder of the compiler's own files.
    sysroot: PathBuf,
    /// Source of the compiler's library.
    source: PathBuf,
    /// The sysroot that is built, for the target only.
    own: PathBuf,
}

impl CompilerFolders {
    fn library(&self) -> PathBuf {
        self.own.join("lib/rustlib").join(TARGET).join("lib")
    }

    /// The compiler's folder of its linker, and the place in the new sysroot where the compiler
    /// looks for it.
    fn tools(&self) -> Option<(PathBuf, PathBuf)> {
        let tools =
            Path::new("lib/rustlib").join(field(&self.verbose_version, "host")?).join("bin");
        Some((self.sysroot.join(&tools), self.own.join(&tools)))
    }

    fn toolchain(&self) -> Toolchain {
        Toolchain {
            road: ToolchainSource::RustSrc,
            rustc: None,
            sysroot: Some(self.own.clone()),
            version: self.version.clone(),
        }
    }
}

impl RustSrc<'_> {
    fn places(&self) -> Result<CompilerFolders, String> {
        let verbose_version = self.rustc.verbose_version()?;
        let sysroot = self.rustc.sysroot()?;
        let source = sysroot.join("lib/rustlib/src/rust/library");
        if !source.join("Cargo.lock").is_file() {
            return Err("the active rustc lacks the source of its standard library (`rustup component add rust-src` installs it)"
                .to_owned());
        }
        // The key identifies this exact compiler: another one of the same release may be built
        // differently.
        let digest: String = Sha256::digest(&verbose_version)
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(CompilerFolders {
            version: self.rustc.version()?,
            verbose_version,
            sysroot,
            source,
            own: self.cache.join(format!("rust-src-{digest}")),
        })
    }
}

fn is_finished(places: &CompilerFolders) -> bool {
    has_library(&places.library()) && places.tools().is_some_and(|(_, link)| link.is_dir())
}

impl Strategy for RustSrc<'_> {
    fn road(&self) -> ToolchainSource {
        ToolchainSource::RustSrc
    }

    fn finished(&self) -> Result<Toolchain, Unavailable> {
        let places = self.places().map_err(Unavailable::Shut)?;
        if is_finished(&places) {
            Ok(places.toolchain())
        } else {
            Err(Unavailable::Unprepared(
                "would build the standard library from the source of the active rustc".to_owned(),
            ))
        }
    }

    fn prepare(&self, progress: &dyn BuildProgress) -> Result<Toolchain, String> {
        let places = self.places()?;
        let _lock =
            Lock::take(&self.cache.join("lock"), progress).map_err(|error| error.to_string())?;
        std_library::clean(self.cache)?;
        if is_finished(&places) {
            return Ok(places.toolchain());
        }
        let (tools, link) = places.tools().ok_or("the active rustc does not name its host")?;
        if !has_library(&places.library()) {
            let commit = field(&places.verbose_version, "commit-hash").unwrap_or("unknown");
            let library = StdLibrary {
                rustc: self.rustc.program(),
                directory: self.rustc.directory(),
                source: &places.source,
                shown: format!("/rustc/{commit}"),
            };
            library.build(self.cache, &places.library(), progress)?;
        }
        link_folder(&tools, &link).map_err(failed(&link))?;
        Ok(places.toolchain())
    }
}

/// Creates the symbolic link `link` to `folder`, replacing an earlier link.
fn link_folder(folder: &Path, link: &Path) -> io::Result<()> {
    if let Some(parent) = link.parent() {
        fs::create_dir_all(parent)?;
    }
    if link.symlink_metadata().is_ok() {
        fs::remove_file(link)?;
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(folder, link);
    #[cfg(windows)]
    return std::os::windows::fs::symlink_dir(folder, link);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_moved_when_the_compiler_has_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::create_dir(&new).unwrap();
        let link = folder.path().join("deep/bin");
        link_folder(&old, &link).unwrap();
        assert!(!link.is_dir(), "leads nowhere");
        link_folder(&new, &link).unwrap();
        assert_eq!(fs::canonicalize(&link).unwrap(), fs::canonicalize(&new).unwrap());
    }
}
