//! What may be sent to the workflows of a component, if it says so.

use wasmtime::component::{ComponentType, Lift};

/// A promise that a workflow awaits, or a signal that it receives.
#[derive(Debug, Clone, PartialEq, ComponentType, Lift)]
#[component(record)]
pub struct MessageDescription {
    /// The workflow.
    pub function: String,
    /// What it is.
    pub kind: MessageKind,
    /// The name of the promise or signal.
    pub name: String,
    /// A JSON schema as text.
    pub schema: String,
}

/// The kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum MessageKind {
    /// A promise, settled from outside.
    #[component(name = "promise")]
    Promise,
    /// A signal.
    #[component(name = "signal")]
    Signal,
}
