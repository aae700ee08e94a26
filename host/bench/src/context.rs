//! What all scenarios share: sizes, a place for data, the guest and its engine.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use segno_core::id::Digest;
use tempfile::TempDir;

use super::BenchOptions;
use segno_env::Env;
use segno_guest::{Compiler, Limits, Policy, Wasm, WasmConfig};

/// The component of `guest/`, built.
const GUEST: &[u8] = include_bytes!("../guest/bench.wasm");

/// See the module.
pub struct BenchContext {
    /// Small sizes.
    pub quick: bool,
    /// How often each scenario is run.
    pub repetitions: usize,
    /// For all data; gone with this.
    pub folder: TempDir,
    /// The address of a PostgreSQL database, if there is one to be measured.
    pub postgres: Option<String>,
    /// The command `segno`.
    pub binary: PathBuf,
    /// Time and tasks.
    pub env: Env,
    /// The engine, with the guest compiled once for all scenarios.
    pub wasm: Arc<Wasm>,
    /// The guest.
    pub digest: Digest,
    /// Its bytes.
    pub component: Arc<[u8]>,
}

impl BenchContext {
    /// Makes the folder and the engine.
    ///
    /// # Errors
    /// One of them cannot be made.
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
        let wasm = Wasm::new(WasmConfig {
            limits: Limits::default(),
            policy: Policy::default(),
            cache_dir: None,
            compiler: Compiler::Thread,
            fair: true,
            source: Arc::new(BTreeMap::from([(digest, component.clone())])),
        })?;
        Ok(Self {
            quick: options.quick,
            repetitions: options.repetitions.max(1),
            folder,
            postgres: options.postgres,
            binary: options.binary,
            env,
            wasm: Arc::new(wasm),
            digest,
            component,
        })
    }

    /// One of two sizes.
    pub fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// A new place for data.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn place(&self) -> anyhow::Result<TempDir> {
        tempfile::tempdir_in(self.folder.path()).context("cannot make a folder for data")
    }
}
