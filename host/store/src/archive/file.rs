//! The file format of an archive.
//!
//! ```text
//! SEGNO STORE 1\n                                  magic line, with the version of the format
//! an LZ4 frame of
//!   length: u32, little endian; Head in postcard      the tables, their columns and their numbers of rows
//!   length: u32, little endian; Piece in postcard     rows of one table; any number of pieces
//!   …
//!   length: u32, little endian; Piece::End            the SHA-256 of all bytes before it, uncompressed
//! ```

use std::io::{self, BufRead, Read, Write};

use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{ArchiveCell, ArchiveError, ArchiveHead, ArchiveRow, ArchiveSink, ArchiveSource};

const MAGIC: &[u8] = b"SEGNO STORE 1\n";
/// Prefix of the magic line in every format version.
const MAGIC_WORD: &[u8] = b"SEGNO STORE ";
/// Maximum bytes of a piece, unless a single row is larger.
const PIECE_BYTES: usize = 1 << 20;
const PIECE_ROWS: usize = 1_024;
/// Maximum bytes of a row: a component is the largest possible value.
const ROW_BYTES: usize = 256 << 20;
/// Upper bound on the length of a piece.
const TOO_LONG: usize = PIECE_BYTES + ROW_BYTES;
/// Maximum bytes of the head.
const HEAD_BYTES: usize = 1 << 20;

/// A piece in serialised form. Reading parses it with bounds instead: [`ArchiveReader::rows`].
#[derive(Debug, Serialize)]
enum ArchivePiece {
    Rows { table: u32, rows: Vec<ArchiveRow> },
    End { digest: [u8; 32] },
}

/// Variant indices of [`ArchivePiece`].
const ROWS: u32 = 0;
const END: u32 = 1;

/// Maximum unpacked size of a file: the larger of the two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveBounds {
    /// Maximum size as a multiple of the file size.
    pub expansion: u64,
    /// Size in bytes that is allowed for a file of any size.
    pub bytes: u64,
}

impl Default for ArchiveBounds {
    fn default() -> Self {
        Self { expansion: 64, bytes: 256 << 20 }
    }
}

/// A reader that counts the bytes read.
struct CountingReader<R> {
    from: R,
    bytes: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Writes an archive to a file.
pub struct ArchiveWriter<W: Write> {
    out: FrameEncoder<W>,
    digest: Sha256,
    table: usize,
    rows: Vec<ArchiveRow>,
    bytes: usize,
}

impl<W: Write> ArchiveWriter<W> {
    /// Writes the magic line and starts the compressed frame.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn begin(mut out: W) -> Result<Self, ArchiveError> {
        out.write_all(MAGIC)?;
        let out = FrameEncoder::new(out);
        Ok(Self { out, digest: Sha256::new(), table: 0, rows: Vec::new(), bytes: 0 })
    }

    /// Writes the final piece with the digest, and ends the frame.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn end(mut self) -> Result<W, ArchiveError> {
        self.flush()?;
        let digest = self.digest.clone().finalize().into();
        self.put(&ArchivePiece::End { digest })?;
        self.out.finish().map_err(|error| ArchiveError::File(io::Error::other(error)))
    }

    fn flush(&mut self) -> Result<(), ArchiveError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        self.put(&ArchivePiece::Rows { table: self.table as u32, rows })
    }

    fn put(&mut self, piece: &impl Serialize) -> Result<(), ArchiveError> {
        let bytes = postcard::to_allocvec(piece).expect("rows hold nothing postcard refuses");
        let too_long = || ArchiveError::File(io::Error::other("a row is larger than 256 MiB"));
        let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= TOO_LONG);
        let length = length.ok_or_else(too_long)?.to_le_bytes();
        for part in [&length[..], &bytes] {
            self.digest.update(part);
            self.out.write_all(part)?;
        }
        Ok(())
    }
}

impl<W: Write + Send> ArchiveSink for ArchiveWriter<W> {
    fn head(&mut self, head: &ArchiveHead) -> Result<(), ArchiveError> {
        self.put(head)
    }

    fn write_row(&mut self, table: usize, row: ArchiveRow) -> Result<(), ArchiveError> {
        if table != self.table || self.bytes > PIECE_BYTES || self.rows.len() >= PIECE_ROWS {
            self.flush()?;
        }
        self.table = table;
        self.bytes += row.iter().map(ArchiveCell::size).sum::<usize>();
        self.rows.push(row);
        Ok(())
    }
}

