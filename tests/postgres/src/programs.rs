//! The location of PostgreSQL on this machine, and the account that it runs as.

use std::{
    env, fs, io,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

/// Accounts for the server if the tests run as root, which PostgreSQL refuses.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// PostgreSQL's programs, and the account that runs them.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    folder: PathBuf,
    /// Folder of another version's server, which has no clients.
    server: Option<PathBuf>,
    account: Option<Account>,
}

/// A user that is not root.
#[derive(Debug, Clone, Copy)]
struct Account {
    user: u32,
    group: u32,
}

impl Programs {
    /// Finds the programs on the path, or else the newest ones in Debian's folders. In the
    /// environment, `SEGNO_PG_SERVER` names a folder with another version's `postgres` and
    /// `initdb`.
    pub(crate) fn find() -> Option<Self> {
        let folder = on_path().or_else(newest_of_debian)?;
        let account = match is_root() {
            true => Some(ACCOUNTS.into_iter().find_map(account)?),
            false => None,
        };
        let server = env::var_os("SEGNO_PG_SERVER").map(PathBuf::from);
        Some(Self { folder, server, account })
    }

    /// The same programs, but the server in `folder`.
    pub(crate) fn with_server(self, folder: PathBuf) -> Self {
        Self { server: Some(folder), ..self }
    }

    /// Path of a program.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let server = self.server.as_ref().map(|folder| folder.join(name));
        server.filter(|path| path.is_file()).unwrap_or_else(|| self.folder.join(name))
    }

    /// Creates a command that runs as the server's user.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        // The server's user may lack access to the test's working directory.
        command.current_dir("/").env_remove("PGDATABASE").env_remove("PGHOST").env_remove("PGPORT");
        if let Some(account) = self.account {
            command.uid(account.user).gid(account.group);
        }
        command
    }

    /// Changes the owner of a directory to the server's user.
    pub(crate) fn give(&self, folder: &Path) -> io::Result<()> {
        match self.account {
            Some(account) => {
                std::os::unix::fs::chown(folder, Some(account.user), Some(account.group))
            }
            None => Ok(()),
        }
    }
}

fn on_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).find(|folder| is_complete(folder))
}

fn newest_of_debian() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let number = |folder: &PathBuf| {
        folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok())
    };
    let mut versions: Vec<_> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(number);
    versions.into_iter().rev().map(|folder| folder.join("bin")).find(|folder| is_complete(folder))
}

fn is_complete(folder: &Path) -> bool {
    ["initdb", "postgres", "psql"].iter().all(|program| folder.join(program).is_file())
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn account(name: &str) -> Option<Account> {
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let fields = fields.into_iter().find(|fields| fields.first() == Some(&name))?;
    Some(Account { user: fields.get(2)?.parse().ok()?, group: fields.get(3)?.parse().ok()? })
}
