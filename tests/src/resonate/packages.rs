//! The packages that the scripts in `tests/resonate` need: installed once, as their lock files say,
//! by the ordinary clients of the registries, into a cache.
//!
//! `SEGNO_CLIENTS=1` asks for that. Where they cannot be had, the suite says what is missing and
//! skips; with `SEGNO_CLIENTS=required`, as in CI, it fails.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The scripts and lock files.
pub const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/resonate");

/// The folder with Node and the TypeScript SDK.
pub fn typescript() -> Option<PathBuf> {
    let scripts = ["functions.mjs", "worker.mjs", "ask.mjs"];
    let folder = installed("typescript", "package-lock.json", |folder| {
        copy(&["package.json", "package-lock.json"], folder)?;
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder);
        succeeded("npm ci", npm.output())?;
        // The package `node` fetches its program when it is installed, unless such scripts are
        // switched off.
        succeeded("node", Command::new(node(folder)).arg("--version").output()).map(drop)
    })?;
    // They find their packages beside themselves.
    copy(&scripts, &folder).unwrap_or_else(|why| panic!("{why}"));
    Some(folder)
}

/// The Node of [`typescript`]'s folder.
pub fn node(folder: &Path) -> PathBuf {
    folder.join("node_modules/node/bin/node")
}

/// The folder with an environment that has the Python SDK.
pub fn python() -> Option<PathBuf> {
    installed("python", "requirements.txt", |folder| {
        let mut venv = Command::new(new_python(folder)?);
        venv.args(["-m", "venv", "--clear"]).arg(folder.join("venv"));
        succeeded("python -m venv", venv.output())?;
        let mut pip = Command::new(folder.join("venv/bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        pip.arg(Path::new(SCRIPTS).join("requirements.txt"));
        succeeded("pip install", pip.output()).map(drop)
    })
}

/// The program `schemathesis`, in an environment of its own; none if it cannot be had here, and
/// standard error says why.
pub fn schemathesis() -> Option<PathBuf> {
    let requirements = "../openapi/requirements.txt";
    let folder = installed("schemathesis", requirements, |folder| {
        let mut venv = Command::new(new_python(folder)?);
        venv.args(["-m", "venv", "--clear"]).arg(folder.join("venv"));
        succeeded("python -m venv", venv.output())?;
        let mut pip = Command::new(folder.join("venv/bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        pip.arg(Path::new(SCRIPTS).join(requirements));
        succeeded("pip install", pip.output()).map(drop)
    })?;
    Some(folder.join("venv/bin/schemathesis"))
}

/// A Python that is new enough: the one that `SEGNO_PYTHON` names, on the path, where pyenv keeps
/// them, or from Debian.
fn new_python(folder: &Path) -> Result<PathBuf, String> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let kept = fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let kept = kept.map(|version| version.path().join("bin/python3"));
    let named = env::var_os("SEGNO_PYTHON").map(PathBuf::from);
    let on_path = ["python3.14", "python3.13", "python3.12", "python3"].map(PathBuf::from);
    let new_enough = |python: &PathBuf| {
        let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))";
        let asked = Command::new(python).args(["-c", check]).output();
        asked.is_ok_and(|output| output.status.success())
    };
    if let Some(python) = named.into_iter().chain(on_path).chain(kept).find(new_enough) {
        return Ok(python);
    }
    let mut debian = Command::new(Path::new(SCRIPTS).join("python-from-debian"));
    let printed = succeeded("python-from-debian", debian.arg(folder.join("debian")).output())
        .map_err(|why| format!("there is no Python 3.12 or newer here, and {why}"))?;
    Ok(PathBuf::from(printed.trim()))
}

/// The folder in which packages are installed, once for all tests and until the lock file changes.
///
/// # Panics
/// They cannot be installed, and have to be.
fn installed(
    language: &str,
    lock_file: &str,
    install: impl Fn(&Path) -> Result<(), String>,
) -> Option<PathBuf> {
    let wanted = env::var("SEGNO_CLIENTS").unwrap_or_default();
    if wanted.is_empty() {
        eprintln!(
            "skipped: released clients in {language} run with SEGNO_CLIENTS=1, which installs them"
        );
        return None;
    }
    match attempt(language, lock_file, install) {
        Ok(folder) => Some(folder),
        Err(why) if wanted == "required" => {
            panic!("the {language} SDK is required, and it cannot be installed: {why}")
        }
        Err(why) => {
            eprintln!("SKIPPED: the {language} SDK cannot be installed: {why}");
            None
        }
    }
}

fn attempt(
    language: &str,
    lock_file: &str,
    install: impl Fn(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let cache = cache.ok_or("neither HOME nor XDG_CACHE_HOME says where to put it")?;
    let folder = cache.join("segno/resonate-suite").join(language);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    // Other tests, and other checkouts, want the same.
    let lock = File::create(folder.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let wanted = fs::read(Path::new(SCRIPTS).join(lock_file)).map_err(failed)?;
    let mark = folder.join("installed");
    if !fs::read(&mark).is_ok_and(|had| had == wanted) {
        install(&folder)?;
        fs::write(mark, wanted).map_err(failed)?;
    }
    Ok(folder)
}

fn copy(names: &[&str], folder: &Path) -> Result<(), String> {
    for name in names {
        let (from, to) = (Path::new(SCRIPTS).join(name), folder.join(name));
        let failed = |error: std::io::Error| format!("{}: {error}", to.display());
        let wanted = fs::read(from).map_err(failed)?;
        // Other tests may be reading it.
        if fs::read(&to).is_ok_and(|had| had == wanted) {
            continue;
        }
        let fresh = folder.join(format!(".{name}.{}", std::process::id()));
        fs::write(&fresh, wanted).map_err(failed)?;
        fs::rename(fresh, &to).map_err(failed)?;
    }
    Ok(())
}

/// What a command printed.
fn succeeded(what: &str, output: std::io::Result<Output>) -> Result<String, String> {
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{what}: {error}")),
    }
}
