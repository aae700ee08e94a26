//! Two PostgreSQL servers that Patroni keeps: one leads, the other replicates it synchronously and
//! takes its place.

use std::{
    fs, io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use crate::{
    cluster::{OWNER, done, is_required, new_folder},
    programs::Programs,
    supervisor::{End, Supervisor},
};

/// Interval and maximum number of looks for what must come about.
const LOOK: (Duration, u32) = (Duration::from_millis(20), 2_000);

/// A group of two servers on loopback, with an etcd of its own. Dropping it stops all programs and
/// removes their directories.
#[derive(Debug)]
pub struct PatroniGroup {
    programs: Programs,
    nodes: [PatroniNode; 2],
    // Dropped after the nodes, which ask it while they end.
    _etcd: KeptProgram,
}

/// A server and its Patroni.
#[derive(Debug)]
struct PatroniNode {
    port: u16,
    program: KeptProgram,
}

/// A program with its directory.
#[derive(Debug)]
struct KeptProgram {
    folder: PathBuf,
    running: Option<Supervisor>,
}

impl PatroniGroup {
    /// Starts a group, and waits until its standby is synchronous. A leader whose server dies is
    /// replaced at once. `None` if Patroni or etcd is not installed.
    ///
    /// # Panics
    /// If the group does not start, or is required and not installed.
    pub fn start() -> Option<Self> {
        let found = Programs::find().filter(|_| is_there("patroni") && is_there("etcd"));
        let Some(programs) = found else {
            assert!(!is_required(), "Patroni and etcd are required (SEGNO_POSTGRES)");
            return None;
        };
        let [etcd, peer] = free_ports();
        let address = format!("http://127.0.0.1:{etcd}");
        let peers = format!("http://127.0.0.1:{peer}");
        let etcd = KeptProgram::start(&programs, |folder| {
            let data = folder.join("data").display().to_string();
            let initial = format!("default={peers}");
            Ok(["etcd", "--data-dir", &data]
                .into_iter()
                .chain(["--listen-client-urls", &address, "--advertise-client-urls", &address])
                .chain(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
                .chain(["--initial-cluster", &initial])
                .map(str::to_owned)
                .collect())
        });
        let nodes = ["one", "two"].map(|name| {
            let [rest, port] = free_ports();
            let program = KeptProgram::start(&programs, |folder| {
                let file = folder.join("patroni.yml");
                let bin = programs.path("");
                fs::write(&file, configuration(name, rest, port, &address, folder, &bin))?;
                Ok(vec!["patroni".to_owned(), file.display().to_string()])
            });
            PatroniNode { port, program }
        });
        let group = Self { programs, nodes, _etcd: etcd };
        group.until_synchronous();
        Some(group)
    }

    /// URL of the database `name`, which names both servers and asks for the one that leads.
    pub fn url(&self, name: &str) -> String {
        let [one, two] = self.nodes.each_ref().map(|node| format!("127.0.0.1:{}", node.port));
        format!("postgres://{OWNER}@{one},{two}/{name}?target_session_attrs=read-write")
    }

    /// Runs statements in the database `name` of the server that leads. Returns their output.
    ///
    /// # Panics
    /// If no server leads, or it refuses a statement.
    pub fn sql(&self, name: &str, statements: &str) -> String {
        let leader = self.until("a leader", || self.leader());
        let run = self.run_at(leader, name, statements);
        run.unwrap_or_else(|error| panic!("{statements}: {error}\n{}", self.log()))
    }

    /// Kills the server that leads, and waits until the other one leads.
    ///
    /// # Panics
    /// If the other server does not take over.
    pub fn kill_leader(&self) {
        let leader = self.until("a leader", || self.leader());
        let file = self.nodes[leader].program.folder.join("data/postmaster.pid");
        let known = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}"));
        let pid = known.lines().next().expect("the pid is the first line").to_owned();
        let kill = done(signal(&self.programs, &pid));
        kill.unwrap_or_else(|error| panic!("the leader is not killed: {error}"));
        self.until("another leader", || self.leader().filter(|next| *next != leader));
    }

    /// Lets the servers change places as an operator does, and waits until they have.
    ///
    /// # Panics
    /// If they do not change places.
    pub fn switch_over(&self) {
        let leader = self.until("a leader", || self.leader());
        let command = self.control(leader, &["switchover", "--force", "segno"]);
        done(command).unwrap_or_else(|error| panic!("no switch-over: {error}\n{}", self.log()));
        self.until("another leader", || self.leader().filter(|next| *next != leader));
    }

    /// Waits until the server that leads has a synchronous standby.
    ///
    /// # Panics
    /// If it has none in time.
    pub fn until_synchronous(&self) {
        let count = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        self.until("a synchronous standby", || {
            let leader = self.leader()?;
            let found = self.run_at(leader, "postgres", count);
            // Patroni sees the standby a moment later, and refuses a change of places until then.
            let is_known = || {
                let known = done(self.control(leader, &["list", "segno"]));
                known.is_ok_and(|said| {
                    String::from_utf8_lossy(&said.stdout).contains("Sync Standby")
                })
            };
            (found.is_ok_and(|count| count == "1") && is_known()).then_some(())
        });
    }

    fn control(&self, node: usize, arguments: &[&str]) -> Command {
        let mut command = self.programs.command("patronictl");
        command.arg("-c").arg(self.nodes[node].program.folder.join("patroni.yml")).args(arguments);
        command
    }

    /// Number of the server that accepts writes.
    fn leader(&self) -> Option<usize> {
        let writes = |node: &usize| {
            let asked = self.run_at(*node, "postgres", "SELECT pg_is_in_recovery()");
            asked.is_ok_and(|recovers| recovers == "f")
        };
        (0..self.nodes.len()).find(writes)
    }

    fn run_at(&self, node: usize, database: &str, statements: &str) -> io::Result<String> {
        let port = self.nodes[node].port;
        let mut psql = self.programs.command(self.programs.path("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements]);
        psql.arg(format!("postgres://{OWNER}@127.0.0.1:{port}/{database}?connect_timeout=2"));
        Ok(String::from_utf8_lossy(&done(psql)?.stdout).trim_end().to_owned())
    }

    fn until<T>(&self, awaited: &str, found: impl Fn() -> Option<T>) -> T {
        let (pause, times) = LOOK;
        for _ in 0..times {
            if let Some(found) = found() {
                return found;
            }
            thread::sleep(pause);
        }
        panic!("there is not {awaited}\n{}", self.log());
    }

    /// The logs of both nodes.
    fn log(&self) -> String {
        let logs = self.nodes.iter().map(|node| node.program.folder.join("log"));
        logs.map(|log| fs::read_to_string(log).unwrap_or_default()).collect()
    }
}

impl KeptProgram {
    /// Starts the command that `prepare` returns. `prepare` gets the new directory.
    fn start(programs: &Programs, prepare: impl FnOnce(&Path) -> io::Result<Vec<String>>) -> Self {
        let folder = new_folder();
        let started = fs::create_dir(&folder).and_then(|()| {
            let command = prepare(&folder)?;
            programs.give(&folder)?;
            Supervisor::start(programs, &folder, &command)
        });
        let running = started.unwrap_or_else(|error| panic!("Patroni does not start: {error}"));
        Self { folder, running: Some(running) }
    }
}

impl Drop for KeptProgram {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            // There is no caller to report an error to.
            let _ = running.end(End::Terminate);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The configuration of a node. The times are the shortest that Patroni allows.
fn configuration(
    name: &str,
    rest: u16,
    port: u16,
    etcd: &str,
    folder: &Path,
    programs: &Path,
) -> String {
    let (folder, programs) = (folder.display(), programs.display());
    format!(
        r#"
scope: segno
name: {name}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
etcd3: {{url: "{etcd}"}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 1
    retry_timeout: 3
    primary_start_timeout: 0
    synchronous_mode: true
    postgresql: {{use_pg_rewind: true, use_slots: false, parameters: {{max_connections: 200, max_prepared_transactions: 64}}}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, data-checksums]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {folder}/data
  bin_dir: {programs}
  pgpass: {folder}/pgpass
  authentication: {{superuser: {{username: {OWNER}}}, replication: {{username: {OWNER}}}, rewind: {{username: {OWNER}}}}}
  parameters: {{unix_socket_directories: ""}}
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
"#
    )
}

/// A command that kills a process of the server's user.
fn signal(programs: &Programs, pid: &str) -> Command {
    let mut command = programs.command("/bin/sh");
    command.args(["-c", "kill -s KILL \"$1\"", "kill", pid]);
    command
}

fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("it has an address").port())
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
