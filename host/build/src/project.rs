//! Locates the project at a path, in any language, and builds it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    BuildProgress, CacheError, Language,
    crate_build::{self, BuildError, BuildOptions, BuiltComponent, WorkflowCrate},
    script::{self, ScriptError, ScriptProject},
    toolchain::{self, ToolchainError},
};

/// A project that can become a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Project {
    /// A Rust crate.
    Crate(WorkflowCrate),
    /// A project in JavaScript or Python.
    Script(ScriptProject),
}

/// The options of a build.
#[derive(Debug, Clone, Copy)]
pub struct ProjectOptions {
    /// True to allow downloading and installing tools.
    pub prepare: bool,
    /// True to fail if the lock file of a crate would have to change.
    pub locked: bool,
}

/// Reason why a project was not built.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The folder is not a project.
    #[error(
        "`{0}` has no Cargo.toml, package.json or pyproject.toml: give the folder of a project, or make one with `segno new NAME`"
    )]
    NoProject(PathBuf),
    /// The crate was not found, or did not compile.
    #[error(transparent)]
    Crate(#[from] BuildError),
    /// No compiler was found.
    #[error(transparent)]
    Toolchain(#[from] ToolchainError),
    /// The JavaScript or Python project cannot be read, or did not build.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl Project {
    /// The project at `path`, which is its folder or its manifest.
    ///
    /// # Errors
    /// Fails if there is none, or if its manifest cannot be read.
    pub fn locate(path: &Path) -> Result<Self, ProjectError> {
        let found = fs::canonicalize(path).map_err(|_| BuildError::NoSuchPath(path.to_owned()))?;
        let folder = if found.is_dir() { found } else { manifest_folder(&found, path)? };
        match Language::of(&folder) {
            Some(Language::Rust) => Ok(Self::Crate(crate_build::locate(&folder)?)),
            Some(language) => Ok(Self::Script(ScriptProject::read(&folder, language)?)),
            None => Err(ProjectError::NoProject(path.to_owned())),
        }
    }

    /// True if `path` is a folder or the manifest of a project, as opposed to a component file.
    pub fn is_at(path: &Path) -> bool {
        let is_mark =
            |name: &str| Language::ALL.iter().any(|language| language.marks().contains(&name));
        path.is_dir() || path.file_name().and_then(|name| name.to_str()).is_some_and(is_mark)
    }

    /// The language of the project.
    pub fn language(&self) -> Language {
        match self {
            Self::Crate(_) => Language::Rust,
            Self::Script(script) => script.language,
        }
    }

    /// The project's name, which becomes the module's.
    pub fn name(&self) -> &str {
        match self {
            Self::Crate(one) => &one.package,
            Self::Script(script) => &script.name,
        }
    }

    /// The folders with the component's sources.
    pub fn sources(&self) -> Vec<PathBuf> {
        match self {
            Self::Crate(one) => crate_build::sources(one),
            Self::Script(script) => vec![script.folder.clone()],
        }
    }

    /// Builds the component, with tools that are found or, if allowed, installed.
    ///
    /// # Errors
    /// Fails if there are no tools, or if the source has an error; the error names file and line.
    pub fn build(
        self,
        options: ProjectOptions,
        progress: &dyn BuildProgress,
    ) -> Result<BuiltComponent, ProjectError> {
        match self {
            Self::Crate(one) => build_crate(one, options, progress),
            Self::Script(script) => Ok(script::build(&script, options.prepare, progress)?),
        }
    }
}

fn manifest_folder(file: &Path, given: &Path) -> Result<PathBuf, ProjectError> {
    let folder = file.parent().filter(|_| Project::is_at(file));
    Ok(folder.ok_or_else(|| BuildError::NotAManifest(given.to_owned()))?.to_owned())
}

fn build_crate(
    one: WorkflowCrate,
    options: ProjectOptions,
    progress: &dyn BuildProgress,
) -> Result<BuiltComponent, ProjectError> {
    let request = toolchain::ToolchainRequest::from_environment(&one.directory, options.prepare)?;
    let toolchain = toolchain::find(&request, progress)?;
    let shared = crate_build::shared()?;
    let options = BuildOptions {
        toolchain: &toolchain,
        target_directory: None,
        locked: options.locked,
        shared: Some(&shared),
    };
    let package = one.package.clone();
    let built = crate_build::build(&[one], options, progress)?;
    Ok(built.into_iter().next().ok_or(BuildError::NoModule { package })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_that_is_no_project_is_answered_with_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "").unwrap();
        let at = |name: &str| Project::locate(&folder.path().join(name)).unwrap_err().to_string();
        assert!(at("nowhere").starts_with("there is no `"));
        assert!(at("").contains("no Cargo.toml, package.json or pyproject.toml"));
        assert!(at("notes.txt").contains("is not a manifest"));
        assert!(Project::is_at(folder.path()) && Project::is_at(Path::new("x/package.json")));
        assert!(!Project::is_at(Path::new("x/shop.wasm")));
    }
}
