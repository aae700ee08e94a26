//! Mutated copies of seeds: bits flipped, bytes inserted, removed, doubled and truncated, and
//! pieces of other seeds.

use segno_demo::rng::DemoRng;

/// Bytes that parsers treat specially.
const ODD: [&[u8]; 12] = [
    b"\0",
    b"\xff",
    b"\"",
    b"{",
    b"[",
    b"\\u0000",
    b"-1",
    b"9223372036854775808",
    b"\xf0\x9f\x92\xa9",
    b"null",
    b"/",
    b"%00",
];

/// Maximum number of changes per copy.
const CHANGES: u64 = 4;

/// A mutated copy of one of `seeds`.
pub fn mutated(seeds: &[Vec<u8>], chance: &mut DemoRng) -> Vec<u8> {
    let mut bytes = pick(seeds, chance).clone();
    for _ in 0..chance.between(1, CHANGES) {
        change(&mut bytes, seeds, chance);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], chance: &mut DemoRng) {
    let (from, to) = span(bytes.len(), chance);
    match chance.between(0, 6) {
        0 if !bytes.is_empty() => {
            let at = chance.between(0, bytes.len() as u64 - 1) as usize;
            bytes[at] ^= 1 << chance.between(0, 7);
        }
        0 | 1 => {
            let odd = ODD[chance.between(0, ODD.len() as u64 - 1) as usize];
            bytes.splice(from..from, odd.iter().copied());
        }
        2 => drop(bytes.drain(from..to)),
        3 => {
            let twice = bytes[from..to].to_vec();
            bytes.splice(to..to, twice);
        }
        4 => bytes.truncate(from),
        5 => {
            let other = pick(seeds, chance);
            let (start, end) = span(other.len(), chance);
            bytes.splice(from..to, other[start..end].iter().copied());
        }
        _ => {
            let byte = chance.between(0, 255) as u8;
            bytes[from..to].fill(byte);
        }
    }
}

/// A random range of at most 32 bytes within `length`.
fn span(length: usize, chance: &mut DemoRng) -> (usize, usize) {
    let from = chance.between(0, length as u64) as usize;
    let to = from + chance.between(0, 32) as usize;
    (from, to.min(length))
}

fn pick<'a>(seeds: &'a [Vec<u8>], chance: &mut DemoRng) -> &'a Vec<u8> {
    &seeds[chance.between(0, seeds.len() as u64 - 1) as usize]
}
