//! Creates a new project that builds and runs unchanged; in Rust, a crate that passes its tests.

mod name;
mod sdk;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Language, script::shims};
pub use name::{CrateName, NameError};

/// The source of a new crate, independent of its name: the listing in the tutorial, part of which
/// the README shows.
pub const LIB: &str = include_str!("files/rust/lib.rs.in");

/// A file of a new project: its path, and its text with `{{name}}` as placeholder for the project's
/// name.
type File = (&'static str, &'static str);

const RUST: [File; 5] = [
    ("Cargo.toml", include_str!("files/rust/Cargo.toml.in")),
    ("src/lib.rs", LIB),
    ("src/tests.rs", include_str!("files/rust/tests.rs.in")),
    ("README.md", include_str!("files/rust/README.md.in")),
    (".gitignore", include_str!("files/rust/gitignore.in")),
];

const JAVASCRIPT: [File; 5] = [
    ("package.json", include_str!("files/javascript/package.json.in")),
    ("workflow.js", include_str!("files/javascript/workflow.js.in")),
    ("segno.js", shims::JAVASCRIPT),
    ("README.md", include_str!("files/javascript/README.md.in")),
    (".gitignore", include_str!("files/javascript/gitignore.in")),
];

const PYTHON: [File; 5] = [
    ("pyproject.toml", include_str!("files/python/pyproject.toml.in")),
    ("app.py", include_str!("files/python/app.py.in")),
    ("segno.py", shims::PYTHON),
    ("README.md", include_str!("files/python/README.md.in")),
    (".gitignore", include_str!("files/python/gitignore.in")),
];

/// The folder with the SDK's sources in the crate.
const SDK: &str = ".segno/sdk";

/// Reason why no project was created.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The folder's name is not a valid crate name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The folder is not empty; nothing was changed.
    #[error("`{0}` exists and is not empty; choose another name, or empty it first")]
    NotEmpty(PathBuf),
    /// The path is a file; nothing was changed.
    #[error("`{0}` is a file; choose another name")]
    IsFile(PathBuf),
    /// The file system failed; files written earlier stay.
    #[error("`{path}` could not be written")]
    Io {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Writes a new project into `directory`, which is created if needed. The project is named after
/// the folder.
///
/// # Errors
/// Fails if the name is invalid, the folder is not empty, or it cannot be written.
pub fn create(directory: &Path, language: Language) -> Result<CrateName, TemplateError> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let name: CrateName = absolute.file_name().unwrap_or_default().to_string_lossy().parse()?;
    refuse_to_overwrite(directory)?;
    let files = match language {
        Language::Rust => RUST,
        Language::JavaScript => JAVASCRIPT,
        Language::Python => PYTHON,
    };
    for (path, text) in files {
        let text = text.replace("{{name}}", name.as_str());
        write(&directory.join(path), text.as_bytes())?;
    }
    if language == Language::Rust {
        write_sdk(directory)?;
    }
    Ok(name)
}

/// Writes the embedded SDK into the crate at `directory`, replacing an existing copy.
///
/// # Errors
/// Fails if the folder cannot be written.
pub fn write_sdk(directory: &Path) -> Result<(), TemplateError> {
    let sdk = directory.join(SDK);
    if sdk.exists() {
        fs::remove_dir_all(&sdk)
            .map_err(|source| TemplateError::Io { path: sdk.clone(), source })?;
    }
    sdk::files().into_iter().try_for_each(|(path, bytes)| write(&sdk.join(path), &bytes))
}

