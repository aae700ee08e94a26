//! A node and its incarnations: it starts, dies, and starts again.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
};

use async_trait::async_trait;
use segno::{
    boot,
    delivery::{Channel, Delivered},
    guest::{Guests, Outbound},
    host::Host,
    notifier::CommitNotifier,
    recovery::retention::Retention,
    runtime::{Clock, Env, Runtime},
    services::{Connector, Services},
    worker::WorkerSettings,
};
use segno_core::{
    config::Config,
    id::NodeName,
    promise::{Delivery, MessageKind},
    time::{Millis, Timestamp},
};
use tokio::sync::mpsc;

use super::{
    link::Link,
    network::{Conditions, Network},
    resonate::Endpoint,
};
use crate::world::{SimClock, SimRuntime};

/// A control message to an incarnation.
#[derive(Debug, Clone, Copy)]
pub enum Control {
    /// Die, and start again after `down`.
    Crash {
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// Stop as an operator does, and start again after `down`.
    Stop {
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// Die for ever.
    End,
}

/// How long workers that left keep their claims; none: as long as their leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace(pub Option<Millis>);

/// The channel of a host: the bus carries what its [`Link`] sees, and the receivers themselves say
/// what arrived.
struct Unconfirmed;

#[async_trait]
impl Channel for Unconfirmed {
    fn name(&self) -> &'static str {
        "bus"
    }

    fn takes(&self, _kind: MessageKind) -> bool {
        true
    }

    async fn deliver(&self, _delivery: &Delivery) -> Delivered {
        Delivered::Again { after: Millis::ZERO }
    }
}

/// The parts shared by all hosts.
pub struct Parts {
    /// The network.
    pub network: Arc<Network>,
    /// The engine's settings.
    pub config: Config,
    /// The worker's settings.
    pub worker: WorkerSettings,
    /// Whether hosts have front ends for external workers, and how long those that left keep their
    /// claims.
    pub fronts: Option<Grace>,
    /// How long what has ended is kept.
    pub retention: Retention,
    /// Everything that can be run.
    pub guests: Arc<dyn Guests>,
    /// How deployments of services are reached; none: there are none.
    pub connector: Option<Arc<dyn Connector>>,
    /// The way out.
    pub outbound: Arc<dyn Outbound>,
    /// Time.
    pub clock: Arc<SimClock>,
    /// Lives so far, of all nodes.
    pub lives: AtomicU64,
    /// Panics of any life.
    pub panics: Arc<Mutex<Vec<String>>>,
}

/// A node.
pub struct Node {
    name: NodeName,
    parts: Arc<Parts>,
    /// What holds for all its lives.
    pub conditions: Arc<Conditions>,
    /// How far its clock is from the world's.
    pub offset: Arc<AtomicI64>,
    /// How many of its lives are up.
    up: AtomicU64,
    control: Mutex<mpsc::UnboundedSender<Control>>,
}

struct Life {
    number: u64,
    runtime: Arc<SimRuntime>,
    link: Arc<Link>,
    host: Host,
    endpoint: Option<Endpoint>,
    up: AtomicBool,
}

/// A node's clock, as one life sees it: never backwards.
struct NodeClock {
    world: Arc<SimClock>,
    offset: Arc<AtomicI64>,
    latest: AtomicI64,
}

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        let now = self.world.now().0 + self.offset.load(Ordering::Relaxed);
        Timestamp(self.latest.fetch_max(now, Ordering::Relaxed).max(now))
    }
}

impl Node {
    /// A node whose first life comes up now.
    pub fn start(name: &str, parts: Arc<Parts>) -> Arc<Self> {
        let (control, controlled) = mpsc::unbounded_channel();
        let node = Arc::new(Self {
            name: NodeName::from(name),
            parts,
            conditions: Arc::default(),
            offset: Arc::default(),
            up: AtomicU64::new(0),
            control: Mutex::new(control.clone()),
        });
        node.keep(control, controlled);
        node
    }

    /// Whether a life of it could give back what others lost: it is up, reaches the store, and its
    /// clock is not behind.
    pub fn is_well(&self, store_ahead: i64) -> bool {
        self.up.load(Ordering::Relaxed) > 0
            && !self.conditions.cut.load(Ordering::Relaxed)
            && !self.conditions.frozen.load(Ordering::Relaxed)
            && self.offset.load(Ordering::Relaxed) >= store_ahead
    }

