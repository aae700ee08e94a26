//! How functions of objects use them.

/// How a function of an object uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectAccess {
    /// It takes `&mut self`: one execution of a key at a time, in the order in which they were
    /// accepted.
    Exclusive,
    /// It takes `&self`: it only reads, and runs at once, beside other executions of the key.
    Shared,
}
