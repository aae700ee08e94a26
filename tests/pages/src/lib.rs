//! The examples of the documents for authors of functions, compiled and run as doc tests, all in one
//! program.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/sdk.md")]
mod sdk {}
