//! A Segno host in the role of the runtime, with registered services.

use std::{
    cell::Cell,
    net::{SocketAddr, TcpListener},
    path::Path,
};

use segno_core::time::Millis;
use segno_demo::server::DemoServer;
use segno_env::Env;
use tempfile::TempDir;
use tests::{
    restate::{Runtime, Sdk, Service, register},
    test_host,
};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Minimum and maximum number of kills during work, of host and services in turn.
const KILLS: std::ops::RangeInclusive<usize> = 3..=15;

/// A host and its services. They are ended before the folder is removed.
pub(super) struct Fixture {
    /// Addresses of the host.
    pub runtime: Runtime,
    pub service: Service,
    host: DemoServer,
    env: Env,
    folder: TempDir,
}

/// Starts a host with Restate's ingress and admin API, and with additional arguments of `segno
/// serve`.
pub(super) async fn start(folder: &Path, arguments: &[&str], env: &Env) -> (DemoServer, Runtime) {
    // Both ports are bound at the same time, so that they differ. The host does not choose them, so
    // that they stay the same across restarts.
    let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("there is a port"));
    let addresses: [SocketAddr; 2] = free.map(|free| free.local_addr().expect("it is bound"));
    let [ingress, admin] = addresses.map(|address| address.to_string());
    let mut options = test_host::options(SEGNO, folder);
    let restate = ["--restate", "--restate-ingress", &ingress, "--restate-admin", &admin];
    options.arguments =
        restate.into_iter().chain(arguments.iter().copied()).map(str::to_owned).collect();
    let started = DemoServer::start(options, env.clone()).await;
    (started.unwrap_or_else(|error| panic!("{error}")), Runtime::at(&ingress, &admin))
}

impl Fixture {
    /// Starts a host, with services on `sdk`. `None` if its packages are unavailable, with the
    /// reason on standard error.
    ///
    /// # Panics
    /// If they do not start, or the host refuses the services.
    pub(super) async fn new(sdk: &'static Sdk, arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let service = Service::start(sdk, folder.path())?;
        let env = Env::system();
        let (host, runtime) = start(folder.path(), arguments, &env).await;
        register(&runtime, service.url()).await;
        Some(Self { runtime, service, host, env, folder })
    }

    /// Folder of the logs.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `work` while killing and restarting the services and the host in turn, until the work
    /// has ended.
    ///
    /// # Panics
    /// If one does not restart, or the work ended too early.
    pub(super) async fn disturbing<T>(&mut self, work: impl Future<Output = T>) -> T {
        let over = Cell::new(false);
        let work = async {
            let done = work.await;
            over.set(true);
            done
        };
        let (least, most) = (*KILLS.start(), *KILLS.end());
        let kills = async {
            for kill in 0..most {
                self.env.runtime.sleep(Millis(200)).await;
                if over.get() {
                    return kill;
                }
                self.service.kill();
                self.env.runtime.sleep(Millis(100)).await;
                self.service.restart();
                self.env.runtime.sleep(Millis(200)).await;
                self.host.kill().unwrap_or_else(|error| panic!("{error}"));
                self.env.runtime.sleep(Millis(100)).await;
                self.host.restart().await.unwrap_or_else(|error| panic!("{error}"));
            }
            most
        };
        let (done, kills) = tokio::join!(work, kills);
        assert!(kills >= least, "the work ended after {kills} kills of {least}");
        done
    }
}
