//! The promises and signals that a component describes for its workflows.

use wasmtime::component::{ComponentType, Lift};

/// A promise that a workflow awaits, or a signal that it receives.
#[derive(Debug, Clone, PartialEq, ComponentType, Lift)]
#[component(record)]
pub struct MessageDescription {
    /// Name of the workflow.
    pub function: String,
    /// Promise or signal.
    pub kind: NamedMessageKind,
    pub name: String,
    /// JSON schema of the value, as text.
    pub schema: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum NamedMessageKind {
    #[component(name = "promise")]
    Promise,
    #[component(name = "signal")]
    Signal,
}
