//! The parts of a bundle, in their file layout.
//!
//! ```text
//! bundle = SEGNO BUNDLE 1\n, then parts; the first is the head, the last is the end
//! part   = kind: u8
//!          packing: u8                    0: as it is; 1: an LZ4 block; 2: pieces, see the module `pieces`
//!          length: u32, little endian     bytes of the stored body
//!          size: u32, little endian       bytes of the body once it is unpacked
//!          body                           `length` bytes
//!          link                           32 bytes, see the module `chain`
//! ```

use super::{
    blob::PIECE_BYTES_MAX,
    chain::ChainLink,
    pieces::{CUT_ABOVE, ReadPieces, WrittenPieces},
};

/// The format written by this version. A bundle of a released version stays readable for ever: a
/// new format gets a new number, and golden files test the old ones.
pub const FORMAT: u32 = 1;

/// The first line of a bundle in the current format.
pub(crate) const FIRST_LINE: &[u8] = b"SEGNO BUNDLE 1\n";
/// The beginning of a bundle of any format.
pub(crate) const MAGIC: &[u8] = b"SEGNO BUNDLE ";
/// Maximum length of the first line in any format, in bytes.
pub(crate) const FIRST_LINE_BYTES: usize = 24;

/// Size of a header, in bytes.
pub(crate) const HEADER_BYTES: usize = 10;
/// Minimum size of a body that is compressed, in bytes.
const PACKED_FROM: usize = 128;
/// Maximum expansion factor of an LZ4 block.
const EXPANSION: u64 = 255;

/// The kind of a part. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PartKind {
    /// The description of the bundle: [`BundleHead`](super::BundleHead).
    Head = 1,
    /// A promise with its task: [`BundleExecution`](super::BundleExecution). The records, lines and
    /// streams after it belong to it.
    Execution = 2,
    /// A record of a journal, in the encoding of stores.
    Record = 3,
    /// A logged line: [`BundleLine`](super::BundleLine).
    Line = 4,
    /// The metadata of a module: [`BundleModule`](super::BundleModule).
    Module = 5,
    /// The component of the module before it.
    Component = 6,
    /// The end, with the number of parts.
    End = 7,
    /// A stream of an execution: [`BundleStream`](super::BundleStream). The items after it belong to it.
    Stream = 8,
    /// Items of a stream: [`BundleStreamItems`](super::BundleStreamItems).
    StreamItems = 9,
    /// A blob: [`BundleBlob`](super::BundleBlob). The pieces after it are its content.
    Blob = 10,
    /// A piece of the content of the blob before it.
    BlobPiece = 11,
}

impl PartKind {
    const ALL: [Self; 11] = [
        Self::Head,
        Self::Execution,
        Self::Record,
        Self::Line,
        Self::Module,
        Self::Component,
        Self::End,
        Self::Stream,
        Self::StreamItems,
        Self::Blob,
        Self::BlobPiece,
    ];

    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// True for bodies that may have references of blobs.
    pub(crate) fn may_refer(self) -> bool {
        matches!(self, Self::Execution | Self::Record | Self::StreamItems)
    }

    /// True for bodies that may have parts in common with others: those with values.
    fn may_repeat(self) -> bool {
        matches!(self, Self::Execution | Self::Record)
    }

    /// Maximum size of an unpacked body of this kind, in bytes. A component is the largest value
    /// that a host accepts.
    pub(crate) fn longest(self) -> u32 {
        match self {
            Self::Head => 1 << 20,
            Self::End => 64,
            Self::Blob => 64 << 10,
            Self::BlobPiece => PIECE_BYTES_MAX,
            Self::Execution
            | Self::Record
            | Self::Line
            | Self::Module
            | Self::Component
            | Self::Stream
            | Self::StreamItems => 256 << 20,
        }
    }
}

/// The encoding of a stored body. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PartEncoding {
    /// Uncompressed.
    Plain = 0,
    /// As an LZ4 block.
    Lz4 = 1,
    /// As pieces that other parts may have too.
    Pieces = 2,
}

/// The header of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartHeader {
    pub(crate) kind: PartKind,
    pub(crate) packing: PartEncoding,
    /// Size of the stored body, in bytes.
    pub(crate) length: u32,
    /// Size of the unpacked body, in bytes.
    pub(crate) size: u32,
}

