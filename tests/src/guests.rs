//! The examples as components, built once in a test run, the toolchain included.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, OnceLock},
};

use segno::{
    build::{crate_build, toolchain},
    guest::{Compiler, Limits, Policy, Wasm, WasmConfig},
};
use segno_core::id::Digest;

/// The examples, by package name.
pub const EXAMPLES: [&str; 12] = [
    "hello",
    "order",
    "fan-out",
    "reminder",
    "approval",
    "subscription",
    "trip",
    "bank",
    "auction",
    "reports",
    "signup",
    "prices",
];

/// All examples as components.
///
/// # Panics
/// They cannot be built; the message says why.
pub fn examples() -> &'static BTreeMap<&'static str, Arc<[u8]>> {
    static BUILT: OnceLock<BTreeMap<&'static str, Arc<[u8]>>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        let folders: Vec<_> = EXAMPLES.iter().map(|name| examples.join(name)).collect();
        build(&folders)
            .into_iter()
            .zip(EXAMPLES)
            .map(|(component, name)| (name, component))
            .collect()
    })
}

/// Crates of one workspace as components, in their order.
///
/// # Panics
/// They cannot be built; the message says why.
pub fn build(folders: &[impl AsRef<Path>]) -> Vec<Arc<[u8]>> {
    build_into(folders, None)
}

/// The same, compiled into the target folder `target`; none: the workspace's own.
///
/// # Panics
/// They cannot be built; the message says why.
pub fn build_into(folders: &[impl AsRef<Path>], target: Option<&Path>) -> Vec<Arc<[u8]>> {
    let say = |message: &str| eprintln!("{message}");
    let directory = folders.first().expect("there is something to build").as_ref();
    let request = toolchain::Request::from_environment(directory, true)
        .unwrap_or_else(|error| panic!("{error}"));
    let toolchain = toolchain::find(&request, &say).unwrap_or_else(|error| panic!("{error}"));
    let crates: Vec<_> = folders
        .iter()
        .map(|folder| {
            crate_build::locate(folder.as_ref()).unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    let options = crate_build::BuildOptions {
        toolchain: &toolchain,
        target_directory: target,
        locked: false,
        shared: None,
    };
    let built =
        crate_build::build(&crates, options, &say).unwrap_or_else(|error| panic!("{error}"));
    built.into_iter().map(|built| built.component.into()).collect()
}

/// The engine with these components, by example name, and nothing allowed.
///
/// # Panics
/// The engine cannot be set up.
pub fn engine(components: &[Arc<[u8]>]) -> Arc<Wasm> {
    let source: BTreeMap<Digest, Arc<[u8]>> =
        components.iter().map(|component| (Digest::of(component), component.clone())).collect();
    let limits = Limits { instances: 64, ..Limits::default() };
    let config = WasmConfig {
        limits,
        policy: Policy::default(),
        cache_dir: None,
        compiler: Compiler::Thread,
        fair: false,
        counts: false,
        source: Arc::new(source),
    };
    Arc::new(Wasm::new(config).expect("the engine can be set up"))
}
