//! A PostgreSQL server with its databases.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    programs::Programs,
    supervisor::{End, Supervisor},
};

/// Role that owns everything in a cluster.
pub(crate) const OWNER: &str = "segno";
/// Interval and maximum number of readiness checks.
const ASK: (Duration, u32) = (Duration::from_millis(20), 3_000);

static CLUSTERS: AtomicU32 = AtomicU32::new(0);

/// A PostgreSQL server of a test. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    folder: PathBuf,
    settings: Vec<String>,
    server: Mutex<Option<Supervisor>>,
    databases: AtomicU32,
}

/// A database of a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Database<'a> {
    cluster: &'a Cluster,
    number: u32,
}

impl Cluster {
    /// True if this machine has PostgreSQL. For callers that leave the start to another process.
    pub fn is_possible() -> bool {
        programs().is_some()
    }

    /// The cluster that all tests of this program share, started on first use. `None` if PostgreSQL
    /// is not installed, with a line on standard error that says so.
    ///
    /// # Panics
    /// If PostgreSQL is installed and cannot be started.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[])).as_ref()
    }

    /// Starts a cluster for this caller alone, with settings such as `("max_connections", "10")`.
    /// `None` as with [`Cluster::shared`].
    ///
    /// Commits wait for the disk. `SEGNO_PG_FSYNC=off` in the environment makes tests faster.
    ///
    /// # Panics
    /// If PostgreSQL is installed and cannot be started.
    pub fn start(settings: &[(&str, &str)]) -> Option<Self> {
        let cluster = Self::new(programs()?, new_folder(), settings);
        cluster.begin(|| Ok(()));
        Some(cluster)
    }

    /// Starts a cluster of another version. `server` has its folders `bin`, `lib` and `share`;
    /// clients such as `psql` are those of this machine. `None` as with [`Cluster::shared`].
    ///
    /// # Panics
    /// If the server cannot be copied or started.
    pub fn start_server(server: &Path) -> Option<Self> {
        let folder = new_folder();
        let copy = folder.join("server");
        let programs = programs()?.with_server(copy.join("bin"));
        let cluster = Self::new(programs, folder, &[]);
        cluster.begin(|| {
            // The server's user may lack access to `server`.
            let mut command = Command::new("cp");
            command.arg("-a").arg(server).arg(&copy);
            done(command).map(drop)
        });
        Some(cluster)
    }

    fn new(programs: Programs, folder: PathBuf, settings: &[(&str, &str)]) -> Self {
        let fsync = std::env::var("SEGNO_PG_FSYNC").unwrap_or_else(|_| "on".to_owned());
        let known = [
            ("fsync", fsync.as_str()),
            ("max_connections", "200"),
            ("max_prepared_transactions", "64"),
            ("listen_addresses", ""),
            // Version 13 has another default.
            ("password_encryption", "scram-sha-256"),
        ];
        let settings = known.iter().chain(settings);
        Self {
            settings: settings.map(|(name, value)| format!("{name}={value}")).collect(),
            programs,
            folder,
            server: Mutex::new(None),
            databases: AtomicU32::new(0),
        }
    }

    /// Makes the cluster and starts its server. `prepare` runs in between, when the folder exists.
    fn begin(&self, prepare: impl FnOnce() -> io::Result<()>) {
        let begun = self.make_folder().and_then(|()| prepare()).and_then(|()| self.make());
        if let Err(error) = begun.and_then(|()| self.up()) {
            panic!("PostgreSQL does not start: {error}\n{}", self.log());
        }
    }

    /// Starts a standby that replicates this server.
    ///
    /// # Panics
    /// If the standby cannot be created or does not start.
    pub fn standby(&self) -> Self {
        let standby = Self {
            programs: self.programs.clone(),
            folder: new_folder(),
            settings: self.settings.clone(),
            server: Mutex::new(None),
            databases: AtomicU32::new(1_000),
        };
        let made = standby.make_folder().and_then(|()| {
            let mut command = self.programs.command(self.programs.path("pg_basebackup"));
            command.args(["--no-sync", "-R", "-c", "fast", "-X", "stream", "-U", OWNER]);
            command.arg("-h").arg(&self.folder).arg("-D").arg(standby.folder.join("data"));
            done(command).map(drop)
        });
        if let Err(error) = made.and_then(|()| standby.up()) {
            panic!("the standby does not start: {error}\n{}", standby.log());
        }
        standby
    }

    /// Waits until a standby has replayed everything that this server committed.
    ///
    /// # Panics
    /// If the standby does not catch up in time.
    pub fn wait_for(&self, standby: &Self) {
        let end = self.sql("postgres", "SELECT pg_current_wal_lsn()");
        let (pause, times) = ASK;
        let there = format!("SELECT pg_last_wal_replay_lsn() >= '{end}'");
        for _ in 0..times {
            if standby.sql("postgres", &there) == "t" {
                return;
            }
            thread::sleep(pause);
        }
        panic!("the standby does not follow\n{}", standby.log());
    }

    /// Promotes a standby to a primary.
    ///
    /// # Panics
    /// If the promotion fails.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()"), "t", "{}", self.log());
    }

    /// Makes the server refuse writes from now on, in open sessions too, or accept them again.
    ///
    /// # Panics
    /// If the server refuses the setting.
    pub fn set_read_only(&self, read_only: bool) {
        let value = if read_only { "on" } else { "off" };
        self.sql("postgres", &format!("ALTER SYSTEM SET default_transaction_read_only = {value}"));
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// Creates an empty database.
    ///
    /// # Panics
    /// If the database cannot be created.
    pub fn database(&self) -> Database<'_> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let database = Database { cluster: self, number };
        self.sql("postgres", &format!("CREATE DATABASE {}", database.name()));
        database
    }

    /// Connection URL of the database `name` for the role that owns everything.
    pub fn url(&self, name: &str) -> String {
        self.url_as(OWNER, name)
    }

    /// Connection URL of the database `name` for `role`.
    pub fn url_as(&self, role: &str, name: &str) -> String {
        format!("postgres://{role}@localhost/{name}?host={}", self.folder.display())
    }

    /// The programs that run it.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Directory of the socket.
    pub fn socket(&self) -> &Path {
        &self.folder
    }

    /// Runs statements in the database `name`. Returns their output.
    ///
    /// # Panics
    /// If PostgreSQL refuses a statement.
    pub fn sql(&self, name: &str, statements: &str) -> String {
        let mut command = self.programs.command(self.programs.path("psql"));
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", OWNER, "-d", name]);
        command.arg("-h").arg(&self.folder).args(["-c", statements]);
        let output = done(command).unwrap_or_else(|error| panic!("{statements}: {error}"));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Requires a password from `role` from now on. Other roles stay trusted.
    ///
    /// # Panics
    /// If `pg_hba.conf` cannot be written.
    pub fn ask_for_password(&self, role: &str) {
        let path = self.folder.join("data/pg_hba.conf");
        let known = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}"));
        let asked = format!("local all {role} scram-sha-256\n{known}");
        fs::write(&path, asked).unwrap_or_else(|error| panic!("{error}"));
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// Stops the server cleanly. Its databases stay for [`Cluster::up`].
    ///
    /// # Panics
    /// If the server does not end.
    pub fn stop(&self) {
        self.end(End::Fast);
    }

    /// Stops the server as a crash of the machine would. Its databases stay for [`Cluster::up`].
    ///
    /// # Panics
    /// If the server does not end.
    pub fn crash(&self) {
        self.end(End::Crash);
    }

    /// Starts the server if it is not running, and waits until it accepts clients.
    ///
    /// # Errors
    /// If the server ended again, or was not ready in time.
    pub fn up(&self) -> io::Result<()> {
        let mut server = self.server();
        if server.as_mut().is_some_and(Supervisor::is_running) {
            return Ok(());
        }
        let data = self.folder.join("data");
        let mut command = vec![self.programs.path("postgres").display().to_string()];
        command.extend(["-D".to_owned(), data.display().to_string()]);
        command.extend(["-k".to_owned(), self.folder.display().to_string()]);
        for setting in &self.settings {
            command.extend(["-c".to_owned(), setting.clone()]);
        }
        let started = server.insert(Supervisor::start(&self.programs, &self.folder, &command)?);
        let (pause, times) = ASK;
        for _ in 0..times {
            thread::sleep(pause);
            // The server writes its state into the last line of its pid file.
            let state = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
            let is_up = |state: &str| matches!(state.trim(), "ready" | "standby");
            if state.lines().nth(7).is_some_and(is_up) {
                return Ok(());
            }
            if !started.is_running() {
                return Err(io::Error::other("it ended again"));
            }
        }
        Err(io::Error::other("it is not ready in time"))
    }

    /// The server's log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn make_folder(&self) -> io::Result<()> {
        fs::create_dir(&self.folder)?;
        self.programs.give(&self.folder)
    }

    fn make(&self) -> io::Result<()> {
        let mut command = self.programs.command(self.programs.path("initdb"));
        command.args(["--no-sync", "--auth=trust", "--locale=C", "--encoding=UTF8", "-U", OWNER]);
        command.arg("-D").arg(self.folder.join("data"));
        done(command).map(drop)
    }

    fn end(&self, end: End) {
        if let Some(server) = self.server().take() {
            server.end(end).unwrap_or_else(|error| panic!("PostgreSQL does not end: {error}"));
        }
    }

    fn server(&self) -> MutexGuard<'_, Option<Supervisor>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(server) = self.server().take() {
            // There is no caller to report an error to. Breaking the pipe ends the server as well.
            let _ = server.end(End::Crash);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Database<'_> {
    /// Name of the database.
    pub fn name(&self) -> String {
        format!("t{}", self.number)
    }

    /// Connection URL of the database.
    pub fn url(&self) -> String {
        self.cluster.url(&self.name())
    }

    /// Runs statements in the database. Returns their output.
    ///
    /// # Panics
    /// If PostgreSQL refuses a statement.
    pub fn sql(&self, statements: &str) -> String {
        self.cluster.sql(&self.name(), statements)
    }

    /// Deadlocks that the server broke in this database: a count, then the log lines with the
    /// processes and statements involved.
    pub fn deadlocks(&self) -> Vec<String> {
        let count = self.sql(&format!(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = '{}'",
            self.name()
        ));
        if count == "0" {
            return Vec::new();
        }
        // The log covers all databases. The process ids in its lines tell them apart.
        let log = self.cluster.log();
        let lines: Vec<&str> = log.lines().collect();
        let found = (0..lines.len()).filter(|at| lines[*at].contains("deadlock detected"));
        let shown = found.map(|at| lines[at..lines.len().min(at + 24)].join("\n"));
        std::iter::once(format!("{count} in {}", self.name())).chain(shown).collect()
    }

    /// Dumps the database as SQL statements that recreate it.
    ///
    /// # Panics
    /// If `pg_dump` is missing or fails.
    pub fn dump(&self) -> String {
        let programs = &self.cluster.programs;
        let mut command = programs.command(programs.path("pg_dump"));
        command.args(["--no-owner", "--no-privileges", "-U", OWNER, "-d", &self.name()]);
        command.arg("-h").arg(&self.cluster.folder);
        let output = done(command).unwrap_or_else(|error| panic!("no dump: {error}"));
        String::from_utf8(output.stdout).expect("a dump is text")
    }

    /// Executes the statements of a [`Database::dump`].
    ///
    /// # Panics
    /// If PostgreSQL refuses a statement.
    pub fn load(&self, dump: &str) {
        let programs = &self.cluster.programs;
        // The dump goes through a file, because it exceeds a pipe's buffer. The server's user must
        // be able to read it.
        let file = self.cluster.folder.join(format!("{}.sql", self.name()));
        fs::write(&file, dump).expect("the dump can be written");
        let mut command = programs.command(programs.path("psql"));
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", OWNER, "-d", &self.name()]);
        command.arg("-h").arg(&self.cluster.folder).arg("-f").arg(&file);
        done(command).unwrap_or_else(|error| panic!("the dump is refused: {error}"));
        let _ = fs::remove_file(file);
    }
}

