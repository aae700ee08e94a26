//! Packages outside the workspace, pinned by lock files. They are installed once, by the ordinary
//! clients of their registries, into a cache.
//!
//! `SEGNO_CLIENTS=1` enables the installation. If the packages are unavailable, a suite says what
//! is missing and skips. With `SEGNO_CLIENTS=required`, as in CI, the suite fails.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Scripts and lock files of a suite.
pub struct Packages {
    /// Folder of the suite within Segno's cache.
    pub suite: &'static str,
    /// Folder with scripts and lock files.
    pub scripts: &'static str,
}

/// Path of Node in a folder in which npm installed the package `node`.
pub fn node(folder: &Path) -> PathBuf {
    folder.join("node_modules/node/bin/node")
}

impl Packages {
    /// Installs the packages of `source`, a folder of the scripts with a `package-lock.json`, into
    /// the folder `name`. `None` if they are unavailable, with the reason on standard error.
    ///
    /// # Panics
    /// If the installation fails and is required.
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

    /// Installs the file `requirements` of the scripts into an environment, `venv`, in the folder
    /// `name`. `None` if it is unavailable, with the reason on standard error.
    ///
    /// # Panics
    /// If the installation fails and is required.
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

    /// Builds the crate in the folder `source` of the scripts for debugging, into the folder
    /// `name`. `None` if it cannot be built here, with the reason on standard error. Cargo finds
    /// what has changed.
    ///
    /// # Panics
    /// If the build fails and is required.
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

    /// Copies scripts next to their packages, where Node looks for those.
    ///
    /// # Panics
    /// If the folder cannot be written.
    pub fn beside(&self, folder: &Path, scripts: &[&str]) {
        for name in scripts {
            let copied = self.copy(Path::new(name), &folder.join(name));
            copied.unwrap_or_else(|why| panic!("{why}"));
        }
    }

    /// Folder in which packages are installed, once for all tests, until the lock file changes.
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

    /// Result of an attempt. `None` if it is not enabled, or failed and is not required.
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

    /// The folder with this name in the cache, locked until the file is closed, because other tests
    /// and checkouts use the same folder.
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
        // Other tests may be reading the file.
        if fs::read(to).is_ok_and(|had| had == wanted) {
            return Ok(());
        }
        // Other tests may be writing the file.
        let fresh = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(to)).map_err(failed)?;
        fs::write(fresh.path(), wanted).map_err(failed)?;
        fresh.persist(to).map_err(|error| failed(error.error)).map(drop)
    }
}

/// A sufficiently new Python: the one that `SEGNO_PYTHON` names, one on the path, one of pyenv, or
/// Debian's.
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

/// Output of a successful command.
fn succeeded(what: &str, output: io::Result<Output>) -> Result<String, String> {
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{what}: {error}")),
    }
}
