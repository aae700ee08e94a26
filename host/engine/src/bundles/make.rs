//! Makes a bundle of executions of a store.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use futures::TryStreamExt as _;
use segno_blobs::{BlobError, BlobStore};
use segno_bundle::{
    BundleBlob, BundleError, BundleExecution, BundleHead, BundleItem, BundleLine, BundleModule,
    BundleRole, BundleStream, BundleStreamItems, BundleSummary, BundleWriter, Redaction, redacted,
};
use segno_core::{
    id::{Digest, PromiseId},
    invocation::{LogLevel, Record},
    promise::Promise,
    source_module::SourceModule,
    stream::{DurableStream, StreamChunk},
    value::Text,
};
use segno_store::{
    GatherError, GatherReason, GatherSelection, GatherSink, LogRow, ModuleRow, PromiseRow,
    StoreError,
};

use crate::host::Host;

/// The options of a bundle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BundleOptions {
    /// Hides values and keeps their shapes.
    pub redact: bool,
    /// Leaves the components out. A reader who has them can replay with their own copies.
    pub without_modules: bool,
    /// Carries the content of the blobs that the executions refer to. Values that are hidden have none.
    pub blobs: bool,
}

/// The reason why a bundle was not made. The output is then incomplete, and every reader refuses
/// it.
#[derive(Debug, thiserror::Error)]
pub enum BundleMakeError {
    /// The executions could not be read.
    #[error(transparent)]
    Gather(#[from] GatherError),
    /// A module could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A blob could not be read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The bundle could not be written.
    #[error("the bundle cannot be written: {0}")]
    Write(#[from] BundleError),
}

/// Writes a bundle of the executions in `selection` to `out`. All are read as of one instant.
///
/// # Errors
/// [`BundleMakeError`].
pub async fn make<W: Write + Send>(
    host: &Host,
    selection: &GatherSelection,
    options: BundleOptions,
    out: W,
) -> Result<(W, BundleSummary), BundleMakeError> {
    let head = BundleHead {
        written_by: format!("segno {}", env!("CARGO_PKG_VERSION")),
        made_at_ms: host.env.clock.now().0,
        tree: selection.tree,
        without_modules: options.without_modules,
        redacted: options.redact.then(Redaction::usual),
        engine: host.guests.engine_facts(),
        limits: limits(host),
    };
    let writer = BundleWriter::begin(out, &head)?;
    let mut sink = BundleSink::new(writer, options.redact);
    host.store.scan().gather(selection, &mut sink).await?;
    let BundleSink { mut writer, blobs, .. } = sink;
    modules(host, options, &mut writer).await?;
    if let Some(store) = host.blobs().filter(|_| options.blobs) {
        carry(store, &blobs, &mut writer).await?;
    }
    Ok(writer.end()?)
}

/// The limits of the host's guests, by name.
fn limits(host: &Host) -> BTreeMap<String, u64> {
    let limits = host.guests.limits().and_then(|limits| serde_json::to_value(limits).ok());
    let fields = limits.as_ref().and_then(serde_json::Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_u64()?))).collect()
}

async fn modules<W: Write>(
    host: &Host,
    options: BundleOptions,
    writer: &mut BundleWriter<W>,
) -> Result<(), BundleMakeError> {
    let known = host.store.modules().list().await?;
    let known: BTreeMap<Digest, &ModuleRow> = known.iter().map(|row| (row.digest, row)).collect();
    let mut digests = writer.modules().clone();
    for digest in digests.clone() {
        // The runtime of a source module goes along.
        let component = host.store.modules().component(digest).await?;
        digests.extend(component.and_then(|component| SourceModule::runtime_of(&component)));
    }
    for digest in digests {
        let row = known.get(&digest);
        let module = BundleModule {
            digest,
            size: row.map_or(0, |row| row.size),
            created_at: row.map(|row| row.created_at).unwrap_or_default(),
            aliases: row.map(|row| row.aliases.clone()).unwrap_or_default(),
            description: row.map_or_else(|| "{}".to_owned(), |row| row.description.clone()),
        };
        let component = match options.without_modules {
            true => None,
            false => host.store.modules().component(digest).await?,
        };
        writer.module(&module, component.as_deref())?;
    }
    Ok(())
}