impl PartHeader {
    fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.kind as u8;
        bytes[1] = self.packing as u8;
        bytes[2..6].copy_from_slice(&self.length.to_le_bytes());
        bytes[6..].copy_from_slice(&self.size.to_le_bytes());
        bytes
    }

    /// Parses a header.
    ///
    /// # Errors
    /// A sentence that names the invalid field.
    pub(crate) fn read(bytes: [u8; HEADER_BYTES]) -> Result<Self, String> {
        let [kind, packing, l0, l1, l2, l3, s0, s1, s2, s3] = bytes;
        let kind = PartKind::from_number(kind).ok_or_else(|| {
            format!("there are no parts of kind {kind}, unless a newer segno made the bundle")
        })?;
        let packing = match packing {
            0 => PartEncoding::Plain,
            1 => PartEncoding::Lz4,
            2 => PartEncoding::Pieces,
            other => {
                return Err(format!(
                    "no part is packed in way {other}, unless a newer segno made the bundle"
                ));
            }
        };
        let (length, size) =
            (u32::from_le_bytes([l0, l1, l2, l3]), u32::from_le_bytes([s0, s1, s2, s3]));
        if size > kind.longest() {
            let longest = kind.longest();
            return Err(format!("it claims {size} bytes, where {longest} are the most"));
        }
        let fits = match packing {
            PartEncoding::Plain => length == size,
            // Memory for the body is bounded by the bytes that were read, not by the claimed size.
            PartEncoding::Lz4 => {
                u64::from(size) <= u64::from(length).saturating_mul(EXPANSION) && length < size
            }
            // Their own bounds apply as they are read.
            PartEncoding::Pieces => true,
        };
        if !fits {
            return Err(format!("{length} bytes cannot be {size} once they are unpacked"));
        }
        Ok(Self { kind, packing, length, size })
    }
}

/// An encoded part: header, stored body and link.
pub(crate) struct EncodedPart {
    pub(crate) bytes: Vec<u8>,
    pub(crate) link: ChainLink,
}

impl EncodedPart {
    /// Encodes a part that follows `link`. `None` if the body is larger than a part may be.
    pub(crate) fn new(
        kind: PartKind,
        body: &[u8],
        link: ChainLink,
        pieces: &mut WrittenPieces,
    ) -> Option<Self> {
        let size = u32::try_from(body.len()).ok().filter(|size| *size <= kind.longest())?;
        let is_cut = kind.may_repeat() && body.len() > CUT_ABOVE;
        let packed = match is_cut {
            true => Some(pieces.pack(body)?),
            false => (body.len() >= PACKED_FROM)
                .then(|| lz4_flex::block::compress(body))
                .filter(|packed| packed.len() < body.len()),
        };
        let (packing, stored) = match &packed {
            Some(packed) if is_cut => (PartEncoding::Pieces, packed.as_slice()),
            Some(packed) => (PartEncoding::Lz4, packed.as_slice()),
            None => (PartEncoding::Plain, body),
        };
        // At most a little longer than the body, whose length fits.
        let length = u32::try_from(stored.len()).ok()?;
        let header = PartHeader { kind, packing, length, size }.bytes();
        let link = link.next(&header, stored);
        let mut bytes = Vec::with_capacity(header.len() + stored.len() + link.0.len());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(stored);
        bytes.extend_from_slice(&link.0);
        Some(Self { bytes, link })
    }
}

/// Unpacks the body of a part.
///
/// # Errors
/// The reason that it cannot be unpacked, as a sentence.
pub(crate) fn unpacked(
    header: PartHeader,
    stored: Vec<u8>,
    pieces: &mut ReadPieces,
) -> Result<Vec<u8>, String> {
    match header.packing {
        PartEncoding::Plain => Ok(stored),
        PartEncoding::Pieces => pieces.unpack(&stored, header.size as usize),
        PartEncoding::Lz4 => {
            let size = header.size as usize;
            let body = lz4_flex::block::decompress(&stored, size)
                .map_err(|error| format!("it cannot be unpacked: {error}"))?;
            match body.len() == size {
                true => Ok(body),
                false => Err(format!("it unpacks to {} bytes instead of {size}", body.len())),
            }
        }
    }
}
