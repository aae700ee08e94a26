//! Builds JavaScript and Python projects: reads the manifest, finds the tools, and creates the
//! module.
//!
//! A module consists of its sources, which a host loads into a runtime that all modules of the
//! language share. The tools come from the languages' registries, through the registries' own
//! clients, in versions tested with the shims; see [`tools`].

pub(crate) mod javascript;
mod python;
pub mod runtimes;
mod shims;
pub(crate) mod tools;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    BuildProgress, CacheError, Language, cache::Lock, crate_build::BuiltComponent,
    process::ToolProcessError,
};

/// The folder for all build output, in the project.
const BUILD: &str = "build";

/// A project in JavaScript or Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProject {
    /// The language; never Rust.
    pub language: Language,
    /// The name from the manifest, otherwise the name of the folder.
    pub name: String,
    pub folder: PathBuf,
    /// The source file with the functions, relative to the folder.
    pub entry: PathBuf,
}

/// Reason why a JavaScript or Python project was not built.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The manifest is malformed.
    #[error("`{manifest}` cannot be read: {why}")]
    Manifest {
        manifest: PathBuf,
        /// The parser's message.
        why: String,
    },
    /// The source is missing.
    #[error("there is no `{entry}`: {hint}")]
    NoEntry {
        entry: PathBuf,
        /// The origin of the file's name.
        hint: &'static str,
    },
    /// Node, npm, Python or its `venv` is missing or too old.
    #[error("{language} needs {wanted}, and {found}; install it, for example with `{install}`")]
    NoInterpreter {
        language: Language,
        /// The required programs, with their versions.
        wanted: &'static str,
        /// The state found on this machine.
        found: String,
        /// A command that installs them.
        install: &'static str,
    },
    /// The tools are not installed, and preparing was not allowed.
    #[error(
        "the build needs {tools}: add `--prepare` to let segno install that into its cache, or type\n  {by_hand}"
    )]
    Unprepared {
        /// The tools with their versions.
        tools: String,
        /// A command that installs them into the project.
        by_hand: String,
    },
    /// The tools could not be installed.
    #[error("{tools} could not be installed with {client}\n{output}")]
    Install {
        /// The tools with their versions.
        tools: String,
        /// The registry's client.
        client: &'static str,
        /// The client's output.
        output: String,
    },
    /// The source has an error.
    #[error("`{name}` did not build\n{output}")]
    Build {
        name: String,
        /// The output of the tools, with files and lines of the source.
        output: String,
    },
    /// The tools did not run to completion.
    #[error(transparent)]
    Process(#[from] ToolProcessError),
    /// The cache or the project's lock cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The file system failed.
    #[error("`{path}` could not be read or written")]
    Io {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl ScriptProject {
    /// Reads the project in `folder` from its manifest.
    pub(crate) fn read(folder: &Path, language: Language) -> Result<Self, ScriptError> {
        let (named, entry, hint) = match language {
            Language::Python => python::manifest(folder)?,
            Language::JavaScript | Language::Rust => javascript::manifest(folder)?,
        };
        if !folder.join(&entry).is_file() {
            return Err(ScriptError::NoEntry { entry: folder.join(entry), hint });
        }
        let own = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { language, name: named.unwrap_or(own), folder: folder.to_owned(), entry })
    }
}

/// Builds the module of `project`: a file `build/{name}.…` in its folder.
///
/// # Errors
/// Fails if there are no tools, or if the source has an error.
pub(crate) fn build(
    project: &ScriptProject,
    prepare: bool,
    progress: &dyn BuildProgress,
) -> Result<BuiltComponent, ScriptError> {
    let output = project.folder.join(BUILD);
    let _lock = Lock::take(&output.join("segno.lock"), progress)?;
    let work = output.join("segno");
    write(&work.join("wit/0.2.0/segno.wit"), shims::CONTRACT)?;
    let (module, warnings) = match project.language {
        Language::Python => (python::build(project, &work, prepare, progress)?, String::new()),
        Language::JavaScript | Language::Rust => {
            javascript::build(project, &work, prepare, progress)?
        }
    };
    let path = output.join(format!("{}.module", project.name));
    let unfinished = work.join("unfinished");
    fs::write(&unfinished, &module).map_err(failed(&unfinished))?;
    fs::rename(&unfinished, &path).map_err(failed(&path))?;
    Ok(BuiltComponent { package: project.name.clone(), component: module, path, warnings })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), ScriptError> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(failed(path))
}

pub(crate) fn failed(path: &Path) -> impl FnOnce(io::Error) -> ScriptError {
    let path = path.to_owned();
    move |source| ScriptError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)], language: Language) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("shop");
        files.iter().for_each(|(name, text)| write(&directory.join(name), text).unwrap());
        let read = ScriptProject::read(&directory, language);
        let said = match read {
            Ok(project) => format!("{} from {}", project.name, project.entry.display()),
            Err(error) => error.to_string(),
        };
        (folder, said)
    }

    #[test]
    fn a_manifest_names_the_project_and_its_source() {
        let js = |manifest: &str| {
            project(
                &[("package.json", manifest), ("a.js", ""), ("workflow.js", "")],
                Language::JavaScript,
            )
            .1
        };
        assert_eq!(js(r#"{"name": "@acme/order", "main": "a.js"}"#), "order from a.js");
        assert_eq!(js("{}"), "shop from workflow.js");
        let typed = [("package.json", "{}"), ("src/index.ts", "")];
        assert_eq!(project(&typed, Language::JavaScript).1, "shop from src/index.ts");
        assert!(js(r#"{"main": "b.js"}"#).ends_with("shop/b.js`: `main` of package.json names it"));
        assert!(js("{").contains("package.json` cannot be read: EOF"));

        let py = |files: &[(&str, &str)]| project(files, Language::Python).1;
        assert_eq!(py(&[("app.py", "")]), "shop from app.py");
        let named = ("pyproject.toml", "[project]\nname = \"order\"\n");
        assert_eq!(py(&[("app.py", ""), named]), "order from app.py");
        assert!(py(&[named]).contains("/app.py`: it has the functions"));
        let broken = py(&[("app.py", ""), ("pyproject.toml", "[project\n")]);
        assert!(broken.contains("pyproject.toml` cannot be read: "), "{broken}");
    }
}
