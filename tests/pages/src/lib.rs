//! The examples in the documents for authors of functions, compiled and run as doc tests of one
//! program.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/sdk.md")]
mod sdk {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/blobs.md")]
mod blobs {}
