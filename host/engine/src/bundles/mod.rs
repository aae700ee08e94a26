//! Bundles: made from what a store holds, and opened as a host of their own, in memory, which runs
//! nothing, reaches nothing and replays with the code that every host replays with.

mod contents;
mod make;
mod open;

pub use contents::{Contents, ContentsError};
pub use make::{BundleOptions, MakeError, make};
pub use open::{OpenError, open};
