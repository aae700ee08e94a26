//! Blobs: large values beside the database, in a directory or in an S3 bucket.
//!
//! A blob belongs to an *owner*, the root of a tree of executions, and is stored under its own key
//! for each owner, even if another owner stored the same content. An upload therefore does not show
//! whether others have the content, and uses are not counted: removing an owner removes its key.
//!
//! Keys, below the prefix of the place (module `key`):
//!
//! ```text
//! order-1001/9f86d0…/5-text_2fplain       a blob of the execution `order-1001`
//! _uploads/6f2c11d09e3a4b57               an upload that has not ended
//! ```
//!
//! The crate knows no executions and no protocol.

#![forbid(unsafe_code)]

mod check;
mod error;
mod key;
mod local;
mod place;
mod reference;
mod s3;
mod store;
mod sweep;
mod upload;

pub use check::BlobCheck;
pub use error::BlobError;
pub use place::{BlobOpenError, BlobPlace, BlobSettings, DEFAULT_BYTES_MAX};
pub use reference::{BlobReference, DEFAULT_CONTENT_TYPE};
pub use store::{BlobStore, StoredBlob};
pub use sweep::OwnerAge;
pub use upload::BlobUpload;

#[cfg(test)]
mod tests;
