//! Builds Python projects. `collect.py` finds the sources that `app.py` imports, which are the
//! module. The runtime that loads them, CPython with `runtime.py`, is built once by componentize-py.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use segno_core::{id::Digest, source_module::SourceModule};
use serde::Deserialize;

use super::{
    ScriptError, ScriptProject, failed, runtimes, shims,
    tools::{Tools, asked},
    write,
};
use crate::{BuildProgress, Language, process};

/// The module with the functions.
const APP: &str = "app";
const COLLECTOR: &str = include_str!("collect.py");
/// The file that the runtime loads in a project that uses the package `segno-sdk`. It loads [`APP`].
const ENTRY: &str = "project/segno_entry.py";
/// The source of [`ENTRY`].
const ENTRY_SOURCE: &str = "from segno_sdk.component import load

globals().update((export.__name__, export) for export in load('app'))
";
/// The module of the package that [`ENTRY`] imports.
const PACKAGE: &str = "segno_sdk.component";
const WANTED: &str = "Python 3.10 or newer with `venv` and `pip`";
const INSTALL: &str = "apt-get install python3 python3-venv";

/// Exits with an error message if this Python is unsuitable; prints nothing otherwise.
const CHECK: &str = "import sys
if sys.version_info < (3, 10): sys.exit('this is Python %d.%d' % sys.version_info[:2])
import ensurepip, venv";

/// Runs the program `componentize-py` independently of the location of its environment.
const COMPONENTIZE: &str = "import sys
from componentize_py import script
sys.argv[0] = 'componentize-py'
sys.exit(script())";

/// Prints the version of componentize-py.
const VERSION: &str = "from importlib.metadata import version
print('componentize-py==' + version('componentize-py'))";

/// The output of `collect.py`: pairs of a path in the module, and a file or a content.
#[derive(Deserialize)]
struct CollectedFiles {
    files: Vec<(String, PathBuf)>,
    texts: Vec<(String, String)>,
}

/// The name in `pyproject.toml`, if there is one; the source file; and a hint for the author.
pub(super) fn manifest(
    folder: &Path,
) -> Result<(Option<String>, PathBuf, &'static str), ScriptError> {
    let path = folder.join("pyproject.toml");
    let text = match path.is_file() {
        true => fs::read_to_string(&path).map_err(failed(&path))?,
        false => String::new(),
    };
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        ScriptError::Manifest { manifest: path, why: error.to_string() }
    })?;
    let name = table.get("project").and_then(|project| project.get("name"));
    let name = name.and_then(toml::Value::as_str).map(str::to_owned);
    Ok((
        name,
        format!("{APP}.py").into(),
        "it has the functions, under `from segno_sdk import activity, workflow`",
    ))
}

/// Builds the module. Returns its stored form.
pub(super) fn build(
    project: &ScriptProject,
    work: &Path,
    prepare: bool,
    progress: &dyn BuildProgress,
) -> Result<Vec<u8>, ScriptError> {
    let environment = environment(&project.folder);
    let own = environment.as_deref().filter(|own| own.join("bin/componentize-py").is_file());
    let (python, version) = match own {
        Some(own) => {
            let python = own.join("bin/python3");
            let version = process::run(Command::new(&python).args(["-c", VERSION]), None, &|_| ())?;
            (python, version.stdout)
        }
        None => {
            let cached = tools().in_cache(prepare, progress, |folder| install(folder, progress))?;
            (cached.join("venv/bin/python3"), shims::PYTHON_TOOLS.to_owned())
        }
    };
    let runtime = runtime(&python, version.trim(), work, progress)?;
    progress.step(&format!("collecting the sources of {}", project.name));
    let files = sources(project, environment.as_deref(), &python, work)?;
    let module = SourceModule::new(runtime, files);
    Ok(module.map_err(|error| refused(project, error.to_string()))?.encode())
}

/// The digest of the runtime that componentize-py, in this version, builds.
fn runtime(
    python: &Path,
    version: &str,
    work: &Path,
    progress: &dyn BuildProgress,
) -> Result<Digest, ScriptError> {
    let sources = shims::PYTHON_RUNTIME;
    let parts = [version, shims::CONTRACT, sources[0].1, sources[1].1].map(str::as_bytes);
    let key = Digest::of_parts(&parts).to_string();
    runtimes::in_cache(Language::Python, &key[..16], progress, |path| {
        progress.step("building the runtime of Python, once");
        // Of its own: all files in the folder are put into the component.
        let folder = work.join("runtime");
        for (name, source) in sources {
            write(&folder.join(name).with_extension("py"), source)?;
        }
        let mut command = Command::new(python);
        command.args(["-c", COMPONENTIZE, "--quiet", "-d"]).arg(work.join("wit/0.2.0"));
        command.args(["-w", "language-runtime", "componentize", sources[0].0, "-p"]);
        command.arg(folder).arg("-o").arg(path).env_remove("RUST_BACKTRACE");
        // Packages of the author do not belong into the runtime.
        command.env_remove("VIRTUAL_ENV").current_dir(work);
        let finished = process::run(&mut command, None, &|_| ())?;
        match finished.success {
            true => Ok(()),
            false => Err(ScriptError::Build {
                name: "the runtime of Python".to_owned(),
                output: finished.stderr,
            }),
        }
    })
}

