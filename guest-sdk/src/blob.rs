//! Blobs: large values that are stored beside the database and passed by reference.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    attempt_operations::AttemptOperations,
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
};

/// Maximum size of one host call, in bytes.
const PART: usize = 1 << 20;

/// The reference of a blob: a large value that is stored beside the database.
///
/// It is passed as any value, or as a part of one: as input, result, signal, in a stream. Activities
/// write and read the content ([`ActivityContext::blobs`](crate::ActivityContext::blobs)). A blob
/// belongs to the root of the tree of executions in which it was written, and is removed with it.
///
/// ```
/// # extern crate segno_sdk as segno;
/// use segno::Blob;
///
/// #[segno::activity]
/// async fn render(ctx: segno::ActivityContext, pages: u32) -> segno::Result<Blob> {
///     ctx.blobs().write_pieces("text/plain", (0..pages).map(|page| format!("page {page}\n")))
/// }
///
/// #[segno::activity]
/// async fn count(ctx: segno::ActivityContext, document: Blob) -> segno::Result<usize> {
///     let mut lines = 0;
///     for piece in ctx.blobs().pieces(&document) {
///         lines += piece?.iter().filter(|byte| **byte == b'\n').count();
///     }
///     Ok(lines)
/// }
///
/// #[segno::workflow]
/// async fn publish(ctx: segno::Context, pages: u32) -> segno::Result<usize> {
///     let document = ctx.call(render, &pages).await?;
///     ctx.call(count, &document).await
/// }
///
/// let mut test = segno::testing::Test::new();
/// assert_eq!(test.run(publish, &3).unwrap(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Blob {
    #[serde(rename = "segno:blob")]
    id: String,
    bytes: u64,
    content_type: String,
}

/// The blobs of an attempt of an activity. Errors: 400 if this is no reference, 403 if the blob
/// belongs to an execution that this one may not read, 404 if there is no such blob, 413 if it is
/// too large, 422 if its content is damaged, 501 if the host has no place for blobs; these are not
/// retried, except 501. 503 if the place does not answer, which is retried.
#[derive(Clone, Copy)]
pub struct Blobs<'a>(&'a dyn AttemptOperations);

/// A blob that is being written. Dropped without [`finish`](Self::finish), it leaves nothing.
pub struct BlobWriter<'a> {
    blobs: Blobs<'a>,
    writer: u32,
    gathered: Vec<u8>,
    is_open: bool,
}

/// The content of a blob, in pieces.
pub struct BlobPieces<'a> {
    blobs: Blobs<'a>,
    blob: Blob,
    reference: String,
    next: u64,
    is_over: bool,
}

/// The operations on blobs of an attempt, implemented by the host or by a test. They block.
pub(crate) trait BlobOperations {
    fn create(&self, content_type: &str) -> Result<u32, wit::Failure>;
    fn write(&self, writer: u32, piece: &[u8]) -> Result<(), wit::Failure>;
    fn finish(&self, writer: u32) -> Result<String, wit::Failure>;
    fn abandon(&self, writer: u32);
    fn read(&self, reference: &str, offset: u64, length: u64) -> Result<Vec<u8>, wit::Failure>;
}

impl Blob {
    /// `INVOCATION/blob/DIGEST`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// SHA-256 of the content, in hexadecimal.
    pub fn digest(&self) -> &str {
        self.id.rsplit_once('/').map_or(&self.id, |(_, digest)| digest)
    }

    /// Size of the content, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Content type, such as `image/png`.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }
}

impl<'a> Blobs<'a> {
    pub(crate) fn new(attempt: &'a dyn AttemptOperations) -> Self {
        Self(attempt)
    }

