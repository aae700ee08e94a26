//! The store as one incarnation of a host, a worker or a client sees it. The network in between
//! loses, duplicates and delays messages, may be cut, and may fail at a commit at the far end. A
//! dead incarnation never gets an answer again.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use segno_core::{command::Command, reply::Reply, time::Millis};
use segno_env::Runtime;
use segno_sim::{CommitFault, StoreGate};
use segno_store::StoreError;
use tokio::sync::mpsc;

use super::{
    dice::Dice,
    fault::{Fault, MessageFault},
    host::Control,
    network::{Conditions, Network},
};

/// Maximum number of calls at one instant. More mean that virtual time no longer advances.
const CALLS_AT_ONCE: u32 = 20_000;
/// Maximum number of commands of one incarnation kept for repetition.
const KEPT: usize = 20_000;

/// Connection of one incarnation to the store.
pub(super) struct Link {
    who: String,
    pub(super) life: Option<u64>,
    pub(super) network: Arc<Network>,
    pub(super) conditions: Arc<Conditions>,
    dead: AtomicBool,
    dice: Mutex<Dice>,
    calls: Mutex<(i64, u32)>,
    /// Control channel of the host that must die. `None`: the commits of this link have no faults.
    pub(super) control: Option<mpsc::UnboundedSender<Control>>,
}

impl Link {
    /// Creates the link of a host's incarnation.
    pub(super) fn of_host(
        who: String,
        life: u64,
        network: Arc<Network>,
        conditions: Arc<Conditions>,
        control: mpsc::UnboundedSender<Control>,
    ) -> Self {
        let link = Self::of_client(who, network);
        Self { life: Some(life), conditions, control: Some(control), ..link }
    }

    /// Creates the link of an external client.
    pub(super) fn of_client(who: String, network: Arc<Network>) -> Self {
        let dice = Mutex::new(Dice::new(network.seed, &who));
        Self {
            who,
            life: None,
            network,
            conditions: Arc::default(),
            dead: AtomicBool::new(false),
            dice,
            calls: Mutex::default(),
            control: None,
        }
    }

    /// Ends the link. It never gets an answer again.
    pub(super) fn die(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    /// Sends one command until an answer arrives.
    pub(super) async fn insist(&self, command: Command) -> Reply {
        loop {
            if let Ok(mut replies) = StoreGate::commit(self, vec![command.clone()]).await {
                return replies.pop().expect("one reply for one command");
            }
            self.network.runtime.sleep(Millis(70)).await;
        }
    }

    /// Completes when the owner is not frozen. Never completes if the owner is dead.
    pub(super) async fn alive(&self) {
        loop {
            let thawed = self.conditions.thawed.notified();
            if self.dead.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            if !self.conditions.frozen.load(Ordering::Relaxed) {
                return;
            }
            thawed.await;
        }
    }

    /// Delays a request on its way to the store. Fails if the network is cut.
    pub(super) async fn way(&self) -> Result<(), StoreError> {
        self.count().await;
        self.alive().await;
        self.delay().await;
        self.alive().await;
        if self.conditions.cut.load(Ordering::Relaxed) {
            self.network.runtime.sleep(Millis(20)).await;
            self.alive().await;
            let reason = "the network is cut".into();
            return Err(StoreError::Unavailable { reason });
        }
        Ok(())
    }

    /// Counts the calls at one instant. A host that calls without end while time does not advance
    /// is stopped.
    async fn count(&self) {
        let at = self.network.log.at();
        let many = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            *calls = if calls.0 == at { (at, calls.1 + 1) } else { (at, 1) };
            calls.1 == CALLS_AT_ONCE
        };
        if many {
            let log = &self.network.log;
            log.finding(format_args!("{} asks the store without end at one instant", self.who));
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the network's delay.
    pub(super) async fn delay(&self) {
        let most = self.network.network_faults.level(MessageFault::Delay);
        if most > 0 {
            let length = self.dice().between(0, i64::try_from(most).unwrap_or(0));
            self.network.log.count(MessageFault::Delay.kind());
            self.network.runtime.sleep(Millis(length)).await;
        }
    }

    /// True if this fault occurs now.
    pub(super) fn roll(&self, what: MessageFault) -> bool {
        let happens = self.dice().chance(self.network.network_faults.level(what));
        if happens {
            self.network.log.count(what.kind());
        }
        happens
    }

    fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes these commands at the far end.
    pub(super) async fn write(&self, commands: &[Command]) -> Vec<Reply> {
        let (replies, effects) = self.network.database.execute(&self.who, commands).await;
        let rows = self.network.database.memory.rows();
        self.network.bus.committed(self.life, &effects, &rows);
        let mut asked = self.conditions.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() < KEPT {
            asked.extend_from_slice(commands);
        }
        replies
    }

    /// Repeats a request later. A new incarnation of a host is only started by its own connection.
    pub(super) fn again(&self, commands: Vec<Command>) {
        if commands.iter().any(|command| matches!(command, Command::HostStart { .. })) {
            return;
        }
        let delay = Millis(self.dice().between(1, 3_000));
        let (network, who) = (self.network.clone(), format!("{}'", self.who));
        let runtime = network.runtime.clone();
        runtime.clone().spawn(
            "request",
            Box::pin(async move {
                runtime.sleep(delay).await;
                let (_, effects) = network.database.execute(&who, &commands).await;
                network.bus.committed(None, &effects, &network.database.memory.rows());
            }),
        );
    }

    /// Performs a commit with a fault. Returns the error that the host gets.
    pub(super) async fn fail(&self, how: CommitFault, commands: &[Command]) -> StoreError {
        let number = self.network.commit_faults.commits() - 1;
        self.network.log.fault(&Fault::Commit { number, how });
        let write = async { Ok(self.write(commands).await) };
        let die = || {
            self.die();
            if let Some(control) = &self.control {
                // A host that is already ending gets no message.
                let _ = control.send(Control::Crash { down: 100 });
            }
        };
        how.perform(write, die).await
    }
}