/// Writes the blobs that are stored, in pieces. One that is absent stays a reference.
async fn carry<W: Write>(
    store: &BlobStore,
    blobs: &BTreeMap<String, BundleBlob>,
    writer: &mut BundleWriter<W>,
) -> Result<(), BundleMakeError> {
    for blob in blobs.values() {
        let Some((owner, digest)) = blob.parts() else { continue };
        let found = match store.find(&owner, digest).await {
            Ok(found) => found.blob,
            Err(BlobError::Absent(_) | BlobError::LongId(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let (bytes, content_type) = (found.bytes, found.content_type.clone());
        if !writer.blob(&BundleBlob { id: blob.id.clone(), bytes, content_type })? {
            continue;
        }
        let mut pieces = store.read_whole(&found).await?;
        while let Some(piece) = pieces.try_next().await? {
            writer.blob_content(&piece)?;
        }
    }
    Ok(())
}

/// Writes gathered rows to the bundle.
struct BundleSink<W> {
    writer: BundleWriter<W>,
    redact: bool,
    /// The execution whose rows arrive.
    execution: Option<Promise>,
    /// The blobs that executions refer to and may read, by id.
    blobs: BTreeMap<String, BundleBlob>,
}

impl<W: Write> BundleSink<W> {
    fn new(writer: BundleWriter<W>, redact: bool) -> Self {
        Self { writer, redact, execution: None, blobs: BTreeMap::new() }
    }

    fn item(&mut self, item: BundleItem) -> io::Result<()> {
        let item = if self.redact { redacted(item) } else { item };
        let written = match &item {
            BundleItem::Execution(execution) => self.writer.execution(execution),
            BundleItem::Record(record) => self.writer.record(record),
            BundleItem::Line(line) => self.writer.line(line),
            BundleItem::Stream(stream) => self.writer.stream(stream),
            BundleItem::StreamItems(items) => self.writer.stream_items(items),
            BundleItem::Module(_)
            | BundleItem::Component(_)
            | BundleItem::Blob(_)
            | BundleItem::BlobPiece(_) => Ok(()),
        };
        let may_read = |owner: &PromiseId| {
            self.execution.as_ref().is_some_and(|promise| promise.may_read_blobs_of(owner))
        };
        let read = self
            .writer
            .take_references()
            .filter(|blob| blob.parts().is_some_and(|(owner, _)| may_read(&owner)));
        self.blobs.extend(read.map(|blob| (blob.id.clone(), blob)));
        written.map_err(|error| match error {
            BundleError::File(error) => error,
            error => io::Error::other(error),
        })
    }
}

impl<W: Write + Send> GatherSink for BundleSink<W> {
    fn promise(&mut self, row: PromiseRow, because: GatherReason) -> io::Result<()> {
        let role = match because {
            GatherReason::Asked => BundleRole::Asked,
            GatherReason::Member => BundleRole::Member,
            GatherReason::Value => BundleRole::Value,
        };
        let PromiseRow { promise, task } = row;
        self.execution = Some(promise.clone());
        self.item(BundleItem::Execution(Box::new(BundleExecution { role, promise, task })))
    }

    fn records(&mut self, records: Vec<Record>) -> io::Result<()> {
        records.into_iter().try_for_each(|record| self.item(BundleItem::Record(record)))
    }

    fn lines(&mut self, lines: Vec<LogRow>) -> io::Result<()> {
        lines.into_iter().try_for_each(|row| {
            let number = row.level.saturating_add(LogLevel::Trace.number());
            let level = LogLevel::from_number(number).unwrap_or(LogLevel::Info);
            let message = Text::from(row.message);
            self.item(BundleItem::Line(BundleLine { at: row.at, level, message }))
        })
    }

    fn stream(&mut self, stream: DurableStream) -> io::Result<()> {
        self.item(BundleItem::Stream(BundleStream::from(stream)))
    }

    fn stream_items(&mut self, items: Vec<StreamChunk>) -> io::Result<()> {
        let items = items.into_iter().map(BundleStreamItems::from);
        items.into_iter().try_for_each(|items| self.item(BundleItem::StreamItems(items)))
    }
}
