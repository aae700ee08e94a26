//! A server with its databases.

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

/// The role that owns everything in a cluster.
const OWNER: &str = "segno";
/// How often a server is asked whether it is up, and how many times.
const ASK: (Duration, u32) = (Duration::from_millis(20), 3_000);

static CLUSTERS: AtomicU32 = AtomicU32::new(0);

/// A server of one's own. Dropping it ends it and removes its directory.
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
    /// Whether this machine has PostgreSQL, for callers that leave the start to another process.
    pub fn is_possible() -> bool {
        programs().is_some()
    }

    /// The one that all tests of this program share, started when the first asks for it. None, and
    /// a line on standard error that says so, where PostgreSQL is not installed.
    ///
    /// # Panics
    /// PostgreSQL is there and cannot be started.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[])).as_ref()
    }

    /// One for this caller alone, with settings such as `("max_connections", "10")`. None as with
    /// [`Cluster::shared`].
    ///
    /// Commits wait for the disk; `SEGNO_PG_FSYNC=off` in the environment makes tests faster.
    ///
    /// # Panics
    /// PostgreSQL is there and cannot be started.
    pub fn start(settings: &[(&str, &str)]) -> Option<Self> {
        let programs = programs()?;
        let fsync = std::env::var("SEGNO_PG_FSYNC").unwrap_or_else(|_| "on".to_owned());
        let known =
            [("fsync", fsync.as_str()), ("max_connections", "200"), ("listen_addresses", "")];
        let settings = known.iter().chain(settings);
        let cluster = Self {
            settings: settings.map(|(name, value)| format!("{name}={value}")).collect(),
            programs,
            folder: new_folder(),
            server: Mutex::new(None),
            databases: AtomicU32::new(0),
        };
        if let Err(error) = cluster.make().and_then(|()| cluster.up()) {
            panic!("PostgreSQL does not start: {error}\n{}", cluster.log());
        }
        Some(cluster)
    }

    /// A standby that follows this server.
    ///
    /// # Panics
    /// It cannot be made, or does not start.
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

    /// Waits until a standby has everything that this server committed.
    ///
    /// # Panics
    /// It does not get there in time.
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

    /// Makes a standby a primary of its own.
    ///
    /// # Panics
    /// It does not become one.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()"), "t", "{}", self.log());
    }

    /// Has the server refuse writes from now on, in open sessions too; or take them again.
    ///
    /// # Panics
    /// It does not take the setting.
    pub fn set_read_only(&self, read_only: bool) {
        let value = if read_only { "on" } else { "off" };
        self.sql("postgres", &format!("ALTER SYSTEM SET default_transaction_read_only = {value}"));
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// A new, empty database.
    ///
    /// # Panics
    /// It cannot be made.
    pub fn database(&self) -> Database<'_> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let database = Database { cluster: self, number };
        self.sql("postgres", &format!("CREATE DATABASE {}", database.name()));
        database
    }

    /// How a client connects to the database `name` as the role that owns everything.
    pub fn url(&self, name: &str) -> String {
        self.url_as(OWNER, name)
    }

    /// How a client connects to the database `name` as `role`.
    pub fn url_as(&self, role: &str, name: &str) -> String {
        format!("postgres://{role}@localhost/{name}?host={}", self.folder.display())
    }

    /// The directory of the socket.
    pub fn socket(&self) -> &Path {
        &self.folder
    }

    /// Runs statements in the database `name` and answers what they print.
    ///
    /// # Panics
    /// PostgreSQL refuses one.
    pub fn sql(&self, name: &str, statements: &str) -> String {
        let mut command = self.programs.command(self.programs.path("psql"));
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", OWNER, "-d", name]);
        command.arg("-h").arg(&self.folder).args(["-c", statements]);
        let output = done(command).unwrap_or_else(|error| panic!("{statements}: {error}"));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Has `role` give a password from now on; the others are trusted as before.
    ///
    /// # Panics
    /// The server's list of who may come in cannot be written.
    pub fn ask_for_password(&self, role: &str) {
        let path = self.folder.join("data/pg_hba.conf");
        let known = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}"));
        let asked = format!("local all {role} scram-sha-256\n{known}");
        fs::write(&path, asked).unwrap_or_else(|error| panic!("{error}"));
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// Ends the server in good order. Databases stay for [`Cluster::up`].
    ///
    /// # Panics
    /// It does not end.
    pub fn stop(&self) {
        self.end(End::Fast);
    }

    /// Ends the server as a crash of the machine would. Databases stay for [`Cluster::up`].
    ///
    /// # Panics
    /// It does not end.
    pub fn crash(&self) {
        self.end(End::Crash);
    }

    /// Starts the server, if it does not run, and waits until it takes clients.
    ///
    /// # Errors
    /// It ended again, or did not get there in time.
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

    /// What the server wrote about itself.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn make_folder(&self) -> io::Result<()> {
        fs::create_dir(&self.folder)?;
        self.programs.give(&self.folder)
    }

    fn make(&self) -> io::Result<()> {
        self.make_folder()?;
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
            // Nobody is left to tell; breaking the pipe ends it as well.
            let _ = server.end(End::Crash);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Database<'_> {
    /// Its name.
    pub fn name(&self) -> String {
        format!("t{}", self.number)
    }

    /// How a client connects to it.
    pub fn url(&self) -> String {
        self.cluster.url(&self.name())
    }

    /// Runs statements in it and answers what they print.
    ///
    /// # Panics
    /// PostgreSQL refuses one.
    pub fn sql(&self, statements: &str) -> String {
        self.cluster.sql(&self.name(), statements)
    }

    /// The deadlocks that the server broke in it: who waited for whom, and with which statements.
    pub fn deadlocks(&self) -> Vec<String> {
        let count = self.sql(&format!(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = '{}'",
            self.name()
        ));
        if count == "0" {
            return Vec::new();
        }
        // The log is that of all databases: the ones of others are told by their processes.
        let log = self.cluster.log();
        let lines: Vec<&str> = log.lines().collect();
        let found = (0..lines.len()).filter(|at| lines[*at].contains("deadlock detected"));
        let shown = found.map(|at| lines[at..lines.len().min(at + 24)].join("\n"));
        std::iter::once(format!("{count} in {}", self.name())).chain(shown).collect()
    }

    /// Everything in it, as statements that make it anew.
    ///
    /// # Panics
    /// `pg_dump` is not there, or fails.
    pub fn dump(&self) -> String {
        let programs = &self.cluster.programs;
        let mut command = programs.command(programs.path("pg_dump"));
        command.args(["--no-owner", "--no-privileges", "-U", OWNER, "-d", &self.name()]);
        command.arg("-h").arg(&self.cluster.folder);
        let output = done(command).unwrap_or_else(|error| panic!("no dump: {error}"));
        String::from_utf8(output.stdout).expect("a dump is text")
    }

    /// Carries out what [`Database::dump`] answered.
    ///
    /// # Panics
    /// PostgreSQL refuses a statement.
    pub fn load(&self, dump: &str) {
        let programs = &self.cluster.programs;
        // A file, since a dump is more than a pipe holds, and one that the server's user may read.
        let file = self.cluster.folder.join(format!("{}.sql", self.name()));
        fs::write(&file, dump).expect("the dump can be written");
        let mut command = programs.command(programs.path("psql"));
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", OWNER, "-d", &self.name()]);
        command.arg("-h").arg(&self.cluster.folder).arg("-f").arg(&file);
        done(command).unwrap_or_else(|error| panic!("the dump is refused: {error}"));
        let _ = fs::remove_file(file);
    }
}

/// A folder of one's own: a socket's path must be short, wherever temporary files are kept.
pub(crate) fn new_folder() -> PathBuf {
    let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(format!("/tmp/segno-pg-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// PostgreSQL's programs. None, and a line on standard error that says so, where they are not
/// installed or no account can run them.
///
/// # Panics
/// None are found, and `SEGNO_POSTGRES=required` says that there must be some.
fn programs() -> Option<Programs> {
    let found = Programs::find();
    if found.is_none() {
        let required = std::env::var_os("SEGNO_POSTGRES").is_some_and(|value| value == "required");
        assert!(!required, "PostgreSQL is required (SEGNO_POSTGRES) and cannot be run here");
        // Past the capture of the test's output: somebody has to see it.
        let _ = writeln!(io::stderr(), "skipped: no PostgreSQL on this machine");
    }
    found
}

fn done(mut command: Command) -> io::Result<Output> {
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
        // As when the whole program is gone: nothing is said, the pipe just breaks.
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
