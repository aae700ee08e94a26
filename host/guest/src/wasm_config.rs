//! The parameters of the modules of a host.

use std::{path::PathBuf, sync::Arc};

use segno_env::Runtime;

use super::{ComponentSource, Limits, PolicySource, compile::Compiler};

/// The parameters of a [`Wasm`](super::Wasm).
#[derive(Clone)]
pub struct WasmConfig {
    /// The limits of an instance.
    pub limits: Limits,
    /// The policy for activities.
    pub policy: PolicySource,
    /// The directory of compiled code, which engines and processes may share. `None`: each engine
    /// compiles again.
    pub cache_dir: Option<PathBuf>,
    /// The place where components are compiled.
    pub compiler: Compiler,
    /// True if a busy guest lets others run at each epoch. Disabled for runs that must be exactly
    /// reproducible: an epoch follows the machine's clock.
    pub fair: bool,
    /// True if instructions are counted, which slows guests down:
    /// [`Guests::counting`](super::Guests::counting).
    pub counts: bool,
    /// The runtime in which the next instance of a source module is made ahead, and modules are
    /// unloaded after a while. `None`: each instance is made when it is asked for, and modules stay.
    pub ahead: Option<Arc<dyn Runtime>>,
    pub source: Arc<dyn ComponentSource>,
}
