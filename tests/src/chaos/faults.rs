//! Injects faults, one after the other.

use std::{
    collections::BTreeMap,
    io,
    process::{Command, Stdio},
    sync::Arc,
};

use segno_core::time::Millis;
use segno_demo::{
    rng::DemoRng,
    server::{DemoServer, ServerError},
};
use segno_env::Env;
use throwaway_postgres::Cluster;

use super::{
    access::OpenAccess,
    ledger::{Ledger, Mode},
    memory,
    plan::{Fault, Plan},
    preload::Preload,
    proxy::Proxy,
};

/// Duration of a lease.
pub const LEASE: Millis = Millis(2_000);
/// Shortest and longest pause between two faults, in milliseconds.
const PAUSE: (u64, u64) = (200, 1_500);
/// Largest change of the clock, forward and back, in milliseconds.
const FORWARD_MS: u64 = 3_600_000;
const BACK_MS: u64 = 10_000;

/// Processes into which faults are injected.
pub struct Victims {
    pub hosts: Vec<DemoServer>,
    /// Proxies for the connections of clients, one per host.
    pub proxies: Vec<Proxy>,
    pub ledger: Arc<Ledger>,
    /// Library that is preloaded into a host on SQLite.
    pub preload: Preload,
    /// The way to the database.
    pub access: OpenAccess,
    /// Databases that several hosts share, each on a server of its own, and their names. None for
    /// one host on SQLite.
    pub clusters: Vec<(Cluster, String)>,
    pub env: Env,
}

/// Failure to inject a fault, or to recover from one.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    /// A host does not start, or ended unexpectedly.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The library's control file cannot be written.
    #[error("the preloaded library cannot be steered")]
    Preload(#[from] io::Error),
}

impl Victims {
    /// Injects faults for `seconds`. Returns the number of faults of each kind.
    ///
    /// # Errors
    /// See [`FaultError`]: a host did not survive a fault.
    pub async fn inject(
        &mut self,
        plan: &Plan,
        chance: &mut DemoRng,
        memory_mib: &mut Vec<u64>,
    ) -> Result<BTreeMap<Fault, u32>, FaultError> {
        let kinds: Vec<Fault> = plan.faults.iter().copied().collect();
        let begun = self.env.clock.now();
        let end = begun + Millis::seconds(i64::try_from(plan.seconds).unwrap_or(i64::MAX));
        let mut counts = BTreeMap::new();
        while self.env.clock.now() < end {
            self.sleep(chance.length(PAUSE.0, PAUSE.1)).await;
            let past = self.env.clock.now().since(begun).0 * 10;
            if past / end.since(begun).0.max(1) > memory_mib.len() as i64 {
                memory_mib.push(self.largest_mib());
            }
            let Some(last) = (kinds.len() as u64).checked_sub(1) else { continue };
            // Injects each kind once, then random ones.
            let drawn = kinds[chance.between(0, last) as usize];
            let fault =
                kinds.iter().copied().find(|kind| !counts.contains_key(kind)).unwrap_or(drawn);
            *counts.entry(fault).or_default() += 1;
            let host = chance.between(0, self.hosts.len() as u64 - 1) as usize;
            eprintln!("{fault} (host {host})");
            self.carry_out(fault, host, chance).await?;
        }
        Ok(counts)
    }

    /// Ends all faults that are still active.
    ///
    /// # Errors
    /// See [`FaultError`].
    pub async fn heal(&mut self) -> Result<(), FaultError> {
        self.ledger.set_mode(Mode::Normal);
        self.preload.fill_disk(false)?;
        Ok(())
    }

