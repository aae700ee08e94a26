//! A server that speaks less than PostgreSQL: a proxy in front of a cluster, which refuses what
//! other servers of the protocol refuse, and fails where they fail.
//!
//! - `protocol`: messages of the wire protocol;
//! - `rules`: what is refused, and what fails;
//! - `session`: one client and its session.

mod protocol;
mod rules;
mod session;

use std::{
    fs,
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use rules::Rules;
pub use rules::Strictness;

use crate::cluster::{Cluster, new_folder};

/// File name of the socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// The proxy. Dropping it ends new connections; open ones end with their clients.
#[derive(Debug)]
pub struct StrictServer {
    folder: PathBuf,
    rules: Arc<Rules>,
}

impl StrictServer {
    /// Starts a proxy in front of `cluster`.
    ///
    /// # Panics
    /// If the socket cannot be created.
    pub fn before(cluster: &Cluster, strictness: Strictness) -> Self {
        let folder = new_folder();
        let made = fs::create_dir(&folder).and_then(|()| UnixListener::bind(folder.join(SOCKET)));
        let listener = made.unwrap_or_else(|error| panic!("no proxy: {error}"));
        let open = fs::set_permissions(folder.join(SOCKET), fs::Permissions::from_mode(0o777));
        open.unwrap_or_else(|error| panic!("no proxy: {error}"));
        let rules = Arc::new(Rules::new(strictness));
        let (known, own) = (Arc::downgrade(&rules), folder.clone());
        let server = cluster.socket().join(SOCKET);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Some(rules) = known.upgrade() else { break };
                // If the server is down, the client's connection is closed.
                if let Ok(server) = UnixStream::connect(&server) {
                    // Either side may end at any time.
                    thread::spawn(move || drop(session::serve(client, server, &rules)));
                }
            }
            let _ = fs::remove_dir_all(own);
        });
        Self { folder, rules }
    }

    /// URL of the database `name` of `cluster` through the proxy.
    pub fn url(&self, cluster: &Cluster, name: &str) -> String {
        let folder = |path: &Path| path.display().to_string();
        cluster.url(name).replace(&folder(cluster.socket()), &folder(&self.folder))
    }

    /// Refuses all writes for a time, as a server does that is about to hand over.
    pub fn refuse_writes(&self, time: Duration) {
        self.rules.refuse_writes(time);
    }

    /// Number of transactions that failed at their commit so far.
    pub fn conflicts(&self) -> u64 {
        self.rules.conflicts()
    }

    /// The statements that were refused so far because other servers do not know them, each with
    /// the reason.
    pub fn refused(&self) -> Vec<String> {
        self.rules.refused()
    }
}

impl Drop for StrictServer {
    fn drop(&mut self) {
        self.rules = Arc::new(Rules::new(Strictness::default()));
        // Wakes the listener, which then finds the proxy dropped and ends.
        let _ = UnixStream::connect(self.folder.join(SOCKET));
    }
}
