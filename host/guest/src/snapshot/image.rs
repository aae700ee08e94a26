//! The memory with which each instance of a source module begins, as the difference from a new
//! instance of its runtime.
//!
//! ```text
//! length of the table: u32    table: JSON, of the parts    the bytes of all runs
//! ```

use std::{fs::File, io, os::unix::fs::FileExt as _};

use serde::{Deserialize, Serialize};

use super::memory::{Memory, MemoryPart, place};

/// Size of the length at the start of a file, in bytes.
const LENGTH_BYTES: usize = 4;
/// Number of equal bytes between two runs that are written along with them: a write of its own costs
/// more.
const BRIDGED_BYTES: u32 = 4 << 10;

/// The memory with which each instance of a source module begins.
pub(crate) struct ModuleImage {
    pub(super) parts: Vec<ImagePart>,
    bytes: ImageBytes,
}

/// The bytes of all runs.
enum ImageBytes {
    Memory(Vec<u8>),
    /// They begin at this offset of the file.
    File(File, u64),
}

/// The difference behind one accessor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ImagePart {
    /// Length of the memory, in bytes.
    pub(super) len: u32,
    /// The parts of the memory that differ.
    pub(super) runs: Vec<ImageRun>,
    /// Bits of the mutable globals that differ, by index.
    pub(super) globals: Vec<(u32, u64)>,
    /// The order in which freed handles are reused. `None` if it is that of a new instance.
    pub(super) handles: Option<Vec<u32>>,
}

/// Adjacent bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ImageRun {
    /// Offset in the memory.
    pub(super) at: u32,
    len: u32,
    /// Offset in the bytes of all runs.
    from: u64,
}

impl ImageRun {
    /// The run in pieces of at most `max` bytes.
    pub(super) fn chunks(self, max: u32) -> impl Iterator<Item = Self> {
        (0..self.len.div_ceil(max)).map(move |n| {
            let start = n * max;
            let len = max.min(self.len - start);
            Self { at: self.at + start, len, from: self.from + u64::from(start) }
        })
    }
}

impl ModuleImage {
    /// The difference of `loaded` from `base`, the state of a new instance.
    pub(crate) fn of(loaded: &Memory, base: &Memory) -> Self {
        let changes = loaded.since(base).parts.into_iter();
        let mut bytes = Vec::new();
        let none = MemoryPart::default();
        let bases = base.parts.iter().chain(std::iter::repeat(&none));
        let parts = changes.zip(&loaded.parts).zip(bases).map(|((change, part), base)| {
            let mut runs: Vec<ImageRun> = Vec::new();
            for (at, run) in change.runs {
                let end = at as usize + run.len();
                let start = match runs.last_mut() {
                    Some(last) if at - (last.at + last.len) <= BRIDGED_BYTES => {
                        let start = last.at + last.len;
                        last.len = place(end) - last.at;
                        start
                    }
                    _ => {
                        runs.push(ImageRun { at, len: place(run.len()), from: bytes.len() as u64 });
                        at
                    }
                };
                bytes.extend_from_slice(&part.bytes[start as usize..end]);
            }
            let globals = (0..).zip(&part.globals);
            let globals = globals.filter(|(n, bits)| base.globals.get(*n as usize) != Some(*bits));
            ImagePart {
                len: change.len,
                runs,
                globals: globals.map(|(n, bits)| (n, *bits)).collect(),
                handles: (part.handles != base.handles).then(|| part.handles.clone()),
            }
        });
        let parts = parts.collect();
        Self { parts, bytes: ImageBytes::Memory(bytes) }
    }

    /// The image in a file, from which its bytes are read whenever an instance begins.
    ///
    /// # Errors
    /// The file cannot be read, or is no image.
    pub(crate) fn open(file: File) -> io::Result<Self> {
        let mut length = [0; LENGTH_BYTES];
        file.read_exact_at(&mut length, 0)?;
        let length = u32::from_le_bytes(length);
        let mut table = vec![0; length as usize];
        file.read_exact_at(&mut table, LENGTH_BYTES as u64)?;
        let parts = serde_json::from_slice(&table)?;
        let start = LENGTH_BYTES as u64 + u64::from(length);
        Ok(Self { parts, bytes: ImageBytes::File(file, start) })
    }

    /// Writes an image that was just made.
    pub(crate) fn write(&self, mut to: impl io::Write) -> io::Result<()> {
        let ImageBytes::Memory(bytes) = &self.bytes else {
            return Err(io::Error::other("it is in a file already"));
        };
        let table = serde_json::to_vec(&self.parts)?;
        to.write_all(&place(table.len()).to_le_bytes())?;
        to.write_all(&table)?;
        to.write_all(bytes)
    }

