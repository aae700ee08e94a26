//! Current values, read from the store and the process at each scrape.

use std::{collections::BTreeMap, fs, sync::atomic::AtomicU64};

use prometheus_client::{
    metrics::{family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use segno_core::promise::OutboxMessageKind;
use segno_env::clock_jumps;
use segno_store::StoreCounts;

/// Numbers of promises and tasks by state, warm instances, quarantined rows, memory.
pub struct Gauges {
    leases: Gauge,
    halted: Gauge,
    ready: Gauge,
    outbox: Family<super::Label, Gauge>,
    databases: Family<Vec<(&'static str, String)>, Gauge>,
    in_doubt: Gauge<f64, AtomicU64>,
    orphans: Family<super::Label, Gauge>,
    stuck: Family<super::Label, Gauge>,
    unreadable: Family<super::Label, Gauge>,
    warm_instances: Gauge,
    warm_bytes: Gauge,
    resident: Gauge,
    clock_jumps: Family<super::Label, Gauge>,
}

impl Gauges {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let gauges = Self {
            leases: Gauge::default(),
            halted: Gauge::default(),
            ready: Gauge::default(),
            outbox: Family::default(),
            databases: Family::default(),
            in_doubt: Gauge::default(),
            orphans: Family::default(),
            stuck: Family::default(),
            unreadable: Family::default(),
            warm_instances: Gauge::default(),
            warm_bytes: Gauge::default(),
            resident: Gauge::default(),
            clock_jumps: Family::default(),
        };
        registry.register(
            "clock_jumps",
            "How often the machine's clock was set by a second or more, by direction",
            gauges.clock_jumps.clone(),
        );
        registry.register("leases_active", "Tasks held by a worker", gauges.leases.clone());
        registry.register("quarantined_tasks", "Halted executions", gauges.halted.clone());
        registry.register("ready_tasks", "Pending tasks of modules", gauges.ready.clone());
        registry.register("outbox_messages", "Messages owed, by kind", gauges.outbox.clone());
        registry.register(
            "store_database_up",
            "1 if the database answered, by its number; of a store of several databases",
            gauges.databases.clone(),
        );
        registry.register_with_unit(
            "store_in_doubt",
            "Age of the oldest transaction over several databases that is prepared and not finished",
            Unit::Seconds,
            gauges.in_doubt.clone(),
        );
        registry.register(
            "orphans",
            "Orphans found by the last reconcile round of this host, by class",
            gauges.orphans.clone(),
        );
        registry.register(
            "stuck_executions",
            "Executions that cannot continue by themselves, as counted in the last round of this host, by reason",
            gauges.stuck.clone(),
        );
        registry.register(
            "quarantined_rows",
            "Quarantined subjects of this host, by kind",
            gauges.unreadable.clone(),
        );
        registry.register(
            "warm_instances",
            "Suspended instances kept warm",
            gauges.warm_instances.clone(),
        );
        registry.register_with_unit(
            "warm_memory",
            "Memory of the suspended instances kept warm",
            Unit::Bytes,
            gauges.warm_bytes.clone(),
        );
        registry.register_with_unit(
            "process_resident_memory",
            "Resident memory of this process",
            Unit::Bytes,
            gauges.resident.clone(),
        );
        gauges
    }

    /// Sets the values of the store and of the process.
    pub fn read(&self, counts: &StoreCounts) {
        self.leases.set(whole(counts.acquired));
        self.halted.set(whole(counts.halted));
        self.ready.set(whole(counts.ready));
        for kind in OutboxMessageKind::ALL {
            let owed = counts.outbox.get(&kind).copied().unwrap_or(0);
            self.outbox.get_or_create(&[("kind", kind.name())]).set(whole(owed));
        }
        for (number, answered) in (1..).zip(&counts.answered) {
            let number: u32 = number;
            let labels = vec![("database", number.to_string())];
            self.databases.get_or_create(&labels).set(i64::from(*answered));
        }
        self.in_doubt.set(counts.in_doubt.0 as f64 / 1_000.0);
        for (direction, count) in ["ahead", "back"].into_iter().zip(clock_jumps()) {
            self.clock_jumps.get_or_create(&[("direction", direction)]).set(whole(count));
        }
        if let Some(bytes) = resident_bytes() {
            self.resident.set(whole(bytes));
        }
    }

    /// Sets the number of suspended instances kept warm and their memory, in bytes.
    pub fn warm(&self, instances: usize, bytes: usize) {
        self.warm_instances.set(whole(instances as u64));
        self.warm_bytes.set(whole(bytes as u64));
    }

    /// Sets the number of quarantined subjects by kind.
    pub fn quarantined(&self, counts: &BTreeMap<&'static str, usize>) {
        for (kind, count) in counts {
            self.unreadable.get_or_create(&[("kind", kind)]).set(whole(*count as u64));
        }
    }

    /// Sets the number of executions that are stuck for this reason.
    pub fn stuck(&self, reason: &'static str, count: u64) {
        self.stuck.get_or_create(&[("reason", reason)]).set(whole(count));
    }

    /// Sets the number of orphans of this class that a reconcile round found.
    pub fn orphans(&self, class: &'static str, found: usize) {
        self.orphans.get_or_create(&[("class", class)]).set(whole(found as u64));
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The resident memory in bytes. The second number in the file is the count of resident pages.
fn resident_bytes() -> Option<u64> {
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
