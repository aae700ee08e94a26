//! Workers and clients of the Resonate protocol in other languages, as processes of their own.
//!
//! With `SEGNO_CLIENTS=1` their packages are installed once by the ordinary clients of the registries, into a cache. Where
//! that is not possible the suite says what is missing, and skips.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

/// The scripts.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/resonate");

/// A language with its packages.
#[derive(Clone)]
pub enum Language {
    /// Node 22 or newer; the folder that holds `node_modules`.
    TypeScript(PathBuf),
    /// Python 3.12 or newer, in an environment of its own.
    Python(PathBuf),
}

/// A worker; it is killed when this is dropped.
pub struct Worker {
    process: Child,
}

impl Language {
    /// Node with the released SDK; none if it cannot be had here, and standard error says why.
    pub fn typescript() -> Option<Self> {
        let folder = installed("typescript", "package.json", |folder| {
            let sources = ["package.json", "functions.mjs", "worker.mjs", "ask.mjs"];
            copy(&sources, folder)?;
            let install = Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
                .current_dir(folder)
                .output();
            succeeded("npm install", install)?;
            // The package `node` links its program when it is installed, unless such scripts are switched off.
            succeeded("node", Command::new(node(folder)).arg("--version").output())
        })?;
        copy(&["functions.mjs", "worker.mjs", "ask.mjs"], &folder).ok()?;
        Some(Self::TypeScript(folder))
    }

    /// Python with the released SDK; none if it cannot be had here, and standard error says why.
    pub fn python() -> Option<Self> {
        let folder = installed("python", "requirements.txt", |folder| {
            let python = python().ok_or("there is no Python 3.12 or newer")?;
            let venv = Command::new(python).args(["-m", "venv"]).arg(folder.join("venv")).output();
            succeeded("python -m venv", venv)?;
            let pip = Command::new(folder.join("venv/bin/pip"))
                .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
                .arg(Path::new(SCRIPTS).join("requirements.txt"))
                .output();
            succeeded("pip install", pip)
        })?;
        Some(Self::Python(folder))
    }

    /// Starts a worker called `name`, whose leases are `ttl_ms` long; it writes what it did to `ledger`.
    ///
    /// # Panics
    /// It does not start.
    pub fn worker(&self, url: &str, name: &str, ttl_ms: u32, ledger: &Path) -> Worker {
        let log = File::create(ledger.with_extension(format!("{name}.log"))).expect("a log");
        let mut command = self.script("worker");
        command
            .env("URL", url)
            .env("WORKER", name)
            .env("TTL", ttl_ms.to_string())
            .env("LEDGER", ledger)
            .stdout(Stdio::null())
            .stderr(log);
        Worker { process: command.spawn().expect("a worker starts") }
    }

    /// Begins to ask; the answer comes from [`answer`].
    ///
    /// # Panics
    /// The client does not start.
    pub fn asks(&self, url: &str, arguments: &[&str]) -> Child {
        let mut command = self.script("ask");
        command.args(arguments).env("URL", url).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a client starts")
    }

    fn script(&self, name: &str) -> Command {
        match self {
            Self::TypeScript(folder) => {
                let mut command = Command::new(node(folder));
                command.arg(folder.join(format!("{name}.mjs")));
                command
            }
            Self::Python(folder) => {
                let mut command = Command::new(folder.join("venv/bin/python"));
                command.arg(Path::new(SCRIPTS).join(format!("{name}.py")));
                command
            }
        }
    }
}

impl Worker {
    /// Kills it, as SIGKILL does.
    ///
    /// # Panics
    /// It is gone already.
    pub fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it was killed");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a client was answered.
///
/// # Panics
/// It was answered nothing; the message carries what it said.
pub fn answer(client: Child) -> Value {
    let Output { stdout, stderr, .. } = client.wait_with_output().expect("the client ends");
    let text = String::from_utf8_lossy(&stdout);
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line)
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&stderr)))
}

fn node(folder: &Path) -> PathBuf {
    folder.join("node_modules/node/bin/node")
}

/// The first Python that is new enough, on the path or where pyenv keeps them.
fn python() -> Option<PathBuf> {
    let pyenv = env::var_os("HOME").map(PathBuf::from)?.join(".pyenv/versions");
    let kept = fs::read_dir(pyenv).into_iter().flatten().flatten();
    let kept = kept.map(|version| version.path().join("bin/python3"));
    let named = ["python3.14", "python3.13", "python3.12", "python3"].map(PathBuf::from);
    named.into_iter().chain(kept).find(|python| {
        let check = "import sys, venv; sys.exit(sys.version_info < (3, 12))";
        let asked = Command::new(python).args(["-c", check]).output();
        asked.is_ok_and(|output| output.status.success())
    })
}

/// The folder in which packages are installed, once for all tests and until what is wanted changes.
fn installed(
    language: &str,
    wanted: &str,
    install: impl Fn(&Path) -> Result<(), String>,
) -> Option<PathBuf> {
    if env::var_os("SEGNO_CLIENTS").is_none() {
        eprintln!(
            "skipped: released clients in {language} run with SEGNO_CLIENTS=1, which installs them"
        );
        return None;
    }
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    let folder = cache.join("segno/resonate-suite").join(language);
    let attempt = || -> Result<(), String> {
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let lock = File::create(folder.join("lock")).map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| error.to_string())?;
        let wanted =
            fs::read(Path::new(SCRIPTS).join(wanted)).map_err(|error| error.to_string())?;
        let mark = folder.join("installed");
        if fs::read(&mark).is_ok_and(|had| had == wanted) {
            return Ok(());
        }
        install(&folder)?;
        fs::write(mark, wanted).map_err(|error| error.to_string())
    };
    match attempt() {
        Ok(()) => Some(folder),
        Err(why) => {
            eprintln!("SKIPPED: the {language} SDK cannot be installed: {why}");
            None
        }
    }
}

fn copy(names: &[&str], folder: &Path) -> Result<(), String> {
    for name in names {
        let (from, to) = (Path::new(SCRIPTS).join(name), folder.join(name));
        let wanted = fs::read(from).map_err(|error| error.to_string())?;
        // Other tests may be reading it.
        if fs::read(&to).is_ok_and(|had| had == wanted) {
            continue;
        }
        let fresh = folder.join(format!(".{name}.{}", std::process::id()));
        fs::write(&fresh, wanted).map_err(|error| error.to_string())?;
        fs::rename(fresh, to).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn succeeded(what: &str, output: std::io::Result<Output>) -> Result<(), String> {
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{what}: {error}")),
    }
}
