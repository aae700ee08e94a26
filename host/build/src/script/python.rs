//! Builds Python projects: componentize-py puts CPython and the sources into the component.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    ScriptError, ScriptProject, failed, shims,
    tools::{Tools, asked},
};
use crate::{BuildProgress, Language, process};

/// The module with the functions.
const APP: &str = "app";
/// The module that is built for a project that uses the package `segno-sdk`. It loads [`APP`].
const ENTRY: &str = "segno_entry";
/// The source of [`ENTRY`].
const ENTRY_SOURCE: &str = "from segno_sdk.component import load

Functions, Messages, Objects, Runs, Handlers, Limits = load('app')
";
/// The worlds of a component, newest first: with full descriptions; without functions that run
/// once; also without limits; also without queries and updates; also without objects.
const DESCRIBED: &str = "module-with-descriptions";
const WITHOUT_RUNS: &str = "module-with-limits";
const WITHOUT_LIMITS: &str = "module-with-handlers";
const WITHOUT_HANDLERS: &str = "module-with-objects";
const WITHOUT_OBJECTS: &str = "module-with-messages";
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

/// Builds the component. Returns its bytes, and warnings about the source.
pub(super) fn build(
    project: &ScriptProject,
    work: &Path,
    prepare: bool,
    progress: &dyn BuildProgress,
) -> Result<(Vec<u8>, String), ScriptError> {
    let environment = environment(&project.folder);
    let own = environment.as_deref().filter(|own| own.join("bin/componentize-py").is_file());
    let tools = match own {
        Some(own) => own.to_owned(),
        None => {
            let cached = tools().in_cache(prepare, progress, |folder| install(folder, progress));
            cached?.join("venv")
        }
    };
    progress.step(&format!("building {} with componentize-py", project.name));
    let component = work.join("component.wasm");
    let mut command = Command::new(tools.join("bin/python3"));
    command.current_dir(&project.folder).args(["-c", COMPONENTIZE, "--quiet", "-d"]);
    command.arg(work.join("wit/0.2.0"));
    command.args(["-w", world(project), "componentize"]);
    if uses_package(project) {
        let entry = work.join("entry");
        fs::create_dir_all(&entry).map_err(failed(&entry))?;
        let source = entry.join(format!("{ENTRY}.py"));
        fs::write(&source, ENTRY_SOURCE).map_err(failed(&source))?;
        // The project comes first, so that its sources keep the number 0 in tracebacks.
        command.args([ENTRY, "-p", ".", "-p"]).arg(entry);
    } else {
        command.args([APP, "-p", "."]);
    }
    command.arg("-o").arg(&component).env_remove("RUST_BACKTRACE");
    if let Some(environment) = environment {
        // The environment in which componentize-py finds the project's packages.
        command.env("VIRTUAL_ENV", environment);
    }
    let finished = process::run(&mut command, None, &|_| ())?;
    if !finished.success {
        let output = in_sources(&finished.stderr);
        return Err(ScriptError::Build { name: project.name.clone(), output });
    }
    Ok((fs::read(&component).map_err(failed(&component))?, String::new()))
}

/// True if a source imports `Runs`. Searching for the word alone is not enough, since it is an
/// English word.
fn imports_runs(source: &str) -> bool {
    source.lines().map(str::trim).any(|line| {
        let words = || line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let imports = line.starts_with("from ") || line.starts_with("import ");
        line == "Runs,"
            || line == "Runs"
            || (imports && words().any(|word| word == "Runs"))
            || line.starts_with("Runs =")
            || line.starts_with("class Runs")
    })
}

/// True if the project uses the package `segno-sdk` and not a `segno.py` of its own. An `app.py`
/// that imports `segno_sdk.exports` names the exports itself.
fn uses_package(project: &ScriptProject) -> bool {
    let source = fs::read_to_string(project.folder.join(&project.entry)).unwrap_or_default();
    let has_exports = source.contains("segno_sdk.exports") || source.contains("Functions");
    !project.folder.join("segno.py").is_file() && !has_exports
}

