//! The memory with which each instance of a source module begins, in a file that is mapped into the
//! instance.
//!
//! ```text
//! length of the table: u32    table: JSON    zeros up to a multiple of 64 KiB    the memories
//! ```
//!
//! Pages of zeros take no room: the file has holes.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use serde::{Deserialize, Serialize};

use super::memory::{Memory, MemoryPart, place};

/// Size of the length at the start of a file, in bytes.
const LENGTH_BYTES: usize = 4;
/// The unit in which memories have their places in the file, in bytes: no page of a system is
/// larger, and a page of wasm is not smaller.
const ALIGNMENT: u64 = 64 << 10;
/// Size of the zeros that take no room, in bytes.
const HOLE_BYTES: usize = 4 << 10;

/// The memory with which each instance of a source module begins.
pub(crate) struct ModuleImage {
    parts: Vec<ImagePart>,
    file: File,
    /// Offset of the first memory in the file.
    start: u64,
}

/// An image that was just made.
pub(crate) struct NewImage {
    parts: Vec<ImagePart>,
    memory: Memory,
}

/// The state behind one accessor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImagePart {
    /// Length of the memory, in bytes.
    pub(crate) len: u32,
    /// Bits of the mutable globals that differ from those of a new instance, by index.
    pub(super) globals: Vec<(u32, u64)>,
    /// The order in which freed handles are reused. `None` if it is that of a new instance.
    pub(super) handles: Option<Vec<u32>>,
}

impl NewImage {
    /// The image of an instance that has loaded its sources. It was in the state `new` before it
    /// was initialized.
    pub(crate) fn of(loaded: Memory, new: &Memory) -> Self {
        let none = MemoryPart::default();
        let news = new.parts.iter().chain(std::iter::repeat(&none));
        let parts = loaded.parts.iter().zip(news).map(|(part, new)| {
            let globals = (0..).zip(&part.globals);
            let globals = globals.filter(|(n, bits)| new.globals.get(*n as usize) != Some(*bits));
            ImagePart {
                len: place(part.bytes.len()),
                globals: globals.map(|(n, bits)| (n, *bits)).collect(),
                handles: (part.handles != new.handles).then(|| part.handles.clone()),
            }
        });
        Self { parts: parts.collect(), memory: loaded }
    }

    /// Writes the image to an empty file.
    pub(crate) fn write(&self, file: &File) -> io::Result<()> {
        let table = serde_json::to_vec(&self.parts)?;
        file.write_all_at(&place(table.len()).to_le_bytes(), 0)?;
        file.write_all_at(&table, LENGTH_BYTES as u64)?;
        let mut at = start_of(table.len() as u64);
        for part in &self.memory.parts {
            for pages in part.changed(&MemoryPart::default(), HOLE_BYTES) {
                file.write_all_at(&part.bytes[pages.clone()], at + pages.start as u64)?;
            }
            at += (part.bytes.len() as u64).next_multiple_of(ALIGNMENT);
        }
        file.set_len(at)
    }

    /// The image in memory, for a host without a folder for it.
    pub(crate) fn in_memory(&self) -> io::Result<ModuleImage> {
        let file = file_in_memory()?;
        self.write(&file)?;
        ModuleImage::open(file)
    }
}

impl ModuleImage {
    /// The image in a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no image.
    pub(crate) fn open(file: File) -> io::Result<Self> {
        let damaged = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
        let size = file.metadata()?.len();
        let mut length = [0; LENGTH_BYTES];
        file.read_exact_at(&mut length, 0)?;
        let length = u32::from_le_bytes(length);
        if u64::from(length) > size {
            return Err(damaged("it is cut off"));
        }
        let mut table = vec![0; length as usize];
        file.read_exact_at(&mut table, LENGTH_BYTES as u64)?;
        let parts: Vec<ImagePart> = serde_json::from_slice(&table)?;
        let image = Self { parts, file, start: start_of(length.into()) };
        let is_whole = |part: &ImagePart| u64::from(part.len).is_multiple_of(ALIGNMENT);
        if image.offset(image.parts.len()) != size || !image.parts.iter().all(is_whole) {
            return Err(damaged("its memories do not fit"));
        }
        Ok(image)
    }

    /// The states behind the accessors, in their order.
    pub(crate) fn parts(&self) -> &[ImagePart] {
        &self.parts
    }

