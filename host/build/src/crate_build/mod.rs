//! Builds a workflow crate: finds it, compiles it with cargo, and wraps the module as a component.
//!
//! Crates of one workspace are compiled by one cargo call, in a separate target folder: the
//! compiler differs from the host's, and in a shared folder each would rebuild the other's work.

mod compile;
mod component;
mod package;
mod sources;
mod units;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use component::{ComponentError, componentize};
pub use package::{WorkflowCrate, locate, members};
pub use sources::sources;

use super::{BuildProgress, CacheError, cache, process::ToolProcessError, toolchain::Toolchain};

/// The options of a build.
#[derive(Debug, Clone, Copy)]
pub struct BuildOptions<'a> {
    pub toolchain: &'a Toolchain,
    /// Cargo's target folder. `None`: `guest` in the workspace's target folder.
    pub target_directory: Option<&'a Path>,
    /// True to fail if `Cargo.lock` would have to change.
    pub locked: bool,
    /// The folder of compiled dependencies that crates share, usually [`shared`]. `None`: no
    /// sharing.
    pub shared: Option<&'a Path>,
}

/// The folder of compiled dependencies in the cache.
///
/// # Errors
/// Fails if there is no folder for a cache.
pub fn shared() -> Result<PathBuf, CacheError> {
    Ok(cache::directory()?.join("units"))
}

/// A built component.
#[derive(Debug, Clone)]
pub struct BuiltComponent {
    pub package: String,
    /// The bytes of the component.
    pub component: Vec<u8>,
    /// The path of the component: `components/{package}.wasm` in the target folder.
    pub path: PathBuf,
    /// Warnings of cargo and the compiler. For crates compiled together, the first one has all of
    /// them.
    pub warnings: String,
}

/// Reason why a crate was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The path does not exist.
    #[error("there is no `{0}`")]
    NoSuchPath(PathBuf),
    /// The folder is not a crate.
    #[error(
        "`{0}` has no Cargo.toml: give the folder of a workflow crate, or make one with `segno new NAME`"
    )]
    NoManifest(PathBuf),
    /// The file is not a manifest.
    #[error("`{0}` is not a manifest: give the folder of a project")]
    NotAManifest(PathBuf),
    /// Cargo cannot read the crate.
    #[error("cargo cannot read `{manifest}`:\n{output}")]
    Metadata {
        manifest: PathBuf,
        /// Cargo's output.
        output: String,
    },
    /// The path is a workspace; one of its members must be named.
    #[error("`{manifest}` is a workspace; name one of its workflow crates: {}", members.join(", "))]
    Workspace {
        manifest: PathBuf,
        /// Folders of the members that can be built.
        members: Vec<String>,
    },
    /// The crate cannot become a module.
    #[error(
        "`{package}` is not built as a module: add this to `{manifest}`\n\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]"
    )]
    NotCdylib {
        package: String,
        /// Path of the package's manifest.
        manifest: PathBuf,
    },
    /// Cargo is missing, or did not run to completion.
    #[error("cargo could not be run; is Rust installed?")]
    Cargo(#[from] ToolProcessError),
    /// The code does not compile.
    #[error("`{packages}` did not compile\n{output}")]
    Compile {
        /// Package names, separated by commas.
        packages: String,
        /// The output of cargo and the compiler, without progress lines.
        output: String,
    },
    /// A dependency could not be downloaded.
    #[error(
        "the dependencies of `{packages}` could not be downloaded: the first build needs the registry of crates; is this machine offline?\n{output}"
    )]
    Fetch {
        /// Package names, separated by commas.
        packages: String,
        /// Cargo's output.
        output: String,
    },
    /// Cargo succeeded without producing a module.
    #[error("cargo built `{package}` and made no module of it")]
    NoModule {
        /// Name of the crate's package.
        package: String,
    },
    /// The module cannot become a component.
    #[error("`{package}` compiled, but its module cannot be used")]
    Component {
        /// Name of the crate's package.
        package: String,
        source: ComponentError,
    },
    /// The target folder cannot be locked.
    #[error(transparent)]
    Lock(#[from] CacheError),
    /// The file system failed.
    #[error("`{path}` could not be read or written")]
    Io {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Builds `crates` with one cargo call per workspace, and returns their components in the same
/// order.
///
/// # Errors
/// The failure of the first crate that fails; components built earlier stay on disk.
pub fn build(
    crates: &[WorkflowCrate],
    options: BuildOptions<'_>,
    progress: &dyn BuildProgress,
) -> Result<Vec<BuiltComponent>, BuildError> {
    let mut built: Vec<Option<BuiltComponent>> = vec![None; crates.len()];
    for first in 0..crates.len() {
        if built[first].is_some() {
            continue;
        }
        let workspace = &crates[first].workspace;
        let same: Vec<usize> =
            (first..crates.len()).filter(|&index| crates[index].workspace == *workspace).collect();
        let together: Vec<&WorkflowCrate> = same.iter().map(|&index| &crates[index]).collect();
        for (index, component) in same.iter().zip(compile::compile(&together, options, progress)?) {
            built[*index] = Some(component);
        }
    }
    Ok(built.into_iter().map(|one| one.expect("every crate is of some workspace")).collect())
}

/// These tests need an installed toolchain; `SEGNO_WASM_TOOLCHAIN` selects its source.
#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::toolchain::{ToolchainRequest, find};

    fn toolchain(directory: &Path) -> Toolchain {
        find(&ToolchainRequest::from_environment(directory, true).unwrap(), &|message: &str| {
            eprintln!("{message}")
        })
        .unwrap()
    }

    #[test]
    fn the_examples_become_components_in_one_go() {
        let repository =
            fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
        let toolchain = toolchain(&repository);
        let options = BuildOptions {
            toolchain: &toolchain,
            target_directory: None,
            locked: true,
            shared: None,
        };
        let examples = members(&repository).unwrap();
        let built = build(&examples, options, &|message: &str| eprintln!("{message}")).unwrap();
        assert!(built.iter().any(|one| one.package == "hello"));
        for one in built {
            assert_eq!(fs::read(&one.path).unwrap(), one.component);
            let text = String::from_utf8_lossy(&one.component);
            assert!(
                !text.contains(repository.to_str().unwrap()),
                "{} names our folder",
                one.package
            );
            eprintln!("{} {}", one.package, one.component.len());
        }
    }

    #[test]
    fn code_that_does_not_compile_is_answered_in_the_compilers_words() {
        let folder = tempfile::tempdir().unwrap();
        let manifest =
            "[package]\nname = \"broken\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n";
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), "pub fn f() -> u32 { missing }\n").unwrap();
        let toolchain = toolchain(folder.path());
        let options = BuildOptions {
            toolchain: &toolchain,
            target_directory: Some(folder.path()),
            locked: false,
            shared: None,
        };
        let broken = locate(folder.path()).unwrap();
        let error = build(&[broken], options, &|_: &str| ()).unwrap_err().to_string();
        assert!(error.starts_with("`broken` did not compile\nerror[E0425]"), "{error}");
        assert!(error.contains("src/lib.rs:1:21"), "{error}");
        assert!(!error.contains("Compiling"), "{error}");
    }
}