    /// Begins a blob, which is written in pieces.
    ///
    /// # Errors
    /// See [`Blobs`]; 400 if more than 16 are open.
    pub fn create(&self, content_type: &str) -> Result<BlobWriter<'a>> {
        let writer = operations(self.0).create(content_type).map_err(Error::from_failure)?;
        Ok(BlobWriter { blobs: *self, writer, gathered: Vec::new(), is_open: true })
    }

    /// Stores bytes.
    ///
    /// # Errors
    /// See [`Blobs`].
    pub fn write(&self, content_type: &str, content: impl AsRef<[u8]>) -> Result<Blob> {
        self.write_pieces(content_type, [content])
    }

    /// Stores what an iterator yields.
    ///
    /// # Errors
    /// See [`Blobs`].
    pub fn write_pieces<P: AsRef<[u8]>>(
        &self,
        content_type: &str,
        pieces: impl IntoIterator<Item = P>,
    ) -> Result<Blob> {
        let mut writer = self.create(content_type)?;
        for piece in pieces {
            writer.write(piece)?;
        }
        writer.finish()
    }

    /// Stores what a reader reads.
    ///
    /// # Errors
    /// See [`Blobs`]; 500 if the reader fails.
    pub fn write_from(&self, content_type: &str, mut reader: impl io::Read) -> Result<Blob> {
        let mut writer = self.create(content_type)?;
        let mut piece = vec![0; PART];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => writer.write(&piece[..count])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let message = format!("the content of a blob was not read: {error}");
                    return Err(Error::retryable(message));
                }
            }
        }
        writer.finish()
    }

    /// Reads a whole blob. Read blobs that are larger than the guest's memory by
    /// [`pieces`](Self::pieces) or [`read_part`](Self::read_part).
    ///
    /// # Errors
    /// See [`Blobs`].
    pub fn read(&self, blob: &Blob) -> Result<Vec<u8>> {
        let mut content = Vec::with_capacity(usize::try_from(blob.bytes).unwrap_or(0).min(PART));
        for piece in self.pieces(blob) {
            content.extend(piece?);
        }
        Ok(content)
    }

    /// Reads a whole blob as text.
    ///
    /// # Errors
    /// See [`Blobs`]; 400 if it is not UTF-8.
    pub fn read_text(&self, blob: &Blob) -> Result<String> {
        String::from_utf8(self.read(blob)?).map_err(|error| {
            Error::terminal(Error::BAD_INPUT, format!("`{}` is not UTF-8: {error}", blob.id))
        })
    }

    /// Reads at most `length` bytes from `offset`; fewer if the host reads in smaller parts, and
    /// none at the end of the blob.
    ///
    /// # Errors
    /// See [`Blobs`].
    pub fn read_part(&self, blob: &Blob, offset: u64, length: u64) -> Result<Vec<u8>> {
        read(self.0, &reference(blob)?, offset, length)
    }

    /// The content of a blob, in pieces. The host compares it with its digest: damage is the error
    /// in place of the last piece.
    pub fn pieces(&self, blob: &Blob) -> BlobPieces<'a> {
        let (blobs, blob) = (*self, blob.clone());
        BlobPieces { blobs, blob, reference: String::new(), next: 0, is_over: false }
    }
}

impl BlobWriter<'_> {
    /// Adds bytes.
    ///
    /// # Errors
    /// See [`Blobs`]. The writer is of no use then.
    pub fn write(&mut self, piece: impl AsRef<[u8]>) -> Result<()> {
        let mut rest = piece.as_ref();
        while self.gathered.len() + rest.len() >= PART {
            let (now, later) = rest.split_at(PART - self.gathered.len());
            self.gathered.extend_from_slice(now);
            rest = later;
            self.flush_gathered()?;
        }
        self.gathered.extend_from_slice(rest);
        Ok(())
    }

    /// Stores the blob.
    ///
    /// # Errors
    /// See [`Blobs`].
    pub fn finish(mut self) -> Result<Blob> {
        self.flush_gathered()?;
        self.is_open = false;
        let json = operations(self.blobs.0).finish(self.writer).map_err(Error::from_failure)?;
        serde_json::from_str(&json).map_err(|error| {
            Error::terminal(Error::REFUSED, format!("the host's reference of a blob: {error}"))
        })
    }

    fn flush_gathered(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let written = operations(self.blobs.0).write(self.writer, &self.gathered);
        self.gathered.clear();
        written.map_err(Error::from_failure)
    }
}

impl Drop for BlobWriter<'_> {
    fn drop(&mut self) {
        if self.is_open {
            operations(self.blobs.0).abandon(self.writer);
        }
    }
}

impl Iterator for BlobPieces<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        if self.reference.is_empty() {
            match reference(&self.blob) {
                Ok(reference) => self.reference = reference,
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
        let piece = read(self.blobs.0, &self.reference, self.next, PART as u64);
        match &piece {
            Ok(piece) if piece.is_empty() => {
                self.is_over = true;
                return None;
            }
            Ok(piece) => {
                self.next += piece.len() as u64;
                self.is_over = self.next >= self.blob.bytes;
            }
            Err(_) => self.is_over = true,
        }
        Some(piece)
    }
}

fn read(
    attempt: &dyn AttemptOperations,
    reference: &str,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>> {
    operations(attempt).read(reference, offset, length).map_err(Error::from_failure)
}

fn reference(blob: &Blob) -> Result<String> {
    serde_json::to_string(blob).map_err(|error| {
        Error::terminal(Error::REFUSED, format!("the reference of a blob: {error}"))
    })
}

/// The operations of an attempt. A component has only those of the host, without a table of methods:
/// so it imports blobs only if it uses them, and runs on hosts that do not know them if not.
#[cfg(target_arch = "wasm32")]
fn operations(_: &dyn AttemptOperations) -> &'static dyn BlobOperations {
    &crate::host::HostBlobs
}

#[cfg(not(target_arch = "wasm32"))]
fn operations(attempt: &dyn AttemptOperations) -> &dyn BlobOperations {
    attempt.blobs()
}
