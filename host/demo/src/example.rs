//! Builds the example `order` as a component: from the checkout in which this binary was built,
//! otherwise from the embedded sources.

use std::path::{Path, PathBuf};

use segno_build::{
    BuildProgress,
    crate_build::{self, BuildError, BuildOptions},
    template::{self, Template, TemplateError},
    toolchain::{self, ToolchainError, ToolchainRequest},
};

/// The name of the example, and the alias under which the demo deploys it.
pub const MODULE: &str = "order";

/// The only source file of the example, for use outside the repository.
const SOURCE: &str = include_str!("../../../examples/order/src/lib.rs");

/// Reason why the component could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ExampleError {
    /// There is no compiler for WebAssembly.
    #[error(transparent)]
    Toolchain(#[from] ToolchainError),
    /// The example does not compile.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The crate could not be created.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The sources could not be written.
    #[error("the example's source `{path}` could not be written")]
    Io {
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Builds the example, and installs the wasm toolchain if needed. Sources are written to `folder`
/// only if there is no checkout.
///
/// # Errors
/// See [`ExampleError`].
pub fn build(folder: &Path, progress: &dyn BuildProgress) -> Result<Vec<u8>, ExampleError> {
    let directory = match checkout() {
        Some(directory) => directory,
        None => unpack(folder)?,
    };
    progress.step("finding a compiler for WebAssembly");
    let request = ToolchainRequest::from_environment(&directory, true)?;
    let toolchain = toolchain::find(&request, progress)?;
    progress.step(&format!("building {} with {}", directory.display(), toolchain.version));
    let shared = crate_build::shared().ok();
    let options = BuildOptions {
        toolchain: &toolchain,
        target_directory: None,
        locked: false,
        shared: shared.as_deref(),
    };
    let mut built = crate_build::build(&[crate_build::locate(&directory)?], options, progress)?;
    Ok(built.remove(0).component)
}

/// The example's folder in the repository, if this binary runs where it was built.
fn checkout() -> Option<PathBuf> {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?.join("examples/order");
    directory.join("Cargo.toml").is_file().then_some(directory)
}

/// Creates a crate from the template, with the example's code.
fn unpack(folder: &Path) -> Result<PathBuf, ExampleError> {
    let directory = folder.join(MODULE);
    template::create(&directory, Template::Rust, &|_: &str| ())?;
    let path = directory.join("src/lib.rs");
    match std::fs::write(&path, SOURCE) {
        Ok(()) => Ok(directory),
        Err(source) => Err(ExampleError::Io { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_that_are_carried_are_a_crate() {
        let folder = tempfile::tempdir().unwrap();
        let directory = unpack(folder.path()).unwrap();
        assert_eq!(crate_build::locate(&directory).unwrap().package, MODULE);
        assert!(directory.join("src/lib.rs").is_file());
    }

    #[test]
    fn a_binary_in_its_checkout_uses_it() {
        let source = std::fs::read_to_string(checkout().unwrap().join("src/lib.rs")).unwrap();
        assert_eq!(source, SOURCE);
    }
}
