//! A node and its incarnations: it starts, dies, and restarts.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
};

use async_trait::async_trait;
use segno_core::{
    config::Config,
    id::HostName,
    promise::{Delivery, OutboxMessageKind},
    time::{Millis, Timestamp},
};
use segno_engine::boot;
use segno_engine::delivery::{Channel, DeliveryResult};
use segno_engine::host::Host;
use segno_engine::notifier::CommitNotifier;
use segno_engine::recovery::retention::Retention;
use segno_engine::worker::WorkerSettings;
use segno_env::{Clock, Env, Runtime};
use segno_guest::{Guests, Outbound};
use segno_services::{Connector, Services};
use segno_sim::{GatedStore, SimClock, SimRuntime, TaskPanics};
use tokio::sync::mpsc;

use super::{
    link::Link,
    network::{Conditions, Network},
    resonate::Endpoint,
};

/// A control message to an incarnation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Control {
    /// Die, and restart after `down`.
    Crash {
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// Stop as an operator does, and restart after `down`.
    Stop {
        /// Downtime, in milliseconds.
        down: i64,
    },
    /// Die for good.
    End,
}

/// Time for which departed workers keep their claims. `None`: as long as their leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grace(pub Option<Millis>);

/// Message channel of a host. The bus carries the messages that its [`Link`] sees, and the
/// receivers themselves acknowledge arrival.
struct Unconfirmed;

#[async_trait]
impl Channel for Unconfirmed {
    fn name(&self) -> &'static str {
        "bus"
    }

    fn takes(&self, _kind: OutboxMessageKind) -> bool {
        true
    }

    async fn deliver(&self, _delivery: &Delivery) -> DeliveryResult {
        DeliveryResult::Again { after: Millis::ZERO }
    }
}

/// Parts shared by all hosts.
pub(super) struct Parts {
    pub network: Arc<Network>,
    /// Settings of the engine.
    pub config: Config,
    /// Settings of the worker.
    pub worker: WorkerSettings,
    /// Grace period of departed external workers. `None` if hosts have no front ends for external
    /// workers.
    pub fronts: Option<Grace>,
    /// Retention periods of ended executions.
    pub retention: Retention,
    /// All modules and their functions.
    pub guests: Arc<dyn Guests>,
    /// Connector to deployments of services. `None` if there are none.
    pub connector: Option<Arc<dyn Connector>>,
    /// Handler of outgoing HTTP requests.
    pub outbound: Arc<dyn Outbound>,
    /// Clock of the world.
    pub clock: Arc<SimClock>,
    /// Number of incarnations so far, over all nodes.
    pub lives: AtomicU64,
    /// Panics of all incarnations.
    pub panics: TaskPanics,
}

/// A host across its incarnations.
pub(super) struct Node {
    name: HostName,
    parts: Arc<Parts>,
    /// Conditions of all its incarnations.
    pub conditions: Arc<Conditions>,
    /// Offset of its clock from the world's.
    pub offset: Arc<AtomicI64>,
    /// Number of its incarnations that are up.
    up: AtomicU64,
    control: Mutex<mpsc::UnboundedSender<Control>>,
}

struct Life {
    number: u64,
    runtime: Arc<SimRuntime>,
    link: Arc<GatedStore<Link>>,
    host: Host,
    endpoint: Option<Endpoint>,
    up: AtomicBool,
}

/// A node's clock, as one incarnation sees it. It never goes backwards.
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
    /// Starts a node and its first incarnation.
    pub(super) fn start(name: &str, parts: Arc<Parts>) -> Arc<Self> {
        let (control, controlled) = mpsc::unbounded_channel();
        let node = Arc::new(Self {
            name: HostName::from(name),
            parts,
            conditions: Arc::default(),
            offset: Arc::default(),
            up: AtomicU64::new(0),
            control: Mutex::new(control.clone()),
        });
        node.keep(control, controlled);
        node
    }

    /// True if one of its incarnations could release lost claims: it is up, reaches the store, and
    /// its clock is not behind.
    pub(super) fn is_well(&self, store_ahead: i64) -> bool {
        self.up.load(Ordering::Relaxed) > 0
            && !self.conditions.cut.load(Ordering::Relaxed)
            && !self.conditions.frozen.load(Ordering::Relaxed)
            && self.offset.load(Ordering::Relaxed) >= store_ahead
    }

    /// Sends a control message to the current incarnation.
    pub(super) fn control(&self, what: Control) {
        // The receiver exists until the world ends.
        let _ = self.control.lock().unwrap_or_else(PoisonError::into_inner).send(what);
    }

    /// Starts a second incarnation next to the current one. Returns the control channel of the
    /// older one.
    pub(super) fn second(self: &Arc<Self>) -> mpsc::UnboundedSender<Control> {
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
                    // Drops messages to an incarnation that has ended.
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
        let link = Link::of_host(who, number, network, self.conditions.clone(), control);
        let link = Arc::new(GatedStore(link));
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
        // Takes all messages that are not for a front end.
        host.channels.add(Arc::new(Unconfirmed));
        Life { number, runtime, link, host, endpoint, up: AtomicBool::new(false) }
    }
}

impl Life {
    fn end(self, node: &Node) {
        if self.up.load(Ordering::Relaxed) {
            node.up.fetch_sub(1, Ordering::Relaxed);
        }
        self.link.0.die();
        node.parts.network.endpoints.remove(self.number);
        self.runtime.crash();
        node.parts.network.bus.leave(self.number);
        node.parts.network.log.note(format_args!("{}#{} is gone", node.name, self.number));
    }
}
