//! The guests of this repository as components, and an engine that runs them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use segno_build::{crate_build, toolchain};
use segno_core::id::Digest;
use segno_guest::{Compiler, Limits, PolicySource, Wasm, WasmConfig};

/// Component of a guest of this repository, by the name of its package: an example, or a crate
/// under `tests/guests`. All guests are built once per run, and always together, because for
/// another set of packages cargo would recompile all dependencies with other features.
///
/// # Panics
/// If there is no such guest, or the guests cannot be built. The message has the reason.
pub fn component(name: &str) -> Vec<u8> {
    all().get(name).unwrap_or_else(|| panic!("there is no guest `{name}`")).to_vec()
}

/// Components of all guests of this repository, by the names of their packages.
///
/// # Panics
/// If they cannot be built. The message has the reason.
pub fn all() -> &'static BTreeMap<String, Arc<[u8]>> {
    static BUILT: OnceLock<BTreeMap<String, Arc<[u8]>>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let crates = crate_build::members(&repository).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<String> = crates.iter().map(|one| one.package.clone()).collect();
        names.into_iter().zip(compile(&crates, None)).collect()
    })
}

/// Builds crates of one workspace as components, in their order, in the target folder `target`.
///
/// # Panics
/// If they cannot be built. The message has the reason.
pub fn build_into(folders: &[impl AsRef<Path>], target: &Path) -> Vec<Arc<[u8]>> {
    let crates: Vec<_> = folders
        .iter()
        .map(|folder| {
            crate_build::locate(folder.as_ref()).unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    compile(&crates, Some(target))
}

/// Compiles these crates into components. Without a target folder, uses that of their workspace.
fn compile(crates: &[crate_build::WorkflowCrate], target: Option<&Path>) -> Vec<Arc<[u8]>> {
    let say = |message: &str| eprintln!("{message}");
    let directory = &crates.first().expect("there is something to build").directory;
    let request = toolchain::ToolchainRequest::from_environment(directory, true)
        .unwrap_or_else(|error| panic!("{error}"));
    let toolchain = toolchain::find(&request, &say).unwrap_or_else(|error| panic!("{error}"));
    let options = crate_build::BuildOptions {
        toolchain: &toolchain,
        target_directory: target,
        locked: false,
        shared: None,
    };
    let built = crate_build::build(crates, options, &say).unwrap_or_else(|error| panic!("{error}"));
    built.into_iter().map(|built| built.component.into()).collect()
}

/// Folder of compiled code that all suites share, in the target folder.
fn compiled() -> PathBuf {
    let suite = std::env::current_exe().expect("the suite is a program");
    suite.with_file_name("compiled")
}

/// Creates an engine for these components, with a policy that allows nothing.
///
/// # Panics
/// If the engine cannot be set up.
pub fn engine(components: &[Arc<[u8]>]) -> Arc<Wasm> {
    let source: BTreeMap<Digest, Arc<[u8]>> =
        components.iter().map(|component| (Digest::of(component), component.clone())).collect();
    let limits = Limits { instances: 64, snapshot_records: 0, ..Limits::default() };
    let config = WasmConfig {
        limits,
        policy: PolicySource::default(),
        cache_dir: Some(compiled()),
        compiler: Compiler::Thread,
        fair: false,
        counts: false,
        ahead: None,
        source: Arc::new(source),
    };
    Arc::new(Wasm::new(config).expect("the engine can be set up"))
}
