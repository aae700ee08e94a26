//! Large bodies as pieces, each of which a bundle holds once: the journal of an agent repeats its
//! conversation in every call.
//!
//! ```text
//! stored body = pieces
//! piece       = 0: u8, size: u32, length: u32, `length` bytes: a new piece, an LZ4 block unless `length` is `size`
//!             | 1: u8, number: u32: the new piece with this number, counted from 0 over the bundle
//! ```
//! Numbers are little endian.

use std::collections::HashMap;

use fastcdc::v2020::FastCDC;
use segno_core::id::Digest;

/// Bodies above this size are cut, in bytes.
pub(crate) const CUT_ABOVE: usize = 64 << 10;
/// Sizes of pieces, in bytes. They may change: a reader takes pieces of up to [`PIECE_BYTES_MAX`].
const PIECE_BYTES_MIN: usize = 4 << 10;
const PIECE_BYTES_AIM: usize = 16 << 10;
const PIECE_BYTES_MAX: usize = 64 << 10;

const NEW: u8 = 0;
const AGAIN: u8 = 1;

/// The numbers of the pieces that a writer has written.
#[derive(Debug, Default)]
pub(crate) struct WrittenPieces(HashMap<Digest, u32>);

impl WrittenPieces {
    /// Cuts a body into pieces. `None` if the bundle has too many of them.
    pub(crate) fn pack(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut packed = Vec::new();
        for cut in FastCDC::new(body, PIECE_BYTES_MIN, PIECE_BYTES_AIM, PIECE_BYTES_MAX) {
            let piece = &body[cut.offset..cut.offset + cut.length];
            let digest = Digest::of(piece);
            if let Some(number) = self.0.get(&digest) {
                packed.push(AGAIN);
                packed.extend(number.to_le_bytes());
                continue;
            }
            self.0.insert(digest, u32::try_from(self.0.len()).ok()?);
            let compressed = lz4_flex::block::compress(piece);
            let stored = if compressed.len() < piece.len() { &compressed } else { piece };
            packed.push(NEW);
            packed.extend((piece.len() as u32).to_le_bytes());
            packed.extend((stored.len() as u32).to_le_bytes());
            packed.extend_from_slice(stored);
        }
        Some(packed)
    }
}

/// The pieces that a reader has read, in order.
#[derive(Debug, Default)]
pub(crate) struct ReadPieces(Vec<Vec<u8>>);

impl ReadPieces {
    /// Puts a body of `size` bytes together.
    ///
    /// # Errors
    /// The reason that it cannot be put together, as a sentence.
    pub(crate) fn unpack(&mut self, mut stored: &[u8], size: usize) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        while let Some(kind) = take(&mut stored, 1)?.first().copied() {
            let piece = match kind {
                NEW => {
                    self.0.push(new_piece(&mut stored)?);
                    self.0.last()
                }
                AGAIN => {
                    let number = number(&mut stored)?;
                    let piece = self.0.get(number);
                    Some(piece.ok_or_else(|| format!("there is no piece {number} before it"))?)
                }
                kind => return Err(format!("there are no pieces of kind {kind}")),
            };
            body.extend(piece.into_iter().flatten());
            if body.len() > size || stored.is_empty() {
                break;
            }
        }
        match body.len() == size {
            true => Ok(body),
            false => Err(format!("its pieces do not have {size} bytes together")),
        }
    }
}

fn new_piece(stored: &mut &[u8]) -> Result<Vec<u8>, String> {
    let (size, length) = (number(stored)?, number(stored)?);
    let bytes = take(stored, length)?;
    if size > PIECE_BYTES_MAX || length > size {
        return Err(format!("a piece of {length} bytes cannot have {size}"));
    }
    if length == size {
        return Ok(bytes.to_vec());
    }
    let piece = lz4_flex::block::decompress(bytes, size)
        .map_err(|error| format!("a piece cannot be unpacked: {error}"))?;
    match piece.len() == size {
        true => Ok(piece),
        false => Err(format!("a piece has {} bytes instead of {size}", piece.len())),
    }
}

fn number(stored: &mut &[u8]) -> Result<usize, String> {
    let bytes = take(stored, size_of::<u32>())?.try_into();
    Ok(u32::from_le_bytes(bytes.map_err(|_| "it ends within a number".to_owned())?) as usize)
}

fn take<'a>(stored: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, rest) =
        stored.split_at_checked(length).ok_or_else(|| "it ends within a piece".to_owned())?;
    *stored = rest;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut letter = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'a' + (state >> 59) as u8 % 26
        };
        (0..bytes).map(|_| letter()).collect()
    }

    #[test]
    fn bodies_that_grow_take_the_size_of_what_is_new() {
        let (mut written, mut read) = (WrittenPieces::default(), ReadPieces::default());
        let mut stored = 0;
        for round in 1..=50 {
            let body = text(70_000 + round * 10_000);
            let packed = written.pack(&body).expect("there is room");
            stored += packed.len();
            assert_eq!(read.unpack(&packed, body.len()), Ok(body));
        }
        assert!(stored < 3 * 570_000, "{stored} bytes");
    }

    #[test]
    fn what_is_no_piece_is_refused_by_a_sentence() {
        let mut read = ReadPieces::default();
        let piece = |size: u32, bytes: &[u8]| {
            let length = (bytes.len() as u32).to_le_bytes();
            [&[NEW][..], &size.to_le_bytes(), &length, bytes].concat()
        };
        assert_eq!(read.unpack(&piece(3, b"abc"), 3), Ok(b"abc".to_vec()));
        assert_eq!(read.unpack(&[AGAIN, 0, 0, 0, 0], 3), Ok(b"abc".to_vec()));
        for (stored, size, why) in [
            (vec![AGAIN, 1, 0, 0, 0], 3, "there is no piece 1 before it"),
            (vec![AGAIN, 0, 0], 3, "it ends within a piece"),
            (vec![2, 0, 0, 0, 0], 3, "there are no pieces of kind 2"),
            (piece(3, b"abc"), 4, "its pieces do not have 4 bytes together"),
            (piece(3, b"abcd"), 4, "a piece of 4 bytes cannot have 3"),
            (piece(70_000, b"ab"), 70_000, "a piece of 2 bytes cannot have 70000"),
            (piece(3, b"abc")[..11].to_vec(), 3, "it ends within a piece"),
            (Vec::new(), 3, "it ends within a piece"),
        ] {
            assert_eq!(read.unpack(&stored, size), Err(why.to_owned()), "{stored:?}");
        }
        // Many references to one piece are cut off at the size that the header names.
        let bomb = [AGAIN, 0, 0, 0, 0].repeat(1_000_000);
        assert_eq!(
            read.unpack(&bomb, 9),
            Err("its pieces do not have 9 bytes together".to_owned())
        );
    }
}
