//! Creates a new project that builds, runs and passes its tests unchanged.

mod name;
mod sdk;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{BuildProgress, packages::SdkPackage, script::ScriptError};
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

/// Files of a project that npm installs, with the extension of the language as placeholder in paths
/// as well. The package goes into [`VENDOR`].
const NPM: [File; 6] = [
    ("package.json", include_str!("files/npm/package.json.in")),
    ("src/index.{{extension}}", include_str!("files/npm/index.in")),
    ("test/signup.test.{{extension}}", include_str!("files/npm/signup.test.in")),
    (".oxlintrc.json", include_str!("files/npm/oxlintrc.json.in")),
    ("README.md", include_str!("files/npm/README.md.in")),
    (".gitignore", include_str!("files/npm/gitignore.in")),
];

const TYPESCRIPT_SETTINGS: File = ("tsconfig.json", include_str!("files/npm/typescript.json.in"));
const JAVASCRIPT_SETTINGS: File = ("tsconfig.json", include_str!("files/npm/javascript.json.in"));

const PYTHON: [File; 6] = [
    ("pyproject.toml", include_str!("files/python/pyproject.toml.in")),
    ("requirements.txt", include_str!("files/python/requirements.txt.in")),
    ("app.py", include_str!("files/python/app.py.in")),
    ("test_app.py", include_str!("files/python/test_app.py.in")),
    ("README.md", include_str!("files/python/README.md.in")),
    (".gitignore", include_str!("files/python/gitignore.in")),
];

/// The folder with the SDK's package in a project that npm or pip installs.
const VENDOR: &str = "vendor";

/// The folder with the SDK's sources in the crate.
const SDK: &str = ".segno/sdk";

/// A kind of new project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// A crate, with the SDK's sources.
    Rust,
    /// A package of npm in TypeScript.
    TypeScript,
    /// A package of npm in JavaScript, whose types are checked as well.
    JavaScript,
    /// A project in Python.
    Python,
}

impl Template {
    /// All templates.
    pub const ALL: [Self; 4] = [Self::Rust, Self::TypeScript, Self::JavaScript, Self::Python];

    /// The short name, as in `segno new --lang`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::TypeScript => "ts",
            Self::JavaScript => "js",
            Self::Python => "py",
        }
    }

    fn files(self) -> Vec<File> {
        match self {
            Self::Rust => RUST.into(),
            Self::TypeScript => [&NPM[..], &[TYPESCRIPT_SETTINGS]].concat(),
            Self::JavaScript => [&NPM[..], &[JAVASCRIPT_SETTINGS]].concat(),
            Self::Python => PYTHON.into(),
        }
    }

    /// The texts that differ between TypeScript and JavaScript, by placeholder.
    fn words(self) -> [(&'static str, &'static str); 4] {
        let [language, types, test] = match self {
            Self::TypeScript => ["TypeScript", "types", TEST_COMPILED],
            _ => ["JavaScript", "types, which come from schemas and JSDoc", TEST_SOURCES],
        };
        [
            ("{{extension}}", self.name()),
            ("{{language}}", language),
            ("{{types}}", types),
            ("{{test}}", test),
        ]
    }

    /// The SDK's package; `None` for Rust, whose SDK is a folder of sources.
    fn package(self, progress: &dyn BuildProgress) -> Result<Option<SdkPackage>, ScriptError> {
        match self {
            Self::Rust => Ok(None),
            Self::TypeScript | Self::JavaScript => SdkPackage::npm(progress).map(Some),
            Self::Python => Ok(Some(SdkPackage::wheel())),
        }
    }
}

/// The command that tests a project in TypeScript: Node 20 runs no TypeScript itself.
const TEST_COMPILED: &str =
    "rm -rf build/js && tsc && node --enable-source-maps --test build/js/test/*.test.js";
/// The command that tests a project in JavaScript.
const TEST_SOURCES: &str = "node --test test/*.test.js";

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
    /// The SDK's package could not be made; nothing was changed.
    #[error(transparent)]
    Package(#[from] ScriptError),
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
/// Fails if the name is invalid, the folder is not empty, or it cannot be written. Fails, before
/// anything is written, if the SDK's package cannot be made.
pub fn create(
    directory: &Path,
    template: Template,
    progress: &dyn BuildProgress,
) -> Result<CrateName, TemplateError> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let name: CrateName = absolute.file_name().unwrap_or_default().to_string_lossy().parse()?;
    refuse_to_overwrite(directory)?;
    let package = template.package(progress)?;
    write_project(directory, &name, template, package.as_ref())?;
    if template == Template::Rust {
        write_sdk(directory)?;
    }
    Ok(name)
}

