//! Reasons why the sources of a module cannot be loaded.

use segno_core::{id::Digest, source_module::SourceModuleError};

use super::GuestError;

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
