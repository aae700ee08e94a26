//! Operations of the host that an attempt of an activity may call.

use crate::{
    bindings::segno::workflow::{http_bodies::ResponseHead, types as wit},
    files::FileSystem,
    payload::Payload,
};

/// The operations of an attempt, implemented by the host or by a test. They block.
pub(crate) trait AttemptOperations: Send + Sync {
    fn heartbeat(&self, progress: Option<&Payload>) -> bool;
    fn http(&self, request: &wit::HttpRequest) -> Result<wit::HttpResponse, wit::Failure>;
    fn http_open(&self, request: &wit::HttpRequest) -> Result<ResponseHead, wit::Failure>;
    fn http_read(&self, response: u32, limit: u32) -> Result<Vec<u8>, wit::Failure>;
    fn http_close(&self, response: u32);
    fn log(&self, level: wit::Level, message: &str);
    fn env(&self, name: &str) -> Result<String, wit::Failure>;
    fn secret(&self, name: &str) -> Result<String, wit::Failure>;
    fn cost(&self, unit: &str, millionths: u64) -> Result<(), wit::Failure>;
    fn stream_kept(&self, name: &str) -> Result<u64, wit::Failure>;
    fn stream_append(
        &self,
        name: &str,
        content_type: &str,
        item: &Payload,
    ) -> Result<(), wit::Failure>;
    fn files(&self) -> &dyn FileSystem;
    #[cfg(not(target_arch = "wasm32"))]
    fn blobs(&self) -> &dyn crate::blob::BlobOperations;
}
