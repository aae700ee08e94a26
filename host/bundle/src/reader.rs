//! Reads a bundle and rejects every byte that differs from the written ones, with its place.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
};

use segno_core::{
    id::{Digest, PromiseId},
    invocation::{Record, decode_records},
    value::Text,
};

use super::{
    BundleBlob, BundleError, BundleExecution, BundleHead, BundleLine, BundleModule, BundlePosition,
    BundleRole, BundleStream, BundleStreamItems, ChainLink, PartKind,
    blob::{BlobContent, references},
    chain::LINK_BYTES,
    execution::decoded,
    part::{FIRST_LINE, FIRST_LINE_BYTES, HEADER_BYTES, MAGIC, PartHeader, unpacked},
    pieces::ReadPieces,
    writer::{BundleTotals, TOTALS_FORMAT},
};

/// The maximum size of an unpacked bundle: the larger of the two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpackBounds {
    /// Bound as a multiple of the bytes read.
    pub expansion: u64,
    /// Bound in bytes, independent of the bytes read.
    pub bytes: u64,
}

impl Default for UnpackBounds {
    fn default() -> Self {
        Self { expansion: 256, bytes: 1 << 30 }
    }
}

/// An item after the head.
#[derive(Debug)]
pub enum BundleItem {
    /// An execution. The records, lines and streams that follow belong to it.
    Execution(Box<BundleExecution>),
    Record(Record),
    Line(BundleLine),
    /// A stream of the execution. The items that follow belong to it.
    Stream(BundleStream),
    StreamItems(BundleStreamItems),
    /// A module, with its component if the bundle has it.
    Module(BundleModule),
    /// The component of the preceding module, whose digest it matches.
    Component(Vec<u8>),
    /// A blob. The pieces that follow are its content; none follow if an earlier blob has it.
    Blob(BundleBlob),
    /// A piece of the content of the blob. The last one completes the digest.
    BlobPiece(Vec<u8>),
}

