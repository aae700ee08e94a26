//! The blobs that an attempt of an activity writes and reads.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_blobs::{BlobCheck, BlobError, BlobReference, BlobStore, BlobUpload};
use segno_core::promise::Promise;
use segno_guest::{ActivityBlobs, Failure};
use tokio::sync::Mutex;

use crate::{claim::ClaimSession, values::code};

/// Maximum number of open writers of an attempt.
const WRITERS_MAX: usize = 16;
/// Maximum number of blobs whose content is checked while an attempt reads them.
const CHECKS_MAX: usize = 16;

/// The blobs of one attempt. Writers that are open when it ends leave nothing.
pub(super) struct AttemptBlobs {
    session: Arc<ClaimSession>,
    /// The promise of the call, which says what the attempt may read.
    promise: Promise,
    open: Mutex<OpenBlobs>,
}

#[derive(Default)]
struct OpenBlobs {
    writers: BTreeMap<u32, BlobUpload>,
    /// Number of the next writer.
    next: u32,
    /// Blobs that are read in order, the last one last.
    checks: Vec<(String, BlobCheck)>,
}

impl AttemptBlobs {
    pub(super) fn new(session: Arc<ClaimSession>, promise: &Promise) -> Arc<Self> {
        Arc::new(Self { session, promise: promise.clone(), open: Mutex::default() })
    }

    fn store(&self) -> Result<&BlobStore, Failure> {
        self.session.active.advance(1);
        self.session.host().blobs().ok_or_else(segno_guest::no_blobs)
    }
}

#[async_trait]
impl ActivityBlobs for AttemptBlobs {
    async fn create(&self, content_type: &str) -> Result<u32, Failure> {
        let store = self.store()?;
        let mut open = self.open.lock().await;
        if open.writers.len() >= WRITERS_MAX {
            let message = format!(
                "an attempt has at most {WRITERS_MAX} blobs open for writing: finish or abandon one"
            );
            return Err(Failure { code: code::BAD_REQUEST, message, details: None });
        }
        let writer = store.create(self.promise.blob_owner(), content_type).map_err(failure)?;
        let number = open.next;
        open.next += 1;
        open.writers.insert(number, writer);
        Ok(number)
    }

    async fn write(&self, writer: u32, piece: &[u8]) -> Result<(), Failure> {
        self.store()?;
        let mut open = self.open.lock().await;
        let found = open.writers.get_mut(&writer).ok_or_else(|| not_open(writer))?;
        match found.write(piece).await {
            Ok(()) => Ok(()),
            Err(error) => {
                open.writers.remove(&writer);
                Err(failure(error))
            }
        }
    }

    async fn finish(&self, writer: u32) -> Result<String, Failure> {
        self.store()?;
        let found = self.open.lock().await.writers.remove(&writer);
        let blob = found.ok_or_else(|| not_open(writer))?.finish(None).await.map_err(failure)?;
        Ok(blob.to_json())
    }

    async fn abandon(&self, writer: u32) {
        self.open.lock().await.writers.remove(&writer);
    }

    async fn read(&self, reference: &str, offset: u64, length: u64) -> Result<Vec<u8>, Failure> {
        let store = self.store()?;
        let blob = BlobReference::from_json(reference).map_err(failure)?;
        if !self.promise.may_read_blobs_of(&blob.owner) {
            let message = format!(
                "`{}` was started with rights over other ids, and may not read blobs of `{}`",
                self.promise.id(),
                blob.owner
            );
            return Err(Failure { code: code::FORBIDDEN, message, details: None });
        }
        let from = offset.min(blob.bytes);
        let range = from..from.saturating_add(length).min(blob.bytes);
        let bytes = store.read_bytes(&blob, range).await.map_err(failure)?;
        let mut open = self.open.lock().await;
        let id = blob.id();
        let known = open.checks.iter().position(|(checked, _)| *checked == id);
        let (id, mut check) = match known {
            Some(place) => open.checks.remove(place),
            None => (id, BlobCheck::new(blob)),
        };
        let checked = check.add(offset, &bytes);
        if open.checks.len() >= CHECKS_MAX {
            open.checks.remove(0);
        }
        open.checks.push((id, check));
        checked.map_err(failure)?;
        Ok(bytes)
    }
}

fn not_open(writer: u32) -> Failure {
    let message =
        format!("the writer {writer} of a blob is not open: it was finished, abandoned, or failed");
    Failure { code: code::BAD_REQUEST, message, details: None }
}

fn failure(error: BlobError) -> Failure {
    Failure { code: error.code(), message: error.to_string(), details: None }
}
