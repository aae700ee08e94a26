//! Blobs of activities. In workflows these imports refuse.

use async_trait::async_trait;

use super::{
    Failure,
    bindings::segno::workflow::blobs,
    workflow::{WorkflowState, for_activities},
};

/// The blobs of one attempt of an activity.
#[async_trait]
pub trait ActivityBlobs: Send + Sync {
    /// Begins a blob, and returns the number of its writer.
    ///
    /// # Errors
    /// A failure for the guest, as of the other functions.
    async fn create(&self, content_type: &str) -> Result<u32, Failure>;

    /// Adds bytes. Waits while they are sent.
    ///
    /// # Errors
    /// A failure for the guest. The writer is closed then.
    async fn write(&self, writer: u32, piece: &[u8]) -> Result<(), Failure>;

    /// Stores the blob, and returns its reference as JSON.
    ///
    /// # Errors
    /// A failure for the guest.
    async fn finish(&self, writer: u32) -> Result<String, Failure>;

    /// Drops what was written.
    async fn abandon(&self, writer: u32);

    /// Reads a range. Bytes that are read in order are checked with the last of them.
    ///
    /// # Errors
    /// A failure for the guest.
    async fn read(&self, reference: &str, offset: u64, length: u64) -> Result<Vec<u8>, Failure>;
}

/// The failure of a host that has no place for blobs.
pub fn no_blobs() -> Failure {
    let message =
        "this host has no place for blobs: its operator gives it one with `serve --blobs`";
    Failure { code: 501, message: message.to_owned(), details: None }
}

const INSTEAD: &str = "pass the reference of the blob, and let an activity read or write it";

/// Declares the functions of `blobs`, which refuse in workflows.
macro_rules! no_blobs_in_workflows {
    ($($function:ident($($type:ty),*) -> $answer:ty;)*) => {
        impl blobs::Host for WorkflowState {
            $(async fn $function(&mut self, $(_: $type),*) -> wasmtime::Result<$answer> {
                Err(for_activities(&format!("blobs.{}", stringify!($function)), INSTEAD))
            })*
        }
    };
}

no_blobs_in_workflows! {
    create(String) -> Result<u32, Failure>;
    write(u32, Vec<u8>) -> Result<(), Failure>;
    finish(u32) -> Result<String, Failure>;
    abandon(u32) -> ();
    read(String, u64, u64) -> Result<Vec<u8>, Failure>;
}
