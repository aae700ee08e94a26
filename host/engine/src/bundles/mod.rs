//! Bundles: written from the contents of a store, and opened as a host of their own, in memory.
//! That host runs nothing and has no network. It replays with the same code as every host.

mod contents;
mod make;
mod open;

pub use contents::{BundleContents, ContentsError};
pub use make::{BundleMakeError, BundleOptions, make};
pub use open::{BundleOpenError, open};