fn write_project(
    directory: &Path,
    name: &CrateName,
    template: Template,
    package: Option<&SdkPackage>,
) -> Result<(), TemplateError> {
    let mut words = vec![("{{name}}", name.as_str())];
    words.extend(template.words());
    if let Some(package) = package {
        words.push(("{{package}}", &package.file));
        write(&directory.join(VENDOR).join(&package.file), &package.bytes)?;
    }
    let filled = |text: &str| {
        words
            .iter()
            .fold(text.to_owned(), |text, (placeholder, word)| text.replace(placeholder, word))
    };
    let mut files = template.files().into_iter();
    files.try_for_each(|(path, text)| write(&directory.join(filled(path)), filled(text).as_bytes()))
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
    use crate::{Language, cargo, process};

    fn new_crate(directory: &Path) -> Result<CrateName, TemplateError> {
        create(directory, Template::Rust, &|_: &str| ())
    }

    #[test]
    fn a_new_crate_is_one_that_can_be_built_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("deep/my-flow");
        assert_eq!(new_crate(&directory).unwrap().as_str(), "my-flow");
        assert_eq!(crate_build::locate(&directory).unwrap().package, "my-flow");
        for path in
            ["README.md", ".gitignore", "src/lib.rs", "src/tests.rs", ".segno/sdk/wit/segno.wit"]
        {
            let text = fs::read_to_string(directory.join(path)).unwrap();
            assert!(!text.contains("{{"), "{path} has a gap that was not filled");
        }
    }

    #[test]
    fn a_new_project_of_each_language_is_recognised_and_has_no_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let package = SdkPackage { file: "sdk.tgz".to_owned(), bytes: b"package".to_vec() };
        for (template, language) in [
            (Template::TypeScript, Language::JavaScript),
            (Template::JavaScript, Language::JavaScript),
            (Template::Python, Language::Python),
        ] {
            let directory = folder.path().join(template.name());
            let name = template.name().parse().unwrap();
            write_project(&directory, &name, template, Some(&package)).unwrap();
            assert_eq!(fs::read(directory.join("vendor/sdk.tgz")).unwrap(), b"package");
            let project = crate::Project::locate(&directory).unwrap();
            assert_eq!((project.language(), project.name()), (language, template.name()));
            let names_package = |text: &str| text.contains("vendor/sdk.tgz");
            let mut texts = Vec::new();
            for (path, _) in template.files() {
                let path = directory.join(path.replace("{{extension}}", template.name()));
                let text = fs::read_to_string(&path).unwrap();
                assert!(!text.contains("{{"), "{} has a gap", path.display());
                texts.push(text);
            }
            assert!(texts.iter().any(|text| names_package(text)));
        }
    }

    #[test]
    fn what_exists_is_left_alone_unless_it_is_an_empty_folder() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("flow");
        fs::create_dir(&directory).unwrap();
        new_crate(&directory).unwrap();
        fs::write(directory.join("README.md"), "mine").unwrap();
        assert!(matches!(new_crate(&directory), Err(TemplateError::NotEmpty(_))));
        assert_eq!(fs::read_to_string(directory.join("README.md")).unwrap(), "mine");
        assert!(matches!(new_crate(&directory.join("README")), Err(TemplateError::Name(_))));
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(matches!(new_crate(&folder.path().join("file")), Err(TemplateError::IsFile(_))));
    }

    #[test]
    fn the_sdk_of_an_older_crate_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("flow");
        new_crate(&directory).unwrap();
        let gone = directory.join(SDK).join("src/gone.rs");
        fs::write(&gone, "").unwrap();
        write_sdk(&directory).unwrap();
        assert!(!gone.exists() && directory.join(SDK).join("src/lib.rs").exists());
    }

    #[test]
    fn a_new_crate_passes_its_tests_and_the_next_one_compiles_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("flow");
        new_crate(&directory).unwrap();

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
            new_crate(&other).unwrap();
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
