//! A Segno host that plays the runtime, and services that are registered with it.

use std::{
    cell::Cell,
    net::{SocketAddr, TcpListener},
    path::Path,
};

use segno::{demo::server::Server, runtime::Env};
use segno_core::time::Millis;
use tempfile::TempDir;
use tests::{
    restate::{Runtime, Sdk, Service, register},
    test_host,
};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// How often each of the two is killed beside work, at least and at most.
const KILLS: std::ops::RangeInclusive<usize> = 3..=15;

/// A host and services. They are ended before the folder goes.
pub struct Fixture {
    /// Where the host listens.
    pub runtime: Runtime,
    /// The services.
    pub service: Service,
    host: Server,
    env: Env,
    folder: TempDir,
}

/// Starts a host that speaks to Restate's SDKs and clients, with further arguments of `segno serve`.
pub async fn start(folder: &Path, arguments: &[&str], env: &Env) -> (Server, Runtime) {
    // Both at the same time, so that they differ; and not chosen by the host, so that they are the
    // same when it is restarted.
    let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("there is a port"));
    let addresses: [SocketAddr; 2] = free.map(|free| free.local_addr().expect("it is bound"));
    let [ingress, admin] = addresses.map(|address| address.to_string());
    let mut options = test_host::options(SEGNO, folder);
    let restate = ["--restate", "--restate-ingress", &ingress, "--restate-admin", &admin];
    options.arguments =
        restate.into_iter().chain(arguments.iter().copied()).map(str::to_owned).collect();
    let started = Server::start(options, env.clone()).await;
    (started.unwrap_or_else(|error| panic!("{error}")), Runtime::at(&ingress, &admin))
}

impl Fixture {
    /// A host, with services on `sdk`; none if its packages cannot be had here, and standard error
    /// says why.
    ///
    /// # Panics
    /// They do not come up, or the host refuses the services.
    pub async fn new(sdk: &'static Sdk, arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let service = Service::start(sdk, folder.path())?;
        let env = Env::system();
        let (host, runtime) = start(folder.path(), arguments, &env).await;
        register(&runtime, service.url()).await;
        Some(Self { runtime, service, host, env, folder })
    }

    /// Where logs are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Does `work`, while the services and the host are killed in turn, and started again, until the
    /// work has ended.
    ///
    /// # Panics
    /// One does not come up again, or the work ended too early.
    pub async fn disturbing<T>(&mut self, work: impl Future<Output = T>) -> T {
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
