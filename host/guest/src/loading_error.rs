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
    /// The code outside of functions does not end.
    #[error(
        "the code outside of functions did not end within {limit_ms} ms of CPU time: it runs once, while the sources are loaded; look for an endless loop at the top of a file, or raise `limits.cpu_ms`"
    )]
    TooLong { limit_ms: u64 },
    /// Loading trapped, or left something open.
    #[error("the sources cannot be loaded: {0}")]
    Failed(GuestError),
}
