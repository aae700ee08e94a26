//! A store as one file.
//!
//! ```text
//! SEGNO STORE 1\n                                  what it is, and the format of what follows
//! an LZ4 frame of
//!   length: u32, little endian; Head in postcard      the tables, their columns and how many rows they have
//!   length: u32, little endian; Piece in postcard     rows of one table; as many pieces as it takes
//!   …
//!   length: u32, little endian; Piece::End            the SHA-256 of all bytes before it, uncompressed
//! ```

use std::io::{self, BufRead, Read, Write};

use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use super::{Content, Head, HouseError, Row, Unload, Van};

const MAGIC: &[u8] = b"SEGNO STORE 1\n";
/// The start of the magic line, whatever the format.
const MAGIC_WORD: &[u8] = b"SEGNO STORE ";
/// A piece is not larger, but for a row that is.
const PIECE_BYTES: usize = 1 << 20;
const PIECE_ROWS: usize = 1_024;
/// What cannot be the length of a piece: no row is that large.
const TOO_LONG: u32 = 1 << 31;

#[derive(Debug, Serialize, Deserialize)]
enum Piece {
    Rows { table: u32, rows: Vec<Row> },
    End { digest: [u8; 32] },
}

/// Writes a file.
pub struct Packer<W: Write> {
    out: FrameEncoder<W>,
    digest: Sha256,
    table: usize,
    rows: Vec<Row>,
    bytes: usize,
}

impl<W: Write> Packer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(mut out: W) -> Result<Self, HouseError> {
        out.write_all(MAGIC)?;
        let out = FrameEncoder::new(out);
        Ok(Self { out, digest: Sha256::new(), table: 0, rows: Vec::new(), bytes: 0 })
    }

    /// Ends it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self) -> Result<W, HouseError> {
        self.flush()?;
        let digest = self.digest.clone().finalize().into();
        self.put(&Piece::End { digest })?;
        self.out.finish().map_err(|error| HouseError::File(io::Error::other(error)))
    }

    fn flush(&mut self) -> Result<(), HouseError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        self.put(&Piece::Rows { table: self.table as u32, rows })
    }

    fn put(&mut self, piece: &impl Serialize) -> Result<(), HouseError> {
        let bytes = postcard::to_allocvec(piece).expect("rows hold nothing postcard refuses");
        let too_long = || HouseError::File(io::Error::other("a row is larger than 2 GB"));
        let length = u32::try_from(bytes.len()).ok().filter(|length| *length < TOO_LONG);
        let length = length.ok_or_else(too_long)?.to_le_bytes();
        for part in [&length[..], &bytes] {
            self.digest.update(part);
            self.out.write_all(part)?;
        }
        Ok(())
    }
}

impl<W: Write + Send> Van for Packer<W> {
    fn head(&mut self, head: &Head) -> Result<(), HouseError> {
        self.put(head)
    }

    fn load(&mut self, table: usize, row: Row) -> Result<(), HouseError> {
        if table != self.table || self.bytes > PIECE_BYTES || self.rows.len() >= PIECE_ROWS {
            self.flush()?;
        }
        self.table = table;
        self.bytes += row.iter().map(Content::size).sum::<usize>();
        self.rows.push(row);
        Ok(())
    }
}

impl Content {
    fn size(&self) -> usize {
        match self {
            Self::Null | Self::Int(_) => 8,
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }
}

/// Reads a file.
pub struct Unpacker<R: Read> {
    from: FrameDecoder<R>,
    digest: Sha256,
    head: Head,
    seen: Vec<u64>,
}

impl<R: BufRead> Unpacker<R> {
    /// Begins to read.
    ///
    /// # Errors
    /// It is no export, or one of a newer segno.
    pub fn begin(mut from: R) -> Result<Self, HouseError> {
        let mut magic = vec![0; MAGIC.len()];
        match from.read_exact(&mut magic) {
            Ok(()) if magic == MAGIC => {}
            Ok(()) if magic.starts_with(MAGIC_WORD) => {
                let format =
                    magic.get(MAGIC_WORD.len()).map_or(0, |digit| digit.saturating_sub(b'0'));
                return Err(HouseError::Newer { found: format.into(), known: 1 });
            }
            Ok(()) => return Err(HouseError::NotAnExport),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(HouseError::NotAnExport);
            }
            Err(error) => return Err(error.into()),
        }
        let head = Head { written_by: String::new(), format: 0, tables: Vec::new() };
        let mut unpacker =
            Self { from: FrameDecoder::new(from), digest: Sha256::new(), head, seen: Vec::new() };
        unpacker.head = unpacker.get()?.1;
        unpacker.seen = vec![0; unpacker.head.tables.len()];
        Ok(unpacker)
    }