    async fn carry_out(
        &mut self,
        fault: Fault,
        host: usize,
        chance: &mut DemoRng,
    ) -> Result<(), FaultError> {
        match fault {
            Fault::Kill => self.hosts[host].restart().await?,
            Fault::Death => {
                self.hosts[host].kill()?;
                self.sleep(LEASE + chance.length(500, 2_000)).await;
                self.hosts[host].restart().await?;
            }
            Fault::Pause => {
                self.hosts[host].pause()?;
                self.sleep(LEASE + chance.length(500, 2_000)).await;
                self.hosts[host].resume()?;
            }
            Fault::Stop => {
                self.hosts[host].drain().await?;
                self.hosts[host].restart().await?;
            }
            Fault::Cut => self.proxies.iter().for_each(Proxy::cut),
            Fault::Ledger => {
                let mode = [Mode::Refusing, Mode::Silent][chance.between(0, 1) as usize];
                self.ledger.set_mode(mode);
                self.sleep(chance.length(200, 2_000)).await;
                self.ledger.set_mode(Mode::Normal);
            }
            Fault::Forward => self.preload.move_clock(chance.length(100, FORWARD_MS).0)?,
            Fault::Back => self.preload.move_clock(-chance.length(100, BACK_MS).0)?,
            Fault::Disk => self.fill_disk(host, chance).await?,
            Fault::Drop => {
                let (cluster, name) = self.any_cluster(chance);
                let drop = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                            AND pid <> pg_backend_pid()";
                tokio::task::block_in_place(|| cluster.sql(name, drop));
            }
            Fault::Crash => {
                let (cluster, _) = self.any_cluster(chance);
                tokio::task::block_in_place(|| {
                    cluster.crash();
                    cluster.up().expect("the database comes back");
                });
            }
            Fault::Away => {
                let (cluster, _) = self.any_cluster(chance);
                tokio::task::block_in_place(|| cluster.crash());
                self.sleep(LEASE + chance.length(500, 3_000)).await;
                tokio::task::block_in_place(|| cluster.up().expect("the database comes back"));
            }
            Fault::Move => self.move_shard(chance).await?,
        }
        Ok(())
    }

    /// Moves a shard. Half of the movers are killed in the middle.
    async fn move_shard(&self, chance: &mut DemoRng) -> Result<(), FaultError> {
        let options = self.hosts[0].options();
        let store = options.arguments.iter().skip_while(|word| *word != "--store").nth(1);
        let (shard, last) = (chance.between(0, 255), self.clusters.len() as u64);
        let to = chance.between(1, last).to_string();
        let mut command = Command::new(&options.binary);
        command.args(["shards", "move", &shard.to_string(), "--to", &to, "--store"]).args(store);
        let mut mover = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        // A move takes some more than three seconds.
        let patience = match chance.between(0, 1) {
            0 => chance.length(500, 4_000),
            _ => Millis(40_000),
        };
        let begun = self.env.clock.now();
        while mover.try_wait()?.is_none() {
            if self.env.clock.now().since(begun) > patience {
                mover.kill()?;
                break;
            }
            self.sleep(Millis(50)).await;
        }
        eprintln!("  shard {shard} to database {to}: {}", mover.wait()?);
        Ok(())
    }

    /// One of the servers.
    fn any_cluster(&self, chance: &mut DemoRng) -> &(Cluster, String) {
        let last = self.clusters.len().saturating_sub(1) as u64;
        self.clusters.get(chance.between(0, last) as usize).expect("several hosts have a database")
    }

    /// Fills the disk for a while. In one of three cases the host is then killed, and restarted on
    /// the full disk.
    async fn fill_disk(&mut self, host: usize, chance: &mut DemoRng) -> Result<(), FaultError> {
        self.preload.fill_disk(true)?;
        self.sleep(chance.length(500, 3_000)).await;
        if chance.between(1, 3) == 1 {
            self.hosts[host].kill()?;
            // The host may start and wait, or refuse to start. Both are correct.
            let _ = self.env.clone().within(Millis(2_000), self.hosts[host].restart()).await;
            self.preload.fill_disk(false)?;
            if self.hosts[host].is_ready_within(Millis(20_000)).await.is_err() {
                // The host has ended, or is ended here. Its messages are in the log.
                let _ = self.hosts[host].kill();
                self.hosts[host].restart().await?;
            }
            return Ok(());
        }
        self.preload.fill_disk(false)?;
        // The host must recover without help.
        self.hosts[host].is_ready_within(Millis(30_000)).await?;
        Ok(())
    }

    /// Memory of the largest host, in MiB.
    pub fn largest_mib(&self) -> u64 {
        self.hosts.iter().map(|host| memory::anonymous_mib(host.pid())).max().unwrap_or(0)
    }

    async fn sleep(&self, length: Millis) {
        self.env.runtime.sleep(length).await;
    }
}
