//! Lines of a shell as a new user types them, in a home of their own.

use std::{
    env,
    ffi::OsString,
    fs,
    net::TcpListener,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// The address in the README.
const ADDRESS: &str = "127.0.0.1:7766";

/// A line and what became of it.
#[derive(Debug)]
pub struct Said {
    /// The line.
    pub line: String,
    /// Its exit code; none: it was not reached, or did not end.
    pub exit: Option<i32>,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

/// Shells in an empty folder, with a command `segno` on the path.
///
/// The home is an empty folder, and the host's address is free: it is given by `SEGNO_LISTEN` and
/// `SEGNO_SERVER`, and replaces that of the README in the text of lines. Kept is what would be
/// downloaded again, and how: the folders of cargo and rustup, Segno's cache, and the settings of
/// npm and pip.
pub struct Shell {
    folder: PathBuf,
    target: PathBuf,
    address: String,
}

impl Shell {
    /// A shell in `folder`, for the command `segno`; what lines compile with cargo is in a folder
    /// of `target`, so that dependencies are compiled once.
    ///
    /// # Panics
    /// The folder is not empty, or there is no free port.
    pub fn in_folder(folder: &Path, segno: &str, target: &str) -> Self {
        for name in ["bin", "home", "work"] {
            fs::create_dir(folder.join(name)).expect("the folder is empty");
        }
        symlink(segno, folder.join("bin/segno")).expect("links can be made");
        let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = free.local_addr().expect("it is bound").to_string();
        let target = Path::new(target).join("readme");
        Self { folder: folder.to_owned(), target, address }
    }

    /// The folder in which the first line is run.
    pub fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Runs lines in one shell, and ends what they left in the background.
    ///
    /// # Panics
    /// There is no shell, or a line is not in its language.
    pub fn run(&self, beginning_in: &str, lines: &[String]) -> Vec<Said> {
        assert!(!lines.is_empty(), "there are lines to run");
        let said = tempfile::tempdir_in(&self.folder).expect("there is room for a folder");
        let file = |kind: &str, n: usize| said.path().join(format!("{n}.{kind}"));
        let mut script = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n".to_owned();
        for (n, line) in lines.iter().enumerate() {
            let line = line.replace(ADDRESS, &self.address);
            let [out, err, exit] = ["out", "err", "exit"].map(|kind| file(kind, n));
            let (out, err, exit) = (out.display(), err.display(), exit.display());
            script += &format!("{{ {line}\n}} >{out} 2>{err} </dev/null\necho $? >{exit}\n");
        }
        let mut shell = Command::new("timeout");
        shell.args(["--signal=TERM", "1200", "bash", "-c", &script]);
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
        let cache = kept("XDG_CACHE_HOME", home.join(".cache"));
        let mut path = OsString::from(self.folder.join("bin"));
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        shell
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.folder.join("home"))
            .env("CARGO_HOME", kept("CARGO_HOME", home.join(".cargo")))
            .env("RUSTUP_HOME", kept("RUSTUP_HOME", home.join(".rustup")))
            .env("SEGNO_CACHE_DIR", kept("SEGNO_CACHE_DIR", PathBuf::from(cache).join("segno")))
            .env("CARGO_TARGET_DIR", &self.target)
            .env("SEGNO_LISTEN", &self.address)
            .env("SEGNO_SERVER", format!("http://{}", self.address));
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
