//! Bundles: written from the contents of a store, and opened as a host of their own, in memory.
//! That host runs nothing and has no network. It replays with the same code as every host.

mod contents;
mod make;
mod open;

pub use contents::{Contents, ContentsError};
pub use make::{BundleOptions, MakeError, make};
pub use open::{OpenError, open};