    /// Number of bytes of its runs that are in memory.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.bytes {
            ImageBytes::Memory(bytes) => bytes.len(),
            ImageBytes::File(..) => 0,
        }
    }

    /// The bytes of a run. Those of a file are read into `read`.
    pub(super) fn bytes<'a>(
        &'a self,
        run: ImageRun,
        read: &'a mut Vec<u8>,
    ) -> io::Result<&'a [u8]> {
        let len = run.len as usize;
        match &self.bytes {
            ImageBytes::Memory(bytes) => {
                let from = usize::try_from(run.from).unwrap_or(usize::MAX);
                bytes.get(from..).and_then(|bytes| bytes.get(..len)).ok_or_else(|| {
                    io::Error::new(io::ErrorKind::UnexpectedEof, "the image is too short")
                })
            }
            ImageBytes::File(file, start) => {
                read.resize(len, 0);
                file.read_exact_at(read, start + run.from)?;
                Ok(read)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4 << 10;

    fn memory(changed: &[usize], globals: &[u64], handles: &[u32]) -> Memory {
        let mut bytes = vec![0; 16 * PAGE];
        for page in changed {
            bytes[page * PAGE + 5] = 1 + *page as u8;
        }
        let (globals, handles) = (globals.to_vec(), handles.to_vec());
        Memory { parts: vec![MemoryPart { bytes, globals, handles }], drawn: vec![] }
    }

    /// The memory that a new instance has once the image is applied.
    fn applied(image: &ModuleImage, base: &Memory, chunk: u32) -> Memory {
        let mut memory = base.clone();
        for (part, of) in memory.parts.iter_mut().zip(&image.parts) {
            part.bytes.resize(of.len as usize, 0);
            for chunk in of.runs.iter().flat_map(|run| run.chunks(chunk)) {
                let mut read = Vec::new();
                let bytes = image.bytes(chunk, &mut read).expect("it can be read");
                part.bytes[chunk.at as usize..][..bytes.len()].copy_from_slice(bytes);
            }
            for (index, bits) in &of.globals {
                part.globals[*index as usize] = *bits;
            }
            part.handles = of.handles.clone().unwrap_or(part.handles.clone());
        }
        memory
    }

    #[test]
    fn an_image_from_memory_or_from_a_file_makes_the_memory_that_it_was_made_of() {
        let base = memory(&[2, 14], &[1, 2, 3], &[]);
        let loaded = memory(&[1, 3, 4, 7, 15], &[1, 9, 3], &[2, 1]);
        let image = ModuleImage::of(&loaded, &base);
        let file = tempfile::tempfile().expect("there is room for a file");
        image.write(&file).expect("it is written");
        let opened = ModuleImage::open(file).expect("it is an image");
        assert_eq!(opened.parts, image.parts);
        for chunk in [1_000, 4_096, 1 << 20] {
            assert_eq!(applied(&image, &base, chunk), loaded);
            assert_eq!(applied(&opened, &base, chunk), loaded);
        }
    }

    #[test]
    fn short_gaps_are_bridged_and_only_what_differs_is_kept() {
        let image =
            ModuleImage::of(&memory(&[1, 3, 6], &[1, 9], &[1]), &memory(&[], &[1, 2], &[1]));
        let [part] = &image.parts[..] else { panic!("it has one part") };
        let runs: Vec<_> = part.runs.iter().map(|run| (run.at, run.len, run.from)).collect();
        assert_eq!(runs, [(4_096, 3 * 4_096, 0), (6 * 4_096, 4_096, 3 * 4_096)]);
        assert_eq!((&part.globals[..], &part.handles), (&[(1, 9)][..], &None));
    }

    #[test]
    fn a_file_that_is_cut_off_is_no_image_or_cannot_be_read() {
        let image = ModuleImage::of(&memory(&[1], &[], &[]), &memory(&[], &[], &[]));
        let mut bytes = Vec::new();
        image.write(&mut bytes).expect("it is written");
        for len in [0, 3, 20, bytes.len() - 1] {
            let file = tempfile::tempfile().expect("there is room for a file");
            file.write_all_at(&bytes[..len], 0).expect("it is written");
            let read = ModuleImage::open(file).and_then(|image| {
                image.bytes(image.parts[0].runs[0], &mut Vec::new()).map(<[u8]>::to_vec)
            });
            assert!(read.is_err(), "{len} bytes");
        }
    }
}
