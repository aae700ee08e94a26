//! A module that is compiled or loaded, ready to be instantiated.

use std::sync::Arc;

use segno_core::id::Digest;
use tokio::sync::OnceCell;
use wasmtime::component::Component;

use super::{
    GuestError, activity::ActivityState, described::ComponentDescription, engine::GuestEngine,
    exports::LinkedComponent, interpreter::SourceLines, link, loading_error::LoadingError,
    pool::ModuleShare, snapshot::ModuleImage, workflow::WorkflowState,
};

/// The reason that a module could not be prepared.
pub(super) enum LoadError {
    /// The component does not validate or compile.
    Compile(String),
    /// An import or export does not match.
    Link { component: Component, reason: String },
    /// An instance would not fit into the pool.
    Share(String),
    /// The sources of the module cannot be loaded.
    Sources(LoadingError),
    /// The host failed; nothing is known about the module.
    Host(GuestError),
}

impl From<LoadError> for GuestError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Compile(reason)
            | LoadError::Link { reason, .. }
            | LoadError::Share(reason) => Self::Host(reason),
            LoadError::Sources(error) => Self::Host(error.to_string()),
            LoadError::Host(error) => error,
        }
    }
}

/// A module, ready to be instantiated.
pub(super) struct LoadedModule {
    pub(super) component: Component,
    /// The memory with which each instance begins. `None` for a module that is a component.
    pub(super) image: Option<Arc<ModuleImage>>,
    /// The places of its bundle in the author's sources. `None` if it is no bundle.
    pub(super) lines: Option<Arc<SourceLines>>,
    /// The module's share of places in the pool.
    pub(super) share: ModuleShare,
    /// True if the module imports any WASI interface.
    pub(super) wasi: bool,
    /// Linked without I/O.
    pub(super) workflow: LinkedComponent<WorkflowState>,
    /// Linked with I/O: without directories, and with them.
    activities: [OnceCell<LinkedComponent<ActivityState>>; 2],
    /// The module's self-description, cached after the first request.
    pub(super) described: OnceCell<Arc<ComponentDescription>>,
}

impl LoadedModule {
    /// Links `component`. An error names the mismatch.
    pub(super) fn link(
        engine: &GuestEngine,
        digest: Digest,
        component: Component,
    ) -> Result<Self, LoadError> {
        let workflow = match link::for_workflows(&component) {
            Ok(workflow) => workflow,
            Err(error) => {
                return Err(LoadError::Link { component, reason: format!("{error:#}") });
            }
        };
        let share = engine.share(digest, &component).map_err(LoadError::Share)?;
        let wasi = link::needs_wasi(&component);
        Ok(Self {
            component,
            image: None,
            lines: None,
            share,
            wasi,
            workflow,
            activities: [OnceCell::new(), OnceCell::new()],
            described: OnceCell::new(),
        })
    }

    /// The module that this runtime is, once it has loaded its sources.
    pub(super) fn with_sources(
        &self,
        engine: &GuestEngine,
        digest: Digest,
        image: ModuleImage,
        lines: Option<SourceLines>,
    ) -> Result<Self, LoadError> {
        let component = self.component.clone();
        let share = engine.share(digest, &component).map_err(LoadError::Share)?;
        Ok(Self {
            component,
            image: Some(Arc::new(image)),
            lines: lines.map(Arc::new),
            share,
            wasi: self.wasi,
            workflow: self.workflow.clone(),
            activities: self.activities.clone(),
            described: OnceCell::new(),
        })
    }

    /// The module linked for activities, with real directories or with refusing ones.
    pub(super) async fn activity(
        &self,
        directories: bool,
    ) -> Result<&LinkedComponent<ActivityState>, GuestError> {
        self.activities[usize::from(directories)]
            .get_or_try_init(|| async { link::for_activities(&self.component, directories) })
            .await
            .map_err(|error| GuestError::Host(format!("{error:#}")))
    }
}