/// The files of the module: those of the project and of packages that its source imports.
fn sources(
    project: &ScriptProject,
    environment: Option<&Path>,
    tools: &Path,
    work: &Path,
) -> Result<Vec<(String, Vec<u8>)>, ScriptError> {
    let collector = work.join("collect.py");
    write(&collector, COLLECTOR)?;
    let mut command = match environment {
        Some(environment) => Command::new(environment.join("bin/python3")),
        None => {
            // Without the packages of the tools.
            let mut command = Command::new(tools);
            command.arg("-S");
            command
        }
    };
    command.arg("-I").arg(&collector).args([".", APP]).current_dir(&project.folder);
    let uses_package = uses_package(project);
    if uses_package {
        command.arg(PACKAGE);
    }
    let finished = process::run(&mut command, None, &|_| ())?;
    if !finished.success {
        return Err(refused(project, finished.stderr));
    }
    let found: CollectedFiles = serde_json::from_str(&finished.stdout)
        .map_err(|error| refused(project, format!("collect.py: {error}")))?;
    let mut files = Vec::with_capacity(found.files.len() + found.texts.len() + 1);
    for (name, path) in found.files {
        files.push((name, fs::read(&path).map_err(failed(&path))?));
    }
    files.extend(found.texts.into_iter().map(|(name, text)| (name, text.into_bytes())));
    if uses_package {
        files.push((ENTRY.to_owned(), ENTRY_SOURCE.into()));
    }
    Ok(files)
}

fn refused(project: &ScriptProject, output: String) -> ScriptError {
    ScriptError::Build { name: project.name.clone(), output }
}

/// True if the project uses the package `segno-sdk` and not a `segno.py` of its own. An `app.py`
/// that imports `segno_sdk.exports` names the exports itself.
fn uses_package(project: &ScriptProject) -> bool {
    let source = fs::read_to_string(project.folder.join(&project.entry)).unwrap_or_default();
    let has_exports = source.contains("segno_sdk.exports") || source.contains("Functions");
    !project.folder.join("segno.py").is_file() && !has_exports
}

/// The environment with the project's packages: `.venv` or `venv` in its folder, otherwise the
/// active one.
fn environment(folder: &Path) -> Option<PathBuf> {
    let inside = [".venv", "venv"].into_iter().map(|name| folder.join(name));
    let active = env::var_os("VIRTUAL_ENV").filter(|path| !path.is_empty()).map(PathBuf::from);
    inside.chain(active).find(|environment| environment.join("pyvenv.cfg").is_file())
}

fn tools() -> Tools {
    let versions = shims::PYTHON_TOOLS.trim();
    Tools {
        language: Language::Python,
        names: versions.replace("==", " "),
        versions: versions.to_owned(),
        client: "pip",
        by_hand: format!("python3 -m venv .venv && .venv/bin/pip install {versions}"),
    }
}

fn install(folder: &Path, progress: &dyn BuildProgress) -> Result<(), ScriptError> {
    let tools = tools();
    let mut check = Command::new("python3");
    let answer = process::run(check.args(["-c", CHECK]), None, &|_| ());
    asked(answer, "python3").map_err(|found| ScriptError::NoInterpreter {
        language: Language::Python,
        wanted: WANTED,
        found,
        install: INSTALL,
    })?;
    let run = |command: &mut Command| {
        let finished = process::run(command, None, &|line| progress.line(line))?;
        if finished.success { Ok(()) } else { Err(tools.refused(&finished)) }
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
    // Via the module: an environment's scripts contain the path of its folder, which is moved
    // later.
    let mut pip = Command::new(folder.join("venv/bin/python3"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(tools.versions.lines()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_of_the_project_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let venv = folder.path().join(".venv");
        fs::create_dir(&venv).unwrap();
        assert_ne!(environment(folder.path()).as_deref(), Some(&*venv));
        fs::write(venv.join("pyvenv.cfg"), "").unwrap();
        assert_eq!(environment(folder.path()).as_deref(), Some(&*venv));
    }
}
