//! The store as one life of a host, a worker or a client sees it: over a network that loses, doubles and delays, that may
//! be cut, and whose far end may be struck at a commit. After its end a life is never answered again.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use segno::{
    runtime::Runtime,
    store::{Store, StoreError},
};
use segno_core::{command::Command, reply::Reply, time::Millis};
use tokio::sync::mpsc;

use super::{
    dice::Dice,
    fault::{CommitFault, Fault, Noise},
    host::Control,
    network::{Conditions, Network},
};

/// Calls at one instant after which nobody believes that time will go on.
const CALLS_AT_ONCE: u32 = 20_000;
/// Commands of one life that are kept, to be asked again.
const KEPT: usize = 20_000;

/// See the module.
pub struct Link {
    who: String,
    pub(super) life: Option<u64>,
    pub(super) network: Arc<Network>,
    pub(super) conditions: Arc<Conditions>,
    dead: AtomicBool,
    dice: Mutex<Dice>,
    calls: Mutex<(i64, u32)>,
    /// Whom to tell that the host has to die; nobody: its commits are not struck.
    pub(super) control: Option<mpsc::UnboundedSender<Control>>,
}

impl Link {
    /// A link of a host's life.
    pub fn of_host(
        who: String,
        life: u64,
        network: Arc<Network>,
        conditions: Arc<Conditions>,
        control: mpsc::UnboundedSender<Control>,
    ) -> Self {
        let link = Self::of_client(who, network);
        Self { life: Some(life), conditions, control: Some(control), ..link }
    }

    /// A link of somebody outside.
    pub fn of_client(who: String, network: Arc<Network>) -> Self {
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

    /// Is never answered again.
    pub fn die(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    /// Sends one command until it is answered.
    pub async fn insist(&self, command: Command) -> Reply {
        loop {
            if let Ok(mut replies) = self.execute(vec![command.clone()]).await {
                return replies.pop().expect("one reply for one command");
            }
            self.network.runtime.sleep(Millis(70)).await;
        }
    }

    /// Ends when its owner is alive and not frozen.
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

    /// The way to the store, or that there is none.
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

    /// A host that asks without end and without time going on is as good as dead.
    async fn count(&self) {
        let at = self.network.book.at();
        let many = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            *calls = if calls.0 == at { (at, calls.1 + 1) } else { (at, 1) };
            calls.1 == CALLS_AT_ONCE
        };
        if many {
            let book = &self.network.book;
            book.wrong(format_args!("{} asks the store without end at one instant", self.who));
            std::future::pending::<()>().await;
        }
    }

    /// Takes as long as the network does.
    pub(super) async fn delay(&self) {
        let most = self.network.weather.level(Noise::Delay);
        if most > 0 {
            let length = self.dice().between(0, i64::try_from(most).unwrap_or(0));
            self.network.book.struck(Noise::Delay.kind());
            self.network.runtime.sleep(Millis(length)).await;
        }
    }

    /// Whether this goes wrong now.
    pub(super) fn roll(&self, what: Noise) -> bool {
        let strikes = self.dice().chance(self.network.weather.level(what));
        if strikes {
            self.network.book.struck(what.kind());
        }
        strikes
    }

    fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries these out at the far end.
    pub(super) async fn commit(&self, commands: &[Command]) -> Vec<Reply> {
        let (replies, effects) = self.network.database.execute(&self.who, commands).await;
        self.network.bus.committed(self.life, &effects);
        let mut asked = self.conditions.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() < KEPT {
            asked.extend_from_slice(commands);
        }
        replies
    }

    /// The same request, once more and later. A new life of a host is begun by its own connection only.
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
                network.bus.committed(None, &effects);
            }),
        );
    }

    /// What becomes of a commit that is struck.
    pub(super) async fn struck(&self, how: CommitFault, commands: &[Command]) -> StoreError {
        self.network
            .book
            .strikes(&Fault::Commit { number: self.network.database.commits() - 1, how });
        if matches!(how, CommitFault::CrashAfter | CommitFault::UnknownButDone) {
            self.commit(commands).await;
        }
        if matches!(how, CommitFault::CrashBefore | CommitFault::CrashAfter) {
            self.die();
            if let Some(control) = &self.control {
                // A host that is ending anyway hears of nothing.
                let _ = control.send(Control::Crash { down: 100 });
            }
            std::future::pending::<()>().await;
        }
        unknown()
    }
}

/// Nobody knows what became of it.
pub(super) fn unknown() -> StoreError {
    StoreError::UnknownOutcome(anyhow::anyhow!("a fault of the simulation"))
}
