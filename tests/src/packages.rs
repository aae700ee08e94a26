//! Packages that are no part of the workspace, as lock files say: installed once, by the ordinary
//! clients of their registries, into a cache.
//!
//! `SEGNO_CLIENTS=1` asks for that. Where they cannot be had, a suite says what is missing and
//! skips; with `SEGNO_CLIENTS=required`, as in CI, it fails.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The scripts and lock files of a suite.
pub struct Packages {
    /// The folder of the suite within Segno's cache.
    pub suite: &'static str,
    /// The folder with scripts and lock files.
    pub scripts: &'static str,
}

/// The Node of a folder in which npm installed the package `node`.
pub fn node(folder: &Path) -> PathBuf {
    folder.join("node_modules/node/bin/node")
}

impl Packages {
    /// The folder `name` with what `source`, a folder of the scripts, has a `package-lock.json` for;
    /// none if that cannot be had here, and standard error says why.
    ///
    /// # Panics
    /// It cannot be installed, and has to be.
    pub fn npm(
        &self,
        name: &str,
        source: &str,
        check: impl Fn(&Path) -> Command,
    ) -> Option<PathBuf> {
        let source = Path::new(source);
        self.installed(name, &source.join("package-lock.json"), |folder| {
            for file in ["package.json", "package-lock.json"] {
                self.copy(&source.join(file), &folder.join(file))?;
            }
            let mut npm = Command::new("npm");
            npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder);
            succeeded("npm ci", npm.output())?;
            succeeded("what npm installed", check(folder).output()).map(drop)
        })
    }

    /// The folder `name` with an environment, `venv`, for the file `requirements` of the scripts;
    /// none if that cannot be had here, and standard error says why.
    ///
    /// # Panics
    /// It cannot be installed, and has to be.
    pub fn python(&self, name: &str, requirements: &str) -> Option<PathBuf> {
        self.installed(name, Path::new(requirements), |folder| {
            let mut venv = Command::new(new_python(folder)?);
            venv.args(["-m", "venv", "--clear"]).arg(folder.join("venv"));
            succeeded("python -m venv", venv.output())?;
            let mut pip = Command::new(folder.join("venv/bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]);
            pip.arg(Path::new(self.scripts).join(requirements));
            succeeded("pip install", pip.output()).map(drop)
        })
    }

    /// The folder `name` with a debug build of the crate in the folder `source` of the scripts; none
    /// if it cannot be built here, and standard error says why. Cargo finds what has changed.
    ///
    /// # Panics
    /// It cannot be built, and has to be.
    pub fn cargo(&self, name: &str, source: &str) -> Option<PathBuf> {
        self.wanted(name, || {
            let (folder, _lock) = self.locked(name)?;
            let manifest = Path::new(self.scripts).join(source).join("Cargo.toml");
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["build", "--quiet", "--locked", "--manifest-path"]).arg(manifest);
            cargo.arg("--target-dir").arg(folder.join("target"));
            succeeded("cargo build", cargo.output())?;
            Ok(folder)
        })
    }

    /// Copies scripts beside their packages, where Node looks for those.
    ///
    /// # Panics
    /// The folder cannot be written.
    pub fn beside(&self, folder: &Path, scripts: &[&str]) {
        for name in scripts {
            let copied = self.copy(Path::new(name), &folder.join(name));
            copied.unwrap_or_else(|why| panic!("{why}"));
        }
    }

    /// The folder in which packages are installed, once for all tests and until the lock file
    /// changes.
    fn installed(
        &self,
        name: &str,
        lock_file: &Path,
        install: impl Fn(&Path) -> Result<(), String>,
    ) -> Option<PathBuf> {
        self.wanted(name, || {
            let (folder, _lock) = self.locked(name)?;
            let failed = |error: io::Error| format!("{}: {error}", folder.display());
            let wanted = fs::read(Path::new(self.scripts).join(lock_file)).map_err(failed)?;
            let mark = folder.join("installed");
            if !fs::read(&mark).is_ok_and(|had| had == wanted) {
                install(&folder)?;
                fs::write(mark, wanted).map_err(failed)?;
            }
            Ok(folder)
        })
    }

    /// What comes of an attempt, if it is asked for.
    fn wanted<T>(&self, name: &str, attempt: impl FnOnce() -> Result<T, String>) -> Option<T> {
        let wanted = env::var("SEGNO_CLIENTS").unwrap_or_default();
        if wanted.is_empty() {
            eprintln!("skipped: {name} runs with SEGNO_CLIENTS=1, which installs its packages");
            return None;
        }
        match attempt() {
            Ok(outcome) => Some(outcome),
            Err(why) if wanted == "required" => {
                panic!("the packages of {name} are required, and cannot be installed: {why}")
            }
            Err(why) => {
                eprintln!("SKIPPED: the packages of {name} cannot be installed: {why}");
                None
            }
        }
    }

    /// The folder of that name in the cache, until the file is closed: other tests, and other
    /// checkouts, want the same.
    fn locked(&self, name: &str) -> Result<(PathBuf, File), String> {
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
        let cache = cache.ok_or("neither HOME nor XDG_CACHE_HOME says where to put it")?;
        let folder = cache.join("segno").join(self.suite).join(name);
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let lock = File::create(folder.join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        Ok((folder, lock))
    }

    fn copy(&self, script: &Path, to: &Path) -> Result<(), String> {
        let failed = |error: io::Error| format!("{}: {error}", to.display());
        let wanted = fs::read(Path::new(self.scripts).join(script)).map_err(failed)?;
        // Other tests may be reading it.
        if fs::read(to).is_ok_and(|had| had == wanted) {
            return Ok(());
        }
        // And others may be writing it.
        let fresh = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(to)).map_err(failed)?;
        fs::write(fresh.path(), wanted).map_err(failed)?;
        fresh.persist(to).map_err(|error| failed(error.error)).map(drop)
    }
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
    let from_debian = concat!(env!("CARGO_MANIFEST_DIR"), "/resonate/python-from-debian");
    let printed = Command::new(from_debian).arg(folder.join("debian")).output();
    let printed = succeeded("python-from-debian", printed)
        .map_err(|why| format!("there is no Python 3.12 or newer here, and {why}"))?;
    Ok(PathBuf::from(printed.trim()))
}

/// What a command printed.
fn succeeded(what: &str, output: io::Result<Output>) -> Result<String, String> {
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{what}: {error}")),
    }
}