/// Returns true if a file with this beginning is a bundle of any format.
pub fn is_bundle(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// Reads the items of a bundle, in their order.
pub struct BundleReader<R> {
    from: R,
    bounds: UnpackBounds,
    head: BundleHead,
    link: ChainLink,
    pieces: ReadPieces,
    place: BundlePosition,
    /// Number of unpacked bytes so far.
    unpacked: u64,
    totals: BundleTotals,
    /// The execution whose records, lines and streams may follow, if its journal is in the bundle.
    of: Option<PromiseId>,
    /// The names of its streams.
    streams: BTreeSet<Text>,
    /// Set if items of a stream may follow: true for JSON messages.
    items_are_json: Option<bool>,
    seen: BTreeSet<PromiseId>,
    /// The preceding module, whose component may follow.
    module: Option<Digest>,
    /// The blobs that executions refer to, by id.
    references: BTreeMap<String, BundleBlob>,
    /// The ids and the digests of the blobs before, each with the size of its content.
    blobs: (BTreeSet<String>, BTreeMap<Digest, u64>),
    /// The blob whose pieces follow.
    content: Option<BlobContent>,
    ended: bool,
}

impl<R: Read> BundleReader<R> {
    /// Opens a bundle with the usual bounds.
    ///
    /// # Errors
    /// The file is not a bundle or has a newer format, or its head is damaged.
    pub fn begin(from: R) -> Result<Self, BundleError> {
        Self::bounded(from, UnpackBounds::default())
    }

    /// Opens a bundle with these bounds.
    ///
    /// # Errors
    /// Like [`BundleReader::begin`].
    pub fn bounded(mut from: R, bounds: UnpackBounds) -> Result<Self, BundleError> {
        first_line(&mut from)?;
        let at = FIRST_LINE.len() as u64;
        let place = BundlePosition { part: 0, at, end: at, kind: None, execution: None, record: 0 };
        let mut reader = Self {
            from,
            bounds,
            head: BundleHead {
                written_by: String::new(),
                made_at_ms: 0,
                tree: false,
                without_modules: false,
                redacted: None,
                engine: Default::default(),
                limits: Default::default(),
            },
            link: ChainLink::first(FIRST_LINE),
            pieces: ReadPieces::default(),
            place,
            unpacked: 0,
            totals: BundleTotals::default(),
            of: None,
            streams: BTreeSet::new(),
            items_are_json: None,
            seen: BTreeSet::new(),
            module: None,
            references: BTreeMap::new(),
            blobs: Default::default(),
            content: None,
            ended: false,
        };
        let (kind, body) = reader.part()?;
        if kind != PartKind::Head {
            return Err(reader.damaged("a bundle begins with its head"));
        }
        let head = serde_json::from_slice(&body);
        reader.head =
            head.map_err(|error| reader.damaged(format!("it is unreadable ({error})")))?;
        Ok(reader)
    }

    pub fn head(&self) -> &BundleHead {
        &self.head
    }

    /// The last link that was read. At the end, it identifies the whole bundle.
    pub fn seal(&self) -> ChainLink {
        self.link
    }

    /// The blobs that the executions so far refer to, by id. Those that the bundle carries are items.
    pub fn references(&self) -> impl Iterator<Item = &BundleBlob> {
        self.references.values()
    }

    /// Reads the next item. `None` at the end of a complete bundle.
    ///
    /// # Errors
    /// [`BundleError`] names the place of the damage. The items read before may be incomplete.
    pub fn next_item(&mut self) -> Result<Option<BundleItem>, BundleError> {
        if self.ended {
            return Ok(None);
        }
        let before = self.totals;
        let (kind, body) = self.part()?;
        let module = self.module.take();
        let items_are_json = self.items_are_json.take();
        if kind != PartKind::BlobPiece
            && let Some(content) = self.content.take()
        {
            content.end().map_err(|what| self.damaged(what))?;
        }
        if kind.may_refer() {
            self.references.extend(references(&body).map(|blob| (blob.id.clone(), blob)));
        }
        match kind {
            PartKind::Head => Err(self.damaged("there is a second head")),
            PartKind::Execution => self.execution(&body).map(Some),
            PartKind::Record => self.record(&body).map(Some),
            PartKind::Line => self.line(&body).map(Some),
            PartKind::Stream => self.stream(&body).map(Some),
            PartKind::StreamItems => self.stream_items(&body, items_are_json).map(Some),
            PartKind::Module => {
                let module = BundleModule::decode(&body).map_err(|what| self.damaged(what))?;
                self.of = None;
                self.module = Some(module.digest);
                Ok(Some(BundleItem::Module(module)))
            }
            PartKind::Component => match module {
                Some(digest) if Digest::of(&body) == digest => {
                    Ok(Some(BundleItem::Component(body)))
                }
                Some(digest) => {
                    Err(self.damaged(format!("its bytes do not have the digest {digest}")))
                }
                None => Err(self.damaged("it follows no module")),
            },
            PartKind::Blob => self.blob(&body).map(Some),
            PartKind::BlobPiece => {
                let Some(mut content) = self.content.take() else {
                    return Err(self.damaged("it follows no blob"));
                };
                content.add(&body).map_err(|what| self.damaged(what))?;
                self.content = Some(content);
                Ok(Some(BundleItem::BlobPiece(body)))
            }
            PartKind::End => self.end(&body, before).map(|()| None),
        }
    }

    fn execution(&mut self, body: &[u8]) -> Result<BundleItem, BundleError> {
        let execution = BundleExecution::decode(body).map_err(|what| self.damaged(what))?;
        let id = execution.id().clone();
        if !self.seen.insert(id.clone()) {
            return Err(self.damaged(format!("`{}` comes twice", id.as_str().escape_debug())));
        }
        self.totals.executions += 1;
        self.place.execution = Some(id.to_string());
        self.place.record = 0;
        self.streams.clear();
        self.of = (execution.role != BundleRole::Value).then_some(id);
        Ok(BundleItem::Execution(Box::new(execution)))
    }

    fn record(&mut self, body: &[u8]) -> Result<BundleItem, BundleError> {
        if self.of.is_none() {
            return Err(self.damaged("the record belongs to no execution"));
        }
        let records = decode_records(body).map_err(|error| self.damaged(error.to_string()))?;
        let Ok([record]) = <[Record; 1]>::try_from(records) else {
            return Err(self.damaged("a part holds one record"));
        };
        if record.seq != self.place.record {
            let expected = self.place.record;
            return Err(
                self.damaged(format!("found record {} in place of record {expected}", record.seq))
            );
        }
        self.place.record += 1;
        self.totals.records += 1;
        Ok(BundleItem::Record(record))
    }

    fn line(&mut self, body: &[u8]) -> Result<BundleItem, BundleError> {
        if self.of.is_none() {
            return Err(self.damaged("the line belongs to no execution"));
        }
        let line = BundleLine::decode(body).map_err(|what| self.damaged(what))?;
        self.totals.lines += 1;
        Ok(BundleItem::Line(line))
    }

    fn stream(&mut self, body: &[u8]) -> Result<BundleItem, BundleError> {
        if self.of.is_none() {
            return Err(self.damaged("the stream belongs to no execution"));
        }
        let stream = BundleStream::decode(body).map_err(|what| self.damaged(what))?;
        let name = stream.name.escape_debug();
        if stream.name.is_empty() || stream.name.contains('/') {
            return Err(self.damaged(format!("`{name}` is not the name of a stream")));
        }
        if !self.streams.insert(stream.name.clone()) {
            return Err(self.damaged(format!("the stream `{name}` comes twice")));
        }
        self.items_are_json = Some(stream.is_json());
        Ok(BundleItem::Stream(stream))
    }

    fn stream_items(
        &mut self,
        body: &[u8],
        are_json: Option<bool>,
    ) -> Result<BundleItem, BundleError> {
        let Some(are_json) = are_json else {
            return Err(self.damaged("the items belong to no stream"));
        };
        let items = BundleStreamItems::decode(body).map_err(|what| self.damaged(what))?;
        if !items.is_sound(are_json) {
            let what = format!("its data is not {} items", items.count);
            return Err(self.damaged(what));
        }
        self.items_are_json = Some(are_json);
        Ok(BundleItem::StreamItems(items))
    }

    fn blob(&mut self, body: &[u8]) -> Result<BundleItem, BundleError> {
        self.of = None;
        let (blob, repeats) = BundleBlob::decode(body).map_err(|what| self.damaged(what))?;
        let name = blob.id.escape_debug().to_string();
        let digest = blob.parts().map(|(_, digest)| digest).expect("it was decoded");
        if !self.blobs.0.insert(blob.id.clone()) {
            return Err(self.damaged(format!("the blob `{name}` comes twice")));
        }
        match self.blobs.1.get(&digest) {
            Some(bytes) if repeats && *bytes == blob.bytes => {}
            None if !repeats => {
                self.blobs.1.insert(digest, blob.bytes);
                self.content = Some(BlobContent::new(blob.clone(), digest));
            }
            Some(_) | None => {
                let what = format!("the content of the blob `{name}` is not where it says");
                return Err(self.damaged(what));
            }
        }
        Ok(BundleItem::Blob(blob))
    }

    fn end(&mut self, body: &[u8], before: BundleTotals) -> Result<(), BundleError> {
        let totals: BundleTotals =
            decoded(TOTALS_FORMAT, body).map_err(|what| self.damaged(what))?;
        if totals != before {
            return Err(self.damaged(format!(
                "it counts {} parts, {} executions, {} records and {} lines, and there are {}, {}, {} and {}",
                totals.parts,
                totals.executions,
                totals.records,
                totals.lines,
                before.parts,
                before.executions,
                before.records,
                before.lines
            )));
        }
        let mut more = [0];
        if read(&mut self.from, &mut more)? > 0 {
            self.place.at = self.place.end;
            self.place.end += 1;
            return Err(self.damaged("there are more bytes after the end"));
        }
        self.ended = true;
        Ok(())
    }

    /// Reads the next part and verifies its bytes against the chain.
    fn part(&mut self) -> Result<(PartKind, Vec<u8>), BundleError> {
        self.place.part += 1;
        self.place.at = self.place.end;
        self.place.kind = None;
        let mut bytes = [0; HEADER_BYTES];
        self.fill(&mut bytes)?;
        let header = PartHeader::read(bytes).map_err(|what| self.damaged(what))?;
        self.place.kind = Some(header.kind);
        let mut stored = Vec::new();
        // Memory is allocated as bytes arrive, not as a damaged length claims.
        let came = (&mut self.from).take(header.length.into()).read_to_end(&mut stored)?;
        self.place.end += came as u64;
        if came < header.length as usize {
            return Err(self.cut());
        }
        let mut link = [0; LINK_BYTES];
        self.fill(&mut link)?;
        let expected = self.link.next(&bytes, &stored);
        if link != expected.0 {
            return Err(self.damaged(
                "a byte here is not the one that was written, or a part is missing or moved (the hash chain breaks)",
            ));
        }
        self.link = expected;
        self.check_expansion(header.size)?;
        let body = unpacked(header, stored, &mut self.pieces);
        let body = body.map_err(|what| self.damaged(what))?;
        self.totals.parts += 1;
        Ok((header.kind, body))
    }

    /// Checks the unpacked size so far against the number of bytes read.
    fn check_expansion(&mut self, size: u32) -> Result<(), BundleError> {
        self.unpacked += u64::from(size);
        let UnpackBounds { expansion, bytes } = self.bounds;
        let read = self.place.end;
        if self.unpacked <= bytes.max(read.saturating_mul(expansion)) {
            return Ok(());
        }
        Err(BundleError::TooLarge {
            place: Box::new(self.place.clone()),
            what: format!(
                "{read} bytes of it are {}, which is more than {expansion} times as much",
                self.unpacked
            ),
        })
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), BundleError> {
        let came = read(&mut self.from, buffer)?;
        self.place.end += came as u64;
        if came < buffer.len() { Err(self.cut()) } else { Ok(()) }
    }

    fn cut(&self) -> BundleError {
        self.damaged("the file ends in the middle")
    }

    fn damaged(&self, what: impl Into<String>) -> BundleError {
        BundleError::Damaged { place: Box::new(self.place.clone()), what: what.into() }
    }
}

/// Reads the first line and not one byte more.
fn first_line(from: &mut impl Read) -> Result<(), BundleError> {
    let mut line = Vec::with_capacity(FIRST_LINE_BYTES);
    let mut byte = [0];
    while line.last() != Some(&b'\n') && line.len() < FIRST_LINE_BYTES {
        if read(from, &mut byte)? == 0 {
            break;
        }
        line.push(byte[0]);
    }
    if line == FIRST_LINE {
        return Ok(());
    }
    let number = line.strip_prefix(MAGIC).and_then(|rest| rest.strip_suffix(b"\n"));
    let number =
        number.filter(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit));
    if let Some(digits) = number {
        return Err(BundleError::Newer { found: String::from_utf8_lossy(digits).into_owned() });
    }
    match FIRST_LINE.starts_with(&line) && line.len() >= MAGIC.len() {
        true => Err(BundleError::Damaged {
            place: Box::new(BundlePosition {
                part: 0,
                at: 0,
                end: line.len() as u64,
                kind: None,
                execution: None,
                record: 0,
            }),
            what: "the file ends in the middle".to_owned(),
        }),
        false => Err(BundleError::NotABundle),
    }
}

/// Reads up to the length of the buffer, or to the end.
fn read(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
