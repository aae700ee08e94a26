//! Exclusive and shared access to objects.

/// The access of a function to its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectAccess {
    /// Takes `&mut self`: one execution per key at a time, in the order of acceptance.
    Exclusive,
    /// Takes `&self`: only reads, and runs immediately, concurrently with other executions of the
    /// key.
    Shared,
}