    /// A piece, and the digest of all before it.
    fn get<T: DeserializeOwned>(&mut self) -> Result<([u8; 32], T), HouseError> {
        let before = self.digest.clone().finalize().into();
        let mut length = [0; 4];
        self.read(&mut length)?;
        let count = u32::from_le_bytes(length);
        if count >= TOO_LONG {
            return Err(HouseError::Damaged("a length is impossible".to_owned()));
        }
        // Memory is taken as bytes come, not as a damaged length promises.
        let mut bytes = Vec::new();
        let read = (&mut self.from).take(count.into()).read_to_end(&mut bytes);
        if read.map_err(cut)? < count as usize {
            return Err(HouseError::Damaged("it ends in the middle".to_owned()));
        }
        self.digest.update(length);
        self.digest.update(&bytes);
        let piece = postcard::from_bytes(&bytes);
        let piece = piece
            .map_err(|error| HouseError::Damaged(format!("a piece is unreadable ({error})")))?;
        Ok((before, piece))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), HouseError> {
        self.from.read_exact(bytes).map_err(cut)
    }
}

fn cut(error: io::Error) -> HouseError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => HouseError::Damaged("it ends in the middle".to_owned()),
        io::ErrorKind::InvalidData | io::ErrorKind::Other => HouseError::Damaged(error.to_string()),
        _ => HouseError::File(error),
    }
}

impl<R: BufRead + Send> Unload for Unpacker<R> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn unload(&mut self) -> Result<Option<(usize, Vec<Row>)>, HouseError> {
        let damaged = |text: String| Err(HouseError::Damaged(text));
        match self.get()? {
            (before, Piece::End { digest }) if before == digest => {
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
            (_, Piece::End { .. }) => damaged("its checksum is another".to_owned()),
            (_, Piece::Rows { table, rows }) => {
                let table = table as usize;
                let Some(known) = self.head.tables.get(table) else {
                    return damaged("rows of no table".to_owned());
                };
                if rows.iter().any(|row| row.len() != known.columns.len()) {
                    return damaged(format!("a row of `{}` has another width", known.name));
                }
                self.seen[table] += rows.len() as u64;
                Ok(Some((table, rows)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::house::Table;

    fn packed() -> Vec<u8> {
        let table = |name: &str, rows| Table {
            name: name.to_owned(),
            columns: vec!["n".to_owned(), "data".to_owned()],
            rows,
        };
        let head = Head {
            written_by: "1".to_owned(),
            format: 1,
            tables: vec![table("a", 3_000), table("b", 1)],
        };
        let mut packer = Packer::begin(Vec::new()).expect("it begins");
        packer.head(&head).expect("a head");
        for n in 0..3_000 {
            let data = Content::Blob(vec![n as u8; 700].into());
            packer.load(0, vec![Content::Int(n), data]).expect("a row");
        }
        packer.load(1, vec![Content::Null, Content::Text("ключ".to_owned())]).expect("a row");
        packer.end().expect("it ends")
    }

    fn unpacked(bytes: &[u8]) -> Result<Vec<(usize, Row)>, HouseError> {
        let mut unpacker = Unpacker::begin(bytes)?;
        let mut rows = Vec::new();
        while let Some((table, more)) = unpacker.unload()? {
            rows.extend(more.into_iter().map(|row| (table, row)));
        }
        Ok(rows)
    }

    #[test]
    fn what_is_packed_comes_out_in_order() {
        let rows = unpacked(&packed()).expect("rows");
        assert_eq!(rows.len(), 3_001);
        assert_eq!(rows[2_999].1[0], Content::Int(2_999));
        assert_eq!(rows[3_000], (1, vec![Content::Null, Content::Text("ключ".to_owned())]));
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_refused() {
        let whole = packed();
        for length in [MAGIC.len() + 3, whole.len() / 2, whole.len() - 10] {
            let error = unpacked(&whole[..length]).expect_err("it is cut");
            assert!(matches!(error, HouseError::Damaged(_)), "{length}: {error}");
        }
        for place in (MAGIC.len()..whole.len()).step_by(whole.len() / 50) {
            let mut changed = whole.clone();
            changed[place] ^= 0x10;
            assert!(unpacked(&changed).is_err(), "byte {place} was changed");
        }
        assert!(matches!(unpacked(b"a letter"), Err(HouseError::NotAnExport)));
        assert!(matches!(unpacked(b"SEGNO STORE 2\n..."), Err(HouseError::Newer { found: 2, .. })));
    }
}
