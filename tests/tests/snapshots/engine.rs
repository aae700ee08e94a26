//! An engine that makes snapshots, and a host's snapshot counts.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use segno_core::id::Digest;
use segno_guest::{Compiler, Guests, Limits, PolicySource, Wasm, WasmConfig};
use segno_sim::PlannedFaults;
use tempfile::TempDir;
use tests::world::World;

const BENCH: &[u8] = include_bytes!("../../../host/bench/guest/bench.wasm");

/// An engine over one component, which makes snapshots after a given number of records, with its
/// folder.
pub(super) struct Engine {
    component: Arc<[u8]>,
    pub wasm: Arc<Wasm>,
    folder: TempDir,
}

impl Engine {
    pub(super) fn new(component: Arc<[u8]>, snapshot_records: u32) -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let source = BTreeMap::from([(Digest::of(&component), component.clone())]);
        let config = WasmConfig {
            limits: Limits { instances: 64, snapshot_records, ..Limits::default() },
            policy: PolicySource::default(),
            cache_dir: Some(folder.path().to_owned()),
            compiler: Compiler::Thread,
            fair: false,
            counts: false,
            ahead: None,
            source: Arc::new(source),
        };
        let wasm = Arc::new(Wasm::new(config).expect("the engine can be set up"));
        Self { component, wasm, folder }
    }

    pub(super) fn bench(snapshot_records: u32) -> Self {
        Self::new(BENCH.into(), snapshot_records)
    }

    pub(super) async fn world(&self) -> World {
        self.world_of(self.wasm.clone()).await
    }

    pub(super) async fn world_of(&self, guests: Arc<dyn Guests>) -> World {
        // Compiled beforehand, because virtual time does not wait for it.
        let module = Digest::of(&self.component);
        self.wasm.describe(module).await.expect("it describes itself");
        // The memory of some guests cannot be read.
        let _ = self.wasm.accessible(module, None).await;
        World::new(guests, "m", self.component.clone(), PlannedFaults::default()).await
    }

    /// Files of all snapshots.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
        let configurations = entries(&self.folder.path().join("snapshots"));
        configurations.flat_map(|each| entries(&each.path())).map(|file| file.path()).collect()
    }
}

/// Snapshot counts of one incarnation of a host, and the number of records that it replayed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub made: u64,
    pub restored: u64,
    pub discarded: u64,
    pub refused: u64,
    pub unequal: u64,
    pub replayed: u64,
}

impl Counted {
    pub(super) fn of(world: &World) -> Self {
        let metrics = world.metrics();
        let count = |name: &str| -> u64 {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name));
            line.map_or(0, |number| number.trim().parse().expect("a number"))
        };
        let event = |name: &str| count(&format!("segno_snapshots_total{{event=\"{name}\"}}"));
        Self {
            made: event("made"),
            restored: event("restored"),
            discarded: event("discarded"),
            refused: event("refused"),
            unequal: event("unequal"),
            replayed: count("segno_replayed_records_total"),
        }
    }
}
