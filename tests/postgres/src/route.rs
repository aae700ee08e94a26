//! An address that can be redirected to another server, as with a proxy, a floating address or a
//! DNS name. Only new connections are affected.

use std::{
    fs, io,
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use crate::cluster::{Cluster, new_folder};

/// File name of the socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// A socket whose connections are forwarded to a server. Open connections stay on their server.
#[derive(Debug)]
pub struct Route {
    folder: PathBuf,
    /// Socket to which new connections are forwarded.
    target: Arc<Mutex<PathBuf>>,
}

impl Route {
    /// Creates a route to `cluster`.
    ///
    /// # Panics
    /// If the socket cannot be created.
    pub fn to(cluster: &Cluster) -> Self {
        let folder = new_folder();
        let made = fs::create_dir(&folder).and_then(|()| UnixListener::bind(folder.join(SOCKET)));
        let listener = made.unwrap_or_else(|error| panic!("no route: {error}"));
        let open = fs::set_permissions(folder.join(SOCKET), fs::Permissions::from_mode(0o777));
        open.unwrap_or_else(|error| panic!("no route: {error}"));
        let target = Arc::new(Mutex::new(cluster.socket().join(SOCKET)));
        let (known, own) = (Arc::downgrade(&target), folder.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Some(target) = known.upgrade() else { break };
                let target = target.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // If the server is down, the client's connection is closed.
                if let Ok(server) = UnixStream::connect(target) {
                    let _ = pass_on(&client, &server);
                }
            }
            let _ = fs::remove_dir_all(own);
        });
        Self { folder, target }
    }

    /// Redirects new connections to `cluster`.
    pub fn lead_to(&self, cluster: &Cluster) {
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        *target = cluster.socket().join(SOCKET);
    }

    /// Directory of its socket.
    pub fn socket(&self) -> &Path {
        &self.folder
    }

    /// URL that connects through this route to the database `name` of `cluster`.
    pub fn url(&self, cluster: &Cluster, name: &str) -> String {
        let folder = |path: &Path| path.display().to_string();
        cluster.url(name).replace(&folder(cluster.socket()), &folder(&self.folder))
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        drop(std::mem::take(&mut self.target));
        // Wakes the listener, which then finds the route dropped and ends.
        let _ = UnixStream::connect(self.folder.join(SOCKET));
    }
}

fn pass_on(client: &UnixStream, server: &UnixStream) -> io::Result<()> {
    for (from, to) in [(client, server), (server, client)] {
        let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            // Ends the other direction as well.
            let _ =
                (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
        });
    }
    Ok(())
}
