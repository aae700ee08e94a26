//! Archives in the format of zip: compressed files, all with the same date, so that equal files
//! make equal archives.

use std::io::Write;

use flate2::{Compression, Crc, write::DeflateEncoder};

/// Version 2.0 of the format: compression with deflate.
const FORMAT: u16 = 20;
const DEFLATE: u16 = 8;
/// The 1st of January 1980, the earliest date of the format.
const DATE: u16 = 0x21;
/// Format 2.0 on a system with file modes.
const UNIX: u16 = 0x0300 | FORMAT;
/// A regular file that everybody reads and its owner writes.
const MODE: u32 = 0o100_644 << 16;

/// The archive with these files, in this order.
pub(super) fn archive(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (path, bytes) in files {
        let offset = u32_of(archive.len()).to_le_bytes();
        let compressed = deflated(bytes);
        let facts = facts(path, bytes, compressed.len());
        archive.extend([b"PK\x03\x04", &facts[..], path.as_bytes(), &compressed].concat());
        // Before the attributes of the file: its comment, the disk, and internal attributes.
        let attributes = [&[0; 6][..], &MODE.to_le_bytes(), &offset].concat();
        directory.extend([&b"PK\x01\x02"[..], &UNIX.to_le_bytes(), &facts].concat());
        directory.extend([&attributes[..], path.as_bytes()].concat());
    }
    let count = u16::try_from(files.len()).expect("a package has less than 65,536 files");
    let (size, start) = (u32_of(directory.len()), u32_of(archive.len()));
    archive.extend(directory);
    // The end of the directory: it is whole and on this disk, and has no comment.
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([size.to_le_bytes(), start.to_le_bytes()].concat());
    archive.extend([0; 2]);
    archive
}

/// The fields that stand before a file and in the directory.
fn facts(path: &str, bytes: &[u8], compressed: usize) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(bytes);
    let name = u16::try_from(path.len()).expect("a path is short");
    let words = |words: &[u16]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let numbers = [crc.sum(), u32_of(compressed), u32_of(bytes.len())];
    let mut facts: Vec<u8> = words(&[FORMAT, 0, DEFLATE, 0, DATE]);
    facts.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    facts.extend::<Vec<u8>>(words(&[name, 0]));
    facts
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes what is written")
}

fn u32_of(length: usize) -> u32 {
    u32::try_from(length).expect("a package has less than 4 GiB")
}
