//! The commands that a document shows, run as printed.
//!
//! So that tests can run concurrently, some values are substituted. The addresses: by
//! `SEGNO_LISTEN`, by `SEGNO_SERVER`, and in lines that contain them. The home folder: a separate
//! folder with the repository as `~/segno`. The target folder: a shared one, so that dependencies
//! are compiled once. Kept is everything that would be downloaded again, and the settings for it:
//! the folders of cargo and rustup, the caches of Segno, npm and pip, and the settings of both.

use std::{
    env,
    ffi::OsString,
    fs,
    net::TcpListener,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::documents::repository;

/// Address of the host in the documents.
const HOST: &str = "127.0.0.1:7766";
/// Address of the service next to it.
const SERVICE: &str = "127.0.0.1:7767";

/// A line and its results.
#[derive(Debug)]
pub struct Said {
    /// The line as printed in the document.
    pub line: String,
    /// Exit code. `None` if the line was not reached.
    pub exit: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Shells in an empty folder, with the built command on the path.
pub struct Shell {
    folder: PathBuf,
    target: PathBuf,
    host: String,
    service: String,
}

impl Shell {
    /// Creates shells in `folder`, where `segno` is this binary. Crates are compiled in `target`.
    ///
    /// # Panics
    /// If the folder is not empty, or there are no free ports.
    pub fn in_folder(folder: &Path, segno: &str, target: &Path) -> Self {
        for name in ["bin", "home", "work"] {
            fs::create_dir(folder.join(name)).expect("the folder is empty");
        }
        symlink(segno, folder.join("bin/segno")).expect("links can be made");
        symlink(repository(), folder.join("home/segno")).expect("links can be made");
        // Both ports are bound at the same time, so that they differ.
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("there is a port"));
        let [host, service] = free.map(|free| free.local_addr().expect("it is bound").to_string());
        Self { folder: folder.to_owned(), target: target.to_owned(), host, service }
    }

    /// Folder in which the first line runs.
    pub fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Runs lines in one shell, and ends the background jobs that they started.
    ///
    /// # Panics
    /// If there are no lines, or the shell does not understand one.
    pub fn run(&self, beginning_in: &str, lines: &[String]) -> Vec<Said> {
        assert!(!lines.is_empty(), "there are lines to run");
        let said = tempfile::tempdir_in(&self.folder).expect("there is room for a folder");
        let file = |kind: &str, n: usize| said.path().join(format!("{n}.{kind}"));
        let mut script = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n".to_owned();
        for (n, line) in lines.iter().enumerate() {
            let line = line.replace(HOST, &self.host).replace(SERVICE, &self.service);
            let [out, err, exit] = ["out", "err", "exit"].map(|kind| file(kind, n));
            let (out, err, exit) = (out.display(), err.display(), exit.display());
            script += &format!("{{ {line}\n}} >{out} 2>{err} </dev/null\necho $? >{exit}\n");
        }
        let mut shell = Command::new("timeout");
        shell.args(["--signal=TERM", "1800", "bash", "-c", &script]);
        shell.current_dir(self.work().join(beginning_in));
        self.environment(&mut shell);
        let ended = shell.output().expect("there is a shell");
        let read = |kind, n| fs::read_to_string(file(kind, n)).unwrap_or_default();
        let line = |(n, line): (usize, &String)| Said {
            line: line.clone(),
            exit: read("exit", n).trim().parse().ok(),
            out: read("out", n),
            err: read("err", n),
        };
        let stopped = String::from_utf8_lossy(&ended.stderr);
        assert!(!stopped.contains("syntax error"), "{stopped}");
        lines.iter().enumerate().map(line).collect()
    }

    fn environment(&self, shell: &mut Command) {
        let home = env::var_os("HOME").map(PathBuf::from).expect("there is a home");
        let kept = |name: &str, otherwise: PathBuf| {
            env::var_os(name).map_or(otherwise, PathBuf::from).into_os_string()
        };
        let cache = PathBuf::from(kept("XDG_CACHE_HOME", home.join(".cache")));
        let mut path = OsString::from(self.folder.join("bin"));
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        shell
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.folder.join("home"))
            .env("CARGO_HOME", kept("CARGO_HOME", home.join(".cargo")))
            .env("RUSTUP_HOME", kept("RUSTUP_HOME", home.join(".rustup")))
            .env("NPM_CONFIG_CACHE", kept("NPM_CONFIG_CACHE", home.join(".npm")))
            .env("PIP_CACHE_DIR", kept("PIP_CACHE_DIR", cache.join("pip")))
            .env("SEGNO_CACHE_DIR", kept("SEGNO_CACHE_DIR", cache.join("segno")))
            .env("CARGO_TARGET_DIR", &self.target)
            .env("SEGNO_LISTEN", &self.host)
            .env("SEGNO_SERVER", format!("http://{}", self.host));
        for name in ["SEGNO_WASM_TOOLCHAIN", "RUSTUP_TOOLCHAIN", "CARGO_BUILD_JOBS", "TMPDIR"] {
            if let Some(value) = env::var_os(name) {
                shell.env(name, value);
            }
        }
        let clients = ["NPM_CONFIG_", "npm_config_", "NODE_EXTRA_", "PIP_", "PYENV_", "SSL_CERT_"];
        for (name, value) in env::vars_os() {
            if clients.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                shell.env(name, value);
            }
        }
        shell.env("NPM_CONFIG_USERCONFIG", kept("NPM_CONFIG_USERCONFIG", home.join(".npmrc")));
    }
}