impl ArchiveCell {
    fn size(&self) -> usize {
        match self {
            Self::Null | Self::Int(_) => 8,
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }
}

/// Reads an archive from a file. The expansion bounds apply to every piece.
pub struct ArchiveReader<R: Read> {
    from: FrameDecoder<CountingReader<R>>,
    digest: Sha256,
    head: ArchiveHead,
    seen: Vec<u64>,
    bounds: ArchiveBounds,
    /// Unpacked bytes read so far.
    bytes: u64,
}

impl<R: BufRead> ArchiveReader<R> {
    /// Opens a file with the default bounds.
    ///
    /// # Errors
    /// Fails if the file is not an export, or was written by a newer segno.
    pub fn begin(from: R) -> Result<Self, ArchiveError> {
        Self::bounded(from, ArchiveBounds::default())
    }

    /// Opens a file with these bounds.
    ///
    /// # Errors
    /// Fails if the file is not an export, or was written by a newer segno.
    pub fn bounded(mut from: R, bounds: ArchiveBounds) -> Result<Self, ArchiveError> {
        let mut magic = vec![0; MAGIC.len()];
        match from.read_exact(&mut magic) {
            Ok(()) if magic == MAGIC => {}
            Ok(()) if magic.starts_with(MAGIC_WORD) => {
                let format =
                    magic.get(MAGIC_WORD.len()).map_or(0, |digit| digit.saturating_sub(b'0'));
                return Err(ArchiveError::Newer { found: format.into(), known: 1 });
            }
            Ok(()) => return Err(ArchiveError::NotAnExport),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(ArchiveError::NotAnExport);
            }
            Err(error) => return Err(error.into()),
        }
        let head = ArchiveHead { written_by: String::new(), format: 0, tables: Vec::new() };
        let from = FrameDecoder::new(CountingReader { from, bytes: 0 });
        let (digest, seen) = (Sha256::new(), Vec::new());
        let mut reader = Self { from, digest, head, seen, bounds, bytes: 0 };
        let (_, head) = reader.piece(HEAD_BYTES)?;
        reader.head = postcard::from_bytes(&head).map_err(unreadable)?;
        reader.seen = vec![0; reader.head.tables.len()];
        Ok(reader)
    }

    /// Reads a piece: its bytes, and the digest of everything before it.
    fn piece(&mut self, longest: usize) -> Result<([u8; 32], Vec<u8>), ArchiveError> {
        let before = self.digest.clone().finalize().into();
        let mut length = [0; 4];
        self.from.read_exact(&mut length).map_err(cut)?;
        let count = u32::from_le_bytes(length) as usize;
        if count > longest {
            return Err(ArchiveError::TooLarge(format!(
                "a piece of {count} bytes, where {longest} are the most that is written"
            )));
        }
        // Allocate as bytes arrive, not by the length field, which may be corrupt.
        let mut bytes = Vec::new();
        let read = (&mut self.from).take(count as u64).read_to_end(&mut bytes);
        if read.map_err(cut)? < count {
            return Err(ArchiveError::Damaged("it ends in the middle".to_owned()));
        }
        self.bytes += count as u64;
        self.check_expansion()?;
        self.digest.update(length);
        self.digest.update(&bytes);
        Ok((before, bytes))
    }

    /// Checks the unpacked bytes so far against the bytes read.
    fn check_expansion(&self) -> Result<(), ArchiveError> {
        let ArchiveBounds { expansion, bytes } = self.bounds;
        let read = self.from.get_ref().bytes;
        if self.bytes <= bytes.max(read.saturating_mul(expansion)) {
            return Ok(());
        }
        Err(ArchiveError::TooLarge(format!(
            "{read} bytes of it are more than {} bytes, which is more than {expansion} times as much; if you trust the \
             file, allow it with `--max-expansion`",
            self.bytes
        )))
    }

    /// Parses the rows of a piece; each must have as many cells as its table has columns.
    fn rows(&self, bytes: &[u8]) -> Result<(usize, Vec<ArchiveRow>), ArchiveError> {
        let damaged = |text: String| Err(ArchiveError::Damaged(text));
        let (table, rest) = take::<u32>(bytes)?;
        let (count, mut rest) = take::<u32>(rest)?;
        let table = table as usize;
        let Some(known) = self.head.tables.get(table) else {
            return damaged("rows of no table".to_owned());
        };
        if count as usize > PIECE_ROWS {
            return damaged(format!("a piece has {count} rows"));
        }
        let mut rows = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let (width, cells) = take::<u32>(rest)?;
            if width as usize != known.columns.len() {
                return damaged(format!("a row of `{}` has another width", known.name));
            }
            rest = cells;
            let mut row = ArchiveRow::with_capacity(known.columns.len());
            for _ in 0..width {
                let (cell, after) = take::<ArchiveCell>(rest)?;
                row.push(cell);
                rest = after;
            }
            rows.push(row);
        }
        match rest {
            [] => Ok((table, rows)),
            _ => damaged("a piece has more bytes than rows".to_owned()),
        }
    }
}