/// Chooses the world of the project. A source that imports `Runs` needs functions that run once;
/// one that contains `Limits` needs limits; one that contains `Handlers` needs queries and updates.
/// The rest depends on its `segno.py`, which may be older or customised.
fn world(project: &ScriptProject) -> &'static str {
    let read = |name: &Path| fs::read_to_string(project.folder.join(name)).ok();
    let source = read(&project.entry).unwrap_or_default();
    let shim = read("segno.py".as_ref());
    match shim.as_ref().unwrap_or(&source).contains("Objects") {
        _ if uses_package(project) => DESCRIBED,
        _ if imports_runs(&source) => DESCRIBED,
        _ if source.contains("Limits") => WITHOUT_RUNS,
        _ if source.contains("Handlers") => WITHOUT_LIMITS,
        true => WITHOUT_HANDLERS,
        false => WITHOUT_OBJECTS,
    }
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

/// Extracts the source's traceback from the output of componentize-py.
fn in_sources(stderr: &str) -> String {
    let after = stderr.split_once("AssertionError: ").map_or(stderr, |(_, after)| after);
    let inside = after.split_once("\n\nCaused by:").map_or(after, |(inside, _)| inside);
    let text = inside.replace("File \"/0/", "File \"");
    let text = text.trim();
    let missing = ["Functions", "Messages", "Objects", "Runs", "Handlers", "Limits"]
        .into_iter()
        .find(|name| text == format!("AttributeError: module 'app' has no attribute '{name}'"));
    match missing {
        Some(name) => format!(
            "app.py has no `{name}`, which the host calls: `from segno import Functions, Messages, Objects, Runs, Handlers, Limits`"
        ),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_that_of_the_source_alone() {
        let said = "Traceback (most recent call last):\n  File \"<string>\", line 4, in <module>\nAssertionError:   File \"/0/app.py\", line 3\n    def x(:\n          ^\nSyntaxError: invalid syntax\n\n\nCaused by:\n    SyntaxError: invalid syntax (app.py, line 3)\n\nStack backtrace:\n   0: <anyhow::Error>::msg\n";
        let shown = in_sources(said);
        assert_eq!(
            shown,
            "File \"app.py\", line 3\n    def x(:\n          ^\nSyntaxError: invalid syntax"
        );
        assert_eq!(in_sources("no such file\n"), "no such file");
        let none = "AssertionError: AttributeError: module 'app' has no attribute 'Functions'\n\n\nCaused by:\n";
        assert!(
            in_sources(none).contains(
                "`from segno import Functions, Messages, Objects, Runs, Handlers, Limits`"
            )
        );
    }

    #[test]
    fn the_world_is_what_the_project_describes() {
        let folder = tempfile::tempdir().unwrap();
        let of = |files: [(&str, &str); 2]| {
            for (name, text) in files {
                fs::write(folder.path().join(name), text).unwrap();
            }
            let entry = "app.py".into();
            let (name, folder) = ("shop".to_owned(), folder.path().to_owned());
            world(&ScriptProject { language: Language::Python, name, folder, entry })
        };
        let (today, then) = ("class Objects: …\nclass Handlers: …", "class Objects: …");
        let all = "from segno import (\n    Limits,\n    Handlers,\n    Objects,\n    Runs,\n)";
        let (no_runs, some) = (
            "# Runs a shop.\nfrom segno import Objects, Handlers, Limits",
            "from segno import Objects",
        );
        let unlimited = "from segno import Objects, Handlers";
        assert_eq!(of([("segno.py", today), ("app.py", all)]), DESCRIBED);
        assert_eq!(
            of([("segno.py", today), ("app.py", "from segno import Runs, Limits")]),
            DESCRIBED
        );
        assert_eq!(of([("segno.py", today), ("app.py", no_runs)]), WITHOUT_RUNS);
        assert_eq!(of([("segno.py", today), ("app.py", unlimited)]), WITHOUT_LIMITS);
        assert_eq!(of([("segno.py", today), ("app.py", some)]), WITHOUT_HANDLERS);
        assert_eq!(of([("segno.py", then), ("app.py", some)]), WITHOUT_HANDLERS);
        assert_eq!(of([("segno.py", "class Functions: …"), ("app.py", "")]), WITHOUT_OBJECTS);
    }

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
