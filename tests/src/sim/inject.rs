//! The injection of faults.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use segno_core::time::Millis;
use segno_env::Runtime;

use super::{
    again::zombie,
    effects::Effects,
    fault::Fault,
    host::{Control, Node},
    network::Network,
    resonate::Worker,
    services::Services,
};

/// Injects one fault.
pub(super) async fn inject(
    network: &Arc<Network>,
    nodes: &[Arc<Node>],
    workers: &[Arc<Worker>],
    effects: &Effects,
    services: Option<&Services>,
    ahead: &AtomicU64,
    fault: Fault,
) {
    let sleep = |length: i64| network.runtime.sleep(Millis(length));
    match &fault {
        // These are logged when they really occur.
        Fault::Commit { .. } | Fault::Frame { .. } | Fault::Message { .. } | Fault::Stall => {}
        _ => network.log.fault(&fault),
    }
    let offset = |host: usize, by: i64| {
        nodes[host].offset.fetch_add(by, Ordering::Relaxed);
    };
    match fault {
        Fault::Commit { .. } | Fault::Frame { .. } => {}
        Fault::Absence { deployment, how, lasts } => {
            let way = services.expect("a script with deployments").way(deployment);
            way.set(Some(how));
            sleep(lasts).await;
            way.set(None);
        }
        Fault::Upgrade { deployment } => {
            services.expect("a script with deployments").upgrade(network, deployment).await;
        }
        Fault::Crash { host, down } => nodes[host].control(Control::Crash { down }),
        Fault::Stop { host, down } => nodes[host].control(Control::Stop { down }),
        Fault::Partition { host, lasts } => {
            nodes[host].conditions.cut.store(true, Ordering::Relaxed);
            sleep(lasts).await;
            nodes[host].conditions.cut.store(false, Ordering::Relaxed);
        }
        Fault::HeartbeatLoss { host, lasts } => {
            nodes[host].conditions.heartless.store(true, Ordering::Relaxed);
            sleep(lasts).await;
            nodes[host].conditions.heartless.store(false, Ordering::Relaxed);
        }
        Fault::Freeze { host, lasts } => {
            nodes[host].conditions.frozen.store(true, Ordering::Relaxed);
            sleep(lasts).await;
            nodes[host].conditions.thaw();
            sleep(1_500).await;
            zombie(network, &nodes[host]).await;
        }
        Fault::SecondLife { host, lasts } => {
            let older = nodes[host].second();
            sleep(lasts).await;
            // An incarnation that has ended meanwhile ignores the message.
            let _ = older.send(Control::End);
        }
        Fault::Skew { host, by } | Fault::Jump { host, by } => offset(host, by),
        Fault::StoreJump { by } => {
            network.database.clock.jump(Millis(by));
            ahead.fetch_add(u64::try_from(by).unwrap_or(0), Ordering::Relaxed);
        }
        Fault::WorkerDeath { worker, down } => workers[worker].die(down).await,
        Fault::WorkerFreeze { worker, lasts } => workers[worker].freeze(lasts).await,
        Fault::WorkerSilence { worker, lasts } => workers[worker].fall_silent(lasts).await,
        Fault::Stall => effects.plan_stall(),
        Fault::Message { what, level } => network.network_faults.set(what, level),
    }
}