    /// Sends a control message to the present incarnation.
    pub fn control(&self, what: Control) {
        // The receiver lives as long as the world.
        let _ = self.control.lock().unwrap_or_else(PoisonError::into_inner).send(what);
    }

    /// Begins a second incarnation beside the present one; answers its control channel.
    pub fn second(self: &Arc<Self>) -> mpsc::UnboundedSender<Control> {
        let (control, controlled) = mpsc::unbounded_channel();
        self.keep(control.clone(), controlled);
        let mut present = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *present, control)
    }

    fn keep(
        self: &Arc<Self>,
        control: mpsc::UnboundedSender<Control>,
        mut controlled: mpsc::UnboundedReceiver<Control>,
    ) {
        let node = self.clone();
        let runtime = self.parts.network.runtime.clone();
        runtime.clone().spawn(
            "node",
            Box::pin(async move {
                loop {
                    let life = node.life(control.clone());
                    let down = match node.live(&life, &mut controlled).await {
                        Control::Crash { down } | Control::Stop { down } => Some(down),
                        Control::End => None,
                    };
                    life.end(&node);
                    let Some(down) = down else { return };
                    runtime.sleep(Millis(down)).await;
                    // Messages to an incarnation that is over are dropped.
                    while controlled.try_recv().is_ok() {}
                }
            }),
        );
    }

    async fn live(
        &self,
        life: &Life,
        controlled: &mut mpsc::UnboundedReceiver<Control>,
    ) -> Control {
        let (host, name) = (life.host.clone(), self.name.clone());
        let retention = self.parts.retention.clone();
        let starting = boot::start_keeping(host, name, self.parts.worker, retention);
        let running = tokio::select! {
            biased;
            control = controlled.recv() => return control.unwrap_or(Control::End),
            running = starting => running,
        };
        let Ok(running) = running else { return Control::Crash { down: 100 } };
        life.up.store(true, Ordering::Relaxed);
        self.up.fetch_add(1, Ordering::Relaxed);
        self.parts.network.log.note(format_args!(
            "{}.{} is up, {} claims given back",
            self.name, running.incarnation, running.recovered
        ));
        self.parts.network.running_hosts.add(life.number, life.host.clone());
        if let Some(endpoint) = &life.endpoint {
            self.parts.network.endpoints.add(life.number, endpoint.clone());
        }
        let control = controlled.recv().await.unwrap_or(Control::End);
        self.parts.network.running_hosts.remove(life.number);
        if let Control::Stop { .. } = control {
            life.endpoint.iter().for_each(Endpoint::stop);
            let limit = self.parts.network.runtime.sleep(Millis(8_000));
            tokio::select! {
                biased;
                _ = running.shutdown(Millis(2_000)) => {}
                () = limit => {}
            }
        }
        control
    }

    fn life(&self, control: mpsc::UnboundedSender<Control>) -> Life {
        let number = self.parts.lives.fetch_add(1, Ordering::Relaxed) + 1;
        let runtime = Arc::new(SimRuntime::watched(number, self.parts.panics.clone()));
        let notifier = Arc::new(CommitNotifier::default());
        let network = self.parts.network.clone();
        network.bus.join(number, notifier.clone());
        let who = format!("{}#{number}", self.name);
        let link = Arc::new(Link::of_host(who, number, network, self.conditions.clone(), control));
        let clock = NodeClock {
            world: self.parts.clock.clone(),
            offset: self.offset.clone(),
            latest: AtomicI64::new(i64::MIN),
        };
        let host = Host::new(
            Env { clock: Arc::new(clock), runtime: runtime.clone() },
            self.parts.config.clone(),
            link.clone(),
            self.parts.guests.clone(),
            self.parts.outbound.clone(),
            notifier,
        );
        let services = Services::join(&host);
        let connector = self.parts.connector.iter();
        connector.for_each(|connector| services.connect(connector.clone()));
        let endpoint = self.parts.fronts.map(|Grace(grace)| Endpoint::of(&host, grace));
        // Whatever is not for a front end.
        host.channels.add(Arc::new(Unconfirmed));
        Life { number, runtime, link, host, endpoint, up: AtomicBool::new(false) }
    }
}

impl Life {
    fn end(self, node: &Node) {
        if self.up.load(Ordering::Relaxed) {
            node.up.fetch_sub(1, Ordering::Relaxed);
        }
        self.link.die();
        node.parts.network.endpoints.remove(self.number);
        self.runtime.crash();
        node.parts.network.bus.leave(self.number);
        node.parts.network.log.note(format_args!("{}#{} is gone", node.name, self.number));
    }
}