/// Takes a value from the front of `bytes`; returns it with the remaining bytes.
fn take<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), ArchiveError> {
    postcard::take_from_bytes(bytes).map_err(unreadable)
}

fn unreadable(error: postcard::Error) -> ArchiveError {
    ArchiveError::Damaged(format!("a piece is unreadable ({error})"))
}

fn cut(error: io::Error) -> ArchiveError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ArchiveError::Damaged("it ends in the middle".to_owned()),
        io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            ArchiveError::Damaged(error.to_string())
        }
        _ => ArchiveError::File(error),
    }
}

impl<R: BufRead + Send> ArchiveSource for ArchiveReader<R> {
    fn head(&self) -> &ArchiveHead {
        &self.head
    }

    fn read_rows(&mut self) -> Result<Option<(usize, Vec<ArchiveRow>)>, ArchiveError> {
        let damaged = |text: String| Err(ArchiveError::Damaged(text));
        let (before, bytes) = self.piece(TOO_LONG)?;
        let (variant, rest) = take::<u32>(&bytes)?;
        match variant {
            END => {
                if take::<[u8; 32]>(rest)?.0 != before {
                    return damaged("its checksum is another".to_owned());
                }
                for (table, seen) in self.head.tables.iter().zip(&self.seen) {
                    if table.rows != *seen {
                        return damaged(format!(
                            "{} rows of `{}` were promised, {seen} came",
                            table.rows, table.name
                        ));
                    }
                }
                Ok(None)
            }
            ROWS => {
                let (table, rows) = self.rows(rest)?;
                let (known, seen) = (&self.head.tables[table], &mut self.seen[table]);
                *seen += rows.len() as u64;
                if *seen > known.rows {
                    return damaged(format!(
                        "more rows of `{}` came than the {} that were promised",
                        known.name, known.rows
                    ));
                }
                Ok(Some((table, rows)))
            }
            _ => damaged("a piece of an unknown kind".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::ArchiveTable;

    fn written() -> Vec<u8> {
        let table = |name: &str, rows| ArchiveTable {
            name: name.to_owned(),
            columns: vec!["n".to_owned(), "data".to_owned()],
            rows,
        };
        let head = ArchiveHead {
            written_by: "1".to_owned(),
            format: 1,
            tables: vec![table("a", 3_000), table("b", 1)],
        };
        let mut writer = ArchiveWriter::begin(Vec::new()).expect("it begins");
        writer.head(&head).expect("a head");
        for n in 0..3_000 {
            let data = ArchiveCell::Blob(vec![n as u8; 700].into());
            writer.write_row(0, vec![ArchiveCell::Int(n), data]).expect("a row");
        }
        writer
            .write_row(1, vec![ArchiveCell::Null, ArchiveCell::Text("ключ".to_owned())])
            .expect("a row");
        writer.end().expect("it ends")
    }

    fn unpacked(bytes: &[u8]) -> Result<Vec<(usize, ArchiveRow)>, ArchiveError> {
        let mut reader = ArchiveReader::begin(bytes)?;
        let mut rows = Vec::new();
        while let Some((table, more)) = reader.read_rows()? {
            rows.extend(more.into_iter().map(|row| (table, row)));
        }
        Ok(rows)
    }

    #[test]
    fn what_is_packed_comes_out_in_order() {
        let rows = unpacked(&written()).expect("rows");
        assert_eq!(rows.len(), 3_001);
        assert_eq!(rows[2_999].1[0], ArchiveCell::Int(2_999));
        assert_eq!(rows[3_000], (1, vec![ArchiveCell::Null, ArchiveCell::Text("ключ".to_owned())]));
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_refused() {
        let whole = written();
        for length in [MAGIC.len() + 3, whole.len() / 2, whole.len() - 10] {
            let error = unpacked(&whole[..length]).expect_err("it is cut");
            assert!(matches!(error, ArchiveError::Damaged(_)), "{length}: {error}");
        }
        for place in (MAGIC.len()..whole.len()).step_by(whole.len() / 50) {
            let mut changed = whole.clone();
            changed[place] ^= 0x10;
            assert!(unpacked(&changed).is_err(), "byte {place} was changed");
        }
        assert!(matches!(unpacked(b"a letter"), Err(ArchiveError::NotAnExport)));
        assert!(matches!(
            unpacked(b"SEGNO STORE 2\n..."),
            Err(ArchiveError::Newer { found: 2, .. })
        ));
    }
}
