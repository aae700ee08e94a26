//! PgBouncer in front of a server.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use crate::{
    cluster::{Cluster, OWNER, is_required, new_folder},
    programs::Programs,
    supervisor::{End, Supervisor},
};

/// Folders of the program, besides those of the path.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// A PgBouncer of a test, on a Unix socket. Dropping it stops the program and removes its
/// directory.
#[derive(Debug)]
pub struct Pooler {
    folder: PathBuf,
    programs: Programs,
    server: Mutex<Option<Supervisor>>,
}

impl Pooler {
    /// Starts a PgBouncer that lends the sessions of `cluster` for single transactions. It connects
    /// to the socket in `folder`, which may be that of a [`crate::Route`]. `settings` are further
    /// lines of its configuration. `None` if it is not installed.
    ///
    /// # Panics
    /// If PgBouncer cannot be started, or is required and not installed.
    pub fn start(cluster: &Cluster, folder: &Path, settings: &[&str]) -> Option<Self> {
        let Some(program) = program() else {
            assert!(!is_required(), "PgBouncer is required (SEGNO_POSTGRES) and not installed");
            return None;
        };
        let programs = cluster.programs().clone();
        let own = new_folder();
        let file = own.join("pgbouncer.ini");
        let shown = own.display();
        let configuration = format!(
            "[databases]\n* = host={} port=5432\n[pgbouncer]\nlisten_addr =\nlisten_port = 5432\n\
             unix_socket_dir = {shown}\nauth_type = trust\nauth_file = {shown}/users\n\
             admin_users = {OWNER}\npool_mode = transaction\nmax_client_conn = 500\n\
             default_pool_size = 40\nserver_login_retry = 1\n{}\n",
            folder.display(),
            settings.join("\n")
        );
        let made = fs::create_dir(&own)
            .and_then(|()| fs::write(&file, configuration))
            .and_then(|()| fs::write(own.join("users"), format!("\"{OWNER}\" \"\"\n")))
            .and_then(|()| programs.give(&own));
        made.unwrap_or_else(|error| panic!("no folder for PgBouncer: {error}"));
        let command = [program.display().to_string(), file.display().to_string()];
        let server = Supervisor::start(&programs, &own, &command);
        let server = server.unwrap_or_else(|error| panic!("PgBouncer does not start: {error}"));
        let pooler = Self { folder: own, programs, server: Mutex::new(Some(server)) };
        for _ in 0..500 {
            if pooler.folder.join(".s.PGSQL.5432").exists() {
                return Some(pooler);
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("PgBouncer does not start: {:?}", fs::read_to_string(pooler.folder.join("log")));
    }

    /// URL of the database `name` through the pooler.
    pub fn url(&self, name: &str) -> String {
        format!("postgres://{OWNER}@localhost/{name}?host={}", self.folder.display())
    }

    /// Sends a command to its console, such as `RECONNECT`. Returns the answer.
    ///
    /// # Panics
    /// If PgBouncer refuses it.
    pub fn order(&self, command: &str) -> String {
        let mut psql = self.programs.command(self.programs.path("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-U", OWNER, "-d", "pgbouncer", "-c", command]);
        psql.arg("-h").arg(&self.folder);
        let output = psql.output().unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let server = self.server.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(server) = server {
            // There is no caller to report an error to.
            let _ = server.end(End::Terminate);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn program() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(FOLDERS.into_iter().map(PathBuf::from));
    folders.map(|folder| folder.join("pgbouncer")).find(|program| program.is_file())
}
