//! The client of the API, for the command line, the demo and the tests. Each request is a method of
//! [`Client`] and fails with a [`ClientError`].

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod blobs;
mod bundles;
mod error;
mod events;
mod graphs;
mod http;
mod invocations;
mod limits;
mod lists;
mod local;
mod modules;
mod objects;
mod promises;
mod reference;
mod rerun;
mod resources;
mod schedules;
mod streams;
mod tasks;

pub use self::http::Client;
pub use blobs::BlobDownload;
pub use bundles::BundleDownload;
pub use error::ClientError;
pub use lists::without_missing;
pub use local::LocalHost;
pub use reference::{
    FunctionReference, PromiseReference, QueryReference, SignalReference, UpdateReference,
};
pub use rerun::{RerunGroup, RerunSums};
pub use streams::StreamData;
