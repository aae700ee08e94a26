//! The functions of objects that a component describes.

use wasmtime::component::{ComponentType, Lift};

/// A function of an object.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct ObjectFunction {
    /// The function's name, `OBJECT/FUNCTION`.
    pub function: String,
    /// The access to the object.
    pub access: ObjectAccess,
}

/// The access of a function to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum ObjectAccess {
    /// Reads and writes.
    #[component(name = "exclusive")]
    Exclusive,
    /// Only reads.
    #[component(name = "shared")]
    Shared,
}
