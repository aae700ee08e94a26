//! Writes a bundle.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use segno_core::{
    id::Digest,
    invocation::{Record, RecordBody, encode_records},
};
use serde::{Deserialize, Serialize};

use super::{
    BundleBlob, BundleError, BundleExecution, BundleHead, BundleLine, BundleModule, BundleStream,
    BundleStreamItems, ChainLink, PartKind,
    blob::{PIECE_BYTES_MAX, references},
    part::{EncodedPart, FIRST_LINE},
    pieces::WrittenPieces,
};

/// The counts in the last part of a bundle.
///
/// ```text
/// end = format: u8 (1), then in postcard: parts: u64 (all before it), executions: u64, records: u64, lines: u64
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BundleTotals {
    pub(crate) parts: u64,
    pub(crate) executions: u64,
    pub(crate) records: u64,
    pub(crate) lines: u64,
}

pub(crate) const TOTALS_FORMAT: u8 = 1;

/// The summary of a written bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleSummary {
    /// Number of executions, and of promises whose values journals refer to.
    pub executions: u64,
    /// Number of records in their journals.
    pub records: u64,
    /// The last link, which identifies the whole bundle.
    pub seal: ChainLink,
}

/// Writes the parts of a bundle, in their order: executions, each followed by its records,
/// lines and streams; modules; blobs; the end.
pub struct BundleWriter<W> {
    out: W,
    link: ChainLink,
    totals: BundleTotals,
    modules: BTreeSet<Digest>,
    pieces: WrittenPieces,
    /// The blobs that were referred to since the references were last taken, by id.
    references: BTreeMap<String, BundleBlob>,
    /// The digests of the blobs.
    blobs: BTreeSet<Digest>,
}

impl<W: Write> BundleWriter<W> {
    /// Starts a bundle with its first line and head.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn begin(mut out: W, head: &BundleHead) -> Result<Self, BundleError> {
        out.write_all(FIRST_LINE)?;
        let link = ChainLink::first(FIRST_LINE);
        let (totals, modules) = (BundleTotals::default(), BTreeSet::new());
        let (pieces, references) = (WrittenPieces::default(), BTreeMap::new());
        let blobs = BTreeSet::new();
        let mut writer = Self { out, link, totals, modules, pieces, references, blobs };
        let head = serde_json::to_vec(head).map_err(std::io::Error::from)?;
        writer.part(PartKind::Head, &head)?;
        Ok(writer)
    }

    /// Adds an execution. The records, lines and streams that follow belong to it.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn execution(&mut self, execution: &BundleExecution) -> Result<(), BundleError> {
        self.modules.extend(execution.task.as_ref().and_then(|task| task.module));
        self.totals.executions += 1;
        self.part(PartKind::Execution, &execution.encode())
    }

    /// Adds the next record of the execution.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn record(&mut self, record: &Record) -> Result<(), BundleError> {
        if let RecordBody::Started { module, .. } = &record.body {
            self.modules.insert(*module);
        }
        self.totals.records += 1;
        self.part(PartKind::Record, &encode_records([record]))
    }

    /// Adds the next line of the execution.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn line(&mut self, line: &BundleLine) -> Result<(), BundleError> {
        self.totals.lines += 1;
        self.part(PartKind::Line, &line.encode())
    }

    /// Adds the next stream of the execution. The items that follow belong to it.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn stream(&mut self, stream: &BundleStream) -> Result<(), BundleError> {
        self.part(PartKind::Stream, &stream.encode())
    }

    /// Adds the next items of the stream.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn stream_items(&mut self, items: &BundleStreamItems) -> Result<(), BundleError> {
        self.part(PartKind::StreamItems, &items.encode())
    }

    /// The modules that the executions run on, and that their journals began on.
    pub fn modules(&self) -> &BTreeSet<Digest> {
        &self.modules
    }

    /// Adds a module, with its component unless that is left out.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn module(
        &mut self,
        module: &BundleModule,
        component: Option<&[u8]>,
    ) -> Result<(), BundleError> {
        self.part(PartKind::Module, &module.encode())?;
        match component {
            Some(component) => self.part(PartKind::Component, component),
            None => Ok(()),
        }
    }

    /// Takes the references of blobs in what was written since the last call.
    pub fn take_references(&mut self) -> impl Iterator<Item = BundleBlob> {
        std::mem::take(&mut self.references).into_values()
    }

    /// Adds a blob. Returns true if its content follows, and false if an earlier blob has it.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn blob(&mut self, blob: &BundleBlob) -> Result<bool, BundleError> {
        let is_new = blob.parts().is_none_or(|(_, digest)| self.blobs.insert(digest));
        self.part(PartKind::Blob, &blob.encode(!is_new))?;
        Ok(is_new)
    }

    /// Adds bytes to the content of the blob.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn blob_content(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        let mut pieces = bytes.chunks(PIECE_BYTES_MAX as usize);
        pieces.try_for_each(|piece| self.part(PartKind::BlobPiece, piece))
    }

    /// Completes the bundle with the part that counts its contents.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn end(mut self) -> Result<(W, BundleSummary), BundleError> {
        let totals = self.totals;
        let body = postcard::to_extend(&totals, vec![TOTALS_FORMAT]);
        self.part(PartKind::End, &body.expect("numbers are nothing that postcard refuses"))?;
        self.out.flush()?;
        let BundleTotals { executions, records, .. } = totals;
        Ok((self.out, BundleSummary { executions, records, seal: self.link }))
    }

    fn part(&mut self, kind: PartKind, body: &[u8]) -> Result<(), BundleError> {
        if kind.may_refer() {
            self.references.extend(references(body).map(|blob| (blob.id.clone(), blob)));
        }
        let part = EncodedPart::new(kind, body, self.link, &mut self.pieces);
        let part = part.ok_or(BundleError::Oversized)?;
        self.out.write_all(&part.bytes)?;
        self.link = part.link;
        self.totals.parts += 1;
        Ok(())
    }
}