fn refuse_to_overwrite(directory: &Path) -> Result<(), TemplateError> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(TemplateError::NotEmpty(directory.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(TemplateError::IsFile(directory.to_owned()))
        }
        Err(source) => Err(TemplateError::Io { path: directory.to_owned(), source }),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), TemplateError> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
    written.map_err(|source| TemplateError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crate_build::{self, BuildOptions};
    use crate::toolchain;
    use crate::{cargo, process};

    #[test]
    fn a_new_crate_is_one_that_can_be_built_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("deep/my-flow");
        assert_eq!(create(&directory, Language::Rust).unwrap().as_str(), "my-flow");
        assert_eq!(crate_build::locate(&directory).unwrap().package, "my-flow");
        for path in
            ["README.md", ".gitignore", "src/lib.rs", "src/tests.rs", ".segno/sdk/wit/segno.wit"]
        {
            let text = fs::read_to_string(directory.join(path)).unwrap();
            assert!(!text.contains("{{"), "{path} has a gap that was not filled");
        }
    }

    #[test]
    fn a_new_project_of_each_language_is_recognised_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        for language in Language::ALL {
            let directory = folder.path().join(language.name());
            assert_eq!(create(&directory, language).unwrap().as_str(), language.name());
            let project = crate::Project::locate(&directory).unwrap();
            assert_eq!((project.language(), project.name()), (language, language.name()));
            for file in fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
                let text = fs::read_to_string(&file).unwrap_or_default();
                assert!(!text.contains("{{"), "{} has a gap", file.display());
            }
        }
    }

    #[test]
    fn what_exists_is_left_alone_unless_it_is_an_empty_folder() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("flow");
        fs::create_dir(&directory).unwrap();
        create(&directory, Language::Rust).unwrap();
        fs::write(directory.join("README.md"), "mine").unwrap();
        assert!(matches!(create(&directory, Language::Rust), Err(TemplateError::NotEmpty(_))));
        assert_eq!(fs::read_to_string(directory.join("README.md")).unwrap(), "mine");
        assert!(matches!(
            create(&directory.join("README"), Language::Rust),
            Err(TemplateError::Name(_))
        ));
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(matches!(
            create(&folder.path().join("file"), Language::Rust),
            Err(TemplateError::IsFile(_))
        ));
    }

    #[test]
    fn the_sdk_of_an_older_crate_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("flow");
        create(&directory, Language::Rust).unwrap();
        let gone = directory.join(SDK).join("src/gone.rs");
        fs::write(&gone, "").unwrap();
        write_sdk(&directory).unwrap();
        assert!(!gone.exists() && directory.join(SDK).join("src/lib.rs").exists());
    }

    #[test]
    fn a_new_crate_passes_its_tests_and_the_next_one_compiles_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("flow");
        create(&directory, Language::Rust).unwrap();

        let mut command = cargo::cargo();
        command.current_dir(&directory).arg("test");
        let tested = process::run(&mut command, None, &|line| eprintln!("{line}")).unwrap();
        assert!(tested.success, "{}", tested.stdout);

        let request = toolchain::ToolchainRequest::from_environment(&directory, true).unwrap();
        let toolchain = toolchain::find(&request, &|_: &str| ()).unwrap();
        let store = folder.path().join("units");
        let options = BuildOptions {
            toolchain: &toolchain,
            target_directory: None,
            locked: true,
            shared: Some(&store),
        };
        let flow = crate_build::locate(&directory).unwrap();
        let built = crate_build::build(&[flow], options, &|_: &str| ()).unwrap();
        let report = crate::report::ComponentReport::of(&built[0].component).unwrap();
        eprintln!("{report:#?}");
        assert!(
            report.imports.iter().all(|name| name.starts_with("segno:workflow/")),
            "{:?}",
            report.imports
        );

        // Crates with the same name in other folders: they reuse compiled units, and compile only
        // the differences.
        let again = |place: &str, file: &str, from: &str, to: &str| {
            let other = folder.path().join(place).join("flow");
            create(&other, Language::Rust).unwrap();
            fs::copy(directory.join("Cargo.lock"), other.join("Cargo.lock")).unwrap();
            let text = fs::read_to_string(other.join(file)).unwrap();
            assert!(text.contains(from));
            fs::write(other.join(file), text.replace(from, to)).unwrap();
            let flow = crate_build::locate(&other).unwrap();
            let built = crate_build::build(&[flow], options, &|_: &str| ()).unwrap().remove(0);
            (built.component, compiled_now(&other.join("target/guest")))
        };
        let has = |component: &[u8], word: &str| String::from_utf8_lossy(component).contains(word);
        let (second, compiled) = again("second", "src/lib.rs", "no mail address", "bad address");
        assert_eq!(compiled, [""; 0]);
        assert!(has(&second, "bad address") && !has(&second, "no mail address"));
        let first = &built[0].component;
        assert!(has(first, "no mail address") && !has(first, "bad address"));
        let payload = ".segno/sdk/src/payload.rs";
        let (odd, compiled) = again("third", payload, " does not fit: ", " is too odd: ");
        assert_eq!(compiled, ["libsegno_macro", "libsegno_saga", "libsegno_sdk"]);
        assert!(has(&odd, " is too odd: ") && !has(&second, " is too odd: "));
    }

    /// The dependencies in a target folder that were compiled there; all copied ones have the same
    /// modification time.
    fn compiled_now(target: &Path) -> Vec<String> {
        let libraries = ["release/deps", "wasm32-unknown-unknown/release/deps"]
            .into_iter()
            .flat_map(|folder| fs::read_dir(target.join(folder)).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|kind| kind == "rlib" || kind == "so"));
        let mut dated: Vec<_> = libraries
            .filter_map(|path| {
                let stem = path.file_stem()?.to_string_lossy().into_owned();
                let (name, _hash) = stem.rsplit_once('-')?;
                Some((fs::metadata(&path).ok()?.modified().ok()?, name.to_owned()))
            })
            .collect();
        dated.sort();
        let taken_at = dated.first().expect("there are dependencies").0;
        let now = dated.into_iter().filter(|(modified, _)| *modified != taken_at);
        let mut names: Vec<String> = now.map(|(_, name)| name).collect();
        names.sort();
        names
    }
}
