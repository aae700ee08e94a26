//! Resources shared by all scenarios: sizes, a data directory, the guest and its engine.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use segno_core::id::Digest;
use segno_env::Env;
use segno_guest::{Compiler, Limits, PolicySource, Wasm, WasmConfig};
use tempfile::TempDir;

use super::BenchOptions;

/// The built component of `guest/`.
const GUEST: &[u8] = include_bytes!("../guest/bench.wasm");

/// Settings and resources of a benchmark.
pub struct BenchContext {
    /// True for small sizes.
    pub quick: bool,
    /// Number of repetitions of each scenario.
    pub repetitions: usize,
    /// Directory for all data, removed on drop.
    pub folder: TempDir,
    /// Address of a PostgreSQL database; `None` if none is measured.
    pub postgres: Option<String>,
    /// Path of Restate's server; `None` if it is not measured.
    pub restate_server: Option<PathBuf>,
    /// Path of the command `segno`.
    pub binary: PathBuf,
    pub env: Env,
    /// The wasm engine, with the guest compiled once for all scenarios.
    pub wasm: Arc<Wasm>,
    pub digest: Digest,
    pub component: Arc<[u8]>,
}

impl BenchContext {
    /// Creates the directory and the engine.
    ///
    /// # Errors
    /// Fails if the directory or the engine cannot be created.
    pub fn new(options: BenchOptions, env: Env) -> anyhow::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("segno-bench-");
        let folder = match &options.folder {
            Some(parent) => builder
                .tempdir_in(parent)
                .with_context(|| format!("cannot make a folder in `{}`", parent.display()))?,
            None => builder.tempdir().context("cannot make a folder for temporary files")?,
        };
        let component: Arc<[u8]> = GUEST.into();
        let digest = Digest::of(&component);
        let wasm = engine(BTreeMap::from([(digest, component.clone())]), Limits::default(), None)?;
        Ok(Self {
            quick: options.quick,
            repetitions: options.repetitions.max(1),
            folder,
            postgres: options.postgres,
            restate_server: options.restate_server,
            binary: options.binary,
            env,
            wasm,
            digest,
            component,
        })
    }

    /// Creates an engine with the guest that keeps snapshots in `folder`, taken after this number
    /// of records.
    ///
    /// # Errors
    /// Fails if the engine cannot be created.
    pub fn with_snapshots(&self, folder: &Path, records: u32) -> anyhow::Result<Arc<Wasm>> {
        let limits = Limits { snapshot_records: records, ..Limits::default() };
        engine(
            BTreeMap::from([(self.digest, self.component.clone())]),
            limits,
            Some(folder.to_owned()),
        )
    }

    /// Returns the size for this run: `quick` or `full`.
    pub fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Creates a new data directory.
    ///
    /// # Errors
    /// Fails if the directory cannot be created.
    pub fn place(&self) -> anyhow::Result<TempDir> {
        tempfile::tempdir_in(self.folder.path()).context("cannot make a folder for data")
    }
}

/// An engine for these components, by digest, which keeps compiled code in `cache_dir`.
///
/// # Errors
/// Fails if the engine cannot be created.
pub(crate) fn engine(
    source: BTreeMap<Digest, Arc<[u8]>>,
    limits: Limits,
    cache_dir: Option<PathBuf>,
) -> anyhow::Result<Arc<Wasm>> {
    let config = WasmConfig {
        limits,
        policy: PolicySource::default(),
        cache_dir,
        compiler: Compiler::Thread,
        fair: true,
        counts: false,
        ahead: None,
        source: Arc::new(source),
    };
    Ok(Arc::new(Wasm::new(config)?))
}
