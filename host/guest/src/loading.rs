//! Loads the sources of a module into its runtime, once, and keeps the memory.

use std::sync::Arc;

use segno_core::source_module::SourceModule;

use super::{
    GuestError, Limits, Workflow as _, budget::ComputeBudget, engine::GuestEngine,
    instance::Instance, loaded::LoadedModule, loading_error::LoadingError, snapshot::NewImage,
    turns::InstanceTurn,
};

/// The memory with which instances of `module` begin: that of a new instance of `runtime` which has
/// loaded the sources.
pub(super) async fn image(
    engine: &Arc<GuestEngine>,
    limits: &Arc<Limits>,
    runtime: Arc<LoadedModule>,
    module: SourceModule,
) -> Result<NewImage, LoadingError> {
    if !runtime.workflow.is_runtime() {
        return Err(LoadingError::NotRuntime(module.runtime));
    }
    // Never rejected: the upload waits for it, and so may starts of the module.
    let turn = InstanceTurn::at_once(None, module.runtime);
    let budget = ComputeBudget::new(Arc::clone(limits), turn);
    let instance = Instance::uninitialized(engine, budget, runtime).await;
    let mut instance = instance.map_err(LoadingError::Failed)?;
    let new = instance.save().await.map_err(LoadingError::Failed)?;
    instance.initialize().await.map_err(LoadingError::Failed)?;
    let loaded = instance.load(module.into_files()).await.map_err(|error| match error {
        GuestError::OutOfTime { limit_ms, .. } => LoadingError::TooLong { limit_ms },
        error => LoadingError::Failed(error),
    })?;
    loaded.map_err(LoadingError::Rejected)?;
    let loaded = instance.save().await.map_err(LoadingError::Failed)?;
    Ok(NewImage::of(loaded, &new))
}
