//! The SDKs for TypeScript and Python as packages that npm and pip install, made from the sources
//! in this binary. A new project keeps its package, so that it needs no other place for it.

mod npm;
mod wheel;
mod zip;

use include_dir::Dir;

use crate::{BuildProgress, script::ScriptError};

const LICENSE: &str = include_str!("../../../../LICENSE");

/// A package as a file.
#[derive(Debug, Clone)]
pub(crate) struct SdkPackage {
    /// Name of the file, in the form that the language's tools require.
    pub file: String,
    pub bytes: Vec<u8>,
}

impl SdkPackage {
    /// The archive of `@segno/sdk`. It is compiled once per cache, with Node and packages of npm.
    ///
    /// # Errors
    /// Fails if Node is missing or too old, if npm cannot install the compiler, or if the cache
    /// cannot be used.
    pub(crate) fn npm(progress: &dyn BuildProgress) -> Result<Self, ScriptError> {
        npm::package(progress)
    }

    /// The wheel of `segno-sdk`.
    pub(crate) fn wheel() -> Self {
        wheel::package()
    }
}

/// The files in a folder and in its subfolders whose names end with one of these, with paths
/// relative to the outermost folder, in the order of the paths.
fn files<'a>(folder: &'a Dir<'_>, extensions: &[&str]) -> Vec<(String, &'a [u8])> {
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        for file in folder.files() {
            let own = file.path().extension().and_then(|own| own.to_str());
            if own.is_some_and(|own| extensions.contains(&own)) {
                let path = file.path().to_str().expect("a source has a plain name");
                found.push((path.to_owned(), file.contents()));
            }
        }
    }
    found.sort();
    found
}

/// The number of files in a folder and in its subfolders whose names end with the extension.
#[cfg(test)]
fn count(folder: &std::path::Path, extension: &str) -> usize {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let count = |path: std::path::PathBuf| match path.is_dir() {
        true => count(&path, extension),
        false => usize::from(path.extension().is_some_and(|own| own == extension)),
    };
    paths.map(count).sum()
}