    /// Size of all memories, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.len as usize).sum()
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Offset of a memory in the file.
    pub(crate) fn offset(&self, part: usize) -> u64 {
        self.start + self.parts[..part].iter().map(|part| u64::from(part.len)).sum::<u64>()
    }
}

/// Offset of the first memory behind a table of this length.
fn start_of(table: u64) -> u64 {
    (LENGTH_BYTES as u64 + table).next_multiple_of(ALIGNMENT)
}

/// A file without a name.
fn file_in_memory() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::memfd_create("segno-image", rustix::fs::MemfdFlags::CLOEXEC)?.into());
    #[cfg(not(target_os = "linux"))]
    tempfile::tempfile()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: usize = 64 << 10;

    /// A memory of 8 units, of which these differ from zeros.
    fn memory(changed: &[usize], globals: &[u64], handles: &[u32]) -> Memory {
        let mut bytes = vec![0; 8 * UNIT];
        for unit in changed {
            bytes[unit * UNIT + 5] = 1 + *unit as u8;
        }
        let (globals, handles) = (globals.to_vec(), handles.to_vec());
        let empty = MemoryPart { bytes: vec![], globals: vec![], handles: vec![] };
        Memory { parts: vec![empty, MemoryPart { bytes, globals, handles }], drawn: vec![] }
    }

    /// The memory of an instance that begins with the image; `new` is one without an image.
    fn begun(image: &ModuleImage, new: &Memory) -> Memory {
        let mut memory = new.clone();
        for (n, (part, of)) in memory.parts.iter_mut().zip(image.parts()).enumerate() {
            part.bytes = vec![0; of.len as usize];
            image.file().read_exact_at(&mut part.bytes, image.offset(n)).expect("it is stored");
            for (index, bits) in &of.globals {
                part.globals[*index as usize] = *bits;
            }
            part.handles = of.handles.clone().unwrap_or(part.handles.clone());
        }
        memory
    }

    fn written(image: &NewImage) -> File {
        let file = tempfile::tempfile().expect("there is room for a file");
        image.write(&file).expect("it is written");
        file
    }

    #[test]
    fn an_instance_begins_with_the_memory_of_the_one_that_loaded() {
        use std::os::unix::fs::MetadataExt as _;

        let new = memory(&[], &[1, 2, 3], &[]);
        for loaded in [memory(&[0, 3, 7], &[1, 9, 3], &[2, 1]), memory(&[2], &[1, 2, 3], &[])] {
            let image = NewImage::of(loaded.clone(), &new);
            let file = ModuleImage::open(written(&image)).expect("it is an image");
            let room = file.file().metadata().expect("it is there").blocks() * 512;
            assert!(room < 2 * UNIT as u64, "zeros take no room: {room}");
            for image in [file, image.in_memory().expect("there is room in memory")] {
                assert_eq!(begun(&image, &new), loaded);
                assert_eq!(image.memory_bytes(), 8 * UNIT);
            }
        }
    }

    #[test]
    fn globals_and_handles_of_a_new_instance_are_not_kept() {
        let image = NewImage::of(memory(&[], &[1, 9], &[1]), &memory(&[], &[1, 2], &[1]));
        let part = &image.parts[1];
        assert_eq!((&part.globals[..], &part.handles), (&[(1, 9)][..], &None));
        let image = NewImage::of(memory(&[], &[], &[]), &memory(&[], &[], &[1]));
        assert_eq!(image.parts[1].handles, Some(vec![]));
    }

    #[test]
    fn a_file_that_is_cut_off_or_damaged_is_no_image() {
        let image = NewImage::of(memory(&[1], &[], &[]), &memory(&[], &[], &[]));
        let file = written(&image);
        let mut bytes = vec![0; file.metadata().expect("it is there").len() as usize];
        file.read_exact_at(&mut bytes, 0).expect("it can be read");
        let opened = |bytes: &[u8]| {
            let file = tempfile::tempfile().expect("there is room for a file");
            file.write_all_at(bytes, 0).expect("it is written");
            ModuleImage::open(file).is_ok()
        };
        assert!(opened(&bytes));
        for len in [0, 3, 20, UNIT, bytes.len() - 1] {
            assert!(!opened(&bytes[..len]), "{len} bytes");
        }
        let place = bytes.windows(12).position(|text| text == b"\"len\":524288").expect("a table");
        bytes[place + 11] = b'9';
        assert!(!opened(&bytes));
        bytes[..LENGTH_BYTES].fill(0xff);
        assert!(!opened(&bytes));
    }
}
