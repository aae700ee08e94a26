//! Metrics of blobs.

use prometheus_client::{
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// The reason why a blob was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobRemoval {
    /// The execution that owned it was removed.
    Owner,
    /// The sweep found no execution that owns it.
    Sweep,
    /// Its upload did not end.
    Upload,
}

/// Counters of removed blobs.
pub struct BlobMetrics {
    removed: Family<[(&'static str, &'static str); 1], Counter>,
    failures: Counter,
}

impl BlobMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self { removed: Family::default(), failures: Counter::default() };
        for cause in [BlobRemoval::Owner, BlobRemoval::Sweep, BlobRemoval::Upload] {
            metrics.removed(cause, 0);
        }
        registry.register(
            "blobs_removed",
            "Blobs and unfinished uploads removed by the host, by cause",
            metrics.removed.clone(),
        );
        registry.register(
            "blob_removal_failures",
            "Removals that the place for blobs refused or did not answer; the sweep repeats them",
            metrics.failures.clone(),
        );
        metrics
    }

    /// Counts removed blobs.
    pub fn removed(&self, cause: BlobRemoval, count: u64) {
        let cause = match cause {
            BlobRemoval::Owner => "owner",
            BlobRemoval::Sweep => "sweep",
            BlobRemoval::Upload => "upload",
        };
        self.removed.get_or_create(&[("cause", cause)]).inc_by(count);
    }

    /// Counts a failed removal.
    pub fn failed(&self) {
        self.failures.inc();
    }
}
