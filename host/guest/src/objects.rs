//! Which functions of a component are functions of objects, if it says so.

use wasmtime::component::{ComponentType, Lift};

/// A function of an object.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct ObjectFunction {
    /// The function, `OBJECT/FUNCTION`.
    pub function: String,
    /// How it uses the object.
    pub access: ObjectAccess,
}

/// How a function uses the object that it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum ObjectAccess {
    /// It reads and writes.
    #[component(name = "exclusive")]
    Exclusive,
    /// It only reads.
    #[component(name = "shared")]
    Shared,
}