/// A new folder path under `/tmp`. The path of a socket must be short, wherever temporary files are
/// kept.
pub(crate) fn new_folder() -> PathBuf {
    let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(format!("/tmp/segno-pg-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// PostgreSQL's programs. `None` if they are not installed or no account can run them, with a line
/// on standard error that says so.
///
/// # Panics
/// If none are found and `SEGNO_POSTGRES=required` is set.
fn programs() -> Option<Programs> {
    let found = Programs::find();
    if found.is_none() {
        assert!(!is_required(), "PostgreSQL is required (SEGNO_POSTGRES) and cannot be run here");
        // Bypasses the capture of the test's output, so that the line is visible.
        let _ = writeln!(io::stderr(), "skipped: no PostgreSQL on this machine");
    }
    found
}

/// True if `SEGNO_POSTGRES=required` is set.
pub(crate) fn is_required() -> bool {
    std::env::var_os("SEGNO_POSTGRES").is_some_and(|value| value == "required")
}

pub(crate) fn done(mut command: Command) -> io::Result<Output> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(output),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_survives_a_crash_and_leaves_nothing_when_it_is_dropped() {
        let Some(cluster) = Cluster::start(&[]) else { return };
        let database = cluster.database();
        database.sql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)");
        cluster.crash();
        cluster.up().expect("it starts again");
        assert_eq!(database.sql("SELECT n FROM kept"), "7");
        cluster.stop();
        cluster.up().expect("it starts again");
        let other = cluster.database();
        assert_ne!(other.name(), database.name());
        let folder = cluster.folder.clone();
        drop(cluster);
        assert!(!folder.exists());
    }

    #[test]
    fn a_broken_pipe_ends_the_server() {
        let Some(cluster) = Cluster::start(&[]) else { return };
        let folder = cluster.folder.clone();
        // Breaks the pipe without a command, as when the whole program is gone.
        drop(cluster.server().take());
        for _ in 0..500 {
            if !folder.exists() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{} is still there", folder.display());
    }
}
