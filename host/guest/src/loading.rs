//! Loads the sources of a module into its runtime, once, and keeps the memory.

use std::sync::Arc;

use segno_core::{
    id::Digest,
    source_module::{SourceModule, SourceModuleError},
};

use super::{
    GuestError, Limits, MemoryChange, Workflow as _, budget::Budget, engine::GuestEngine,
    instance::Instance, modules::LoadedModule, turns::InstanceTurn,
};

/// Reason why the sources of a module cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadingError {
    #[error("the module cannot be read: {0}")]
    Format(SourceModuleError),
    /// The runtime is not stored.
    #[error("the runtime {0} of the module is not stored here")]
    NoRuntime(Digest),
    #[error("the component {0} is no runtime: it does not export `segno:workflow/loader`")]
    NotRuntime(Digest),
    /// The runtime rejected the sources.
    #[error("{0}")]
    Rejected(String),
    /// Loading trapped, ran out of time, or left something open.
    #[error("the sources cannot be loaded: {0}")]
    Failed(GuestError),
}

/// The difference between an instance of `runtime` that has loaded the sources of `module`, and a
/// new one.
pub(super) async fn image(
    engine: &Arc<GuestEngine>,
    limits: &Arc<Limits>,
    runtime: Arc<LoadedModule>,
    module: SourceModule,
) -> Result<MemoryChange, LoadingError> {
    if !runtime.workflow.is_runtime() {
        return Err(LoadingError::NotRuntime(module.runtime));
    }
    // Never rejected: the upload waits for it, and so may starts of the module.
    let turn = InstanceTurn::at_once(None, module.runtime);
    let budget = Budget::new(Arc::clone(limits), turn);
    let mut instance =
        Instance::new(engine, budget, runtime).await.map_err(LoadingError::Failed)?;
    let base = instance.save().await.map_err(LoadingError::Failed)?;
    let loaded = instance.load(module.into_files()).await.map_err(LoadingError::Failed)?;
    loaded.map_err(LoadingError::Rejected)?;
    let loaded = instance.save().await.map_err(LoadingError::Failed)?;
    Ok(loaded.since(&base))
}
