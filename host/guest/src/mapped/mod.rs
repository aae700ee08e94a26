//! The linear memories and stacks of instances of source modules. A memory begins with the image of
//! its module, which is mapped from a file: a page is copied when its instance first writes to it.
//!
//! A memory that is given back is used again by the next instance of the same module. The pages that
//! were written are read again from the image, which costs less than to copy them at page faults;
//! from a certain number on, the system forgets them.
//!
//! wasmtime asks for a memory while it makes an instance, and names no instance. So the image is
//! that of the task that makes it ([`with_image`]).

mod range;
mod stack;

use std::{
    cell::{Cell, RefCell},
    io,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::param::page_size;
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use self::range::AddressRange;
pub(super) use self::stack::MappedStacks;
use super::{interpreter::InstanceMemory, snapshot::ModuleImage};

/// Maximum number of unused memories, and of unused stacks, that are kept for the next instance.
const UNUSED: usize = 64;
/// Maximum size of unused memories together, in bytes. The latest one is kept in any case.
const UNUSED_BYTES: usize = 64 << 20;

tokio::task_local! {
    /// The image of the instance that this task makes.
    static IMAGE: InstanceImage;
}

/// The image of an instance, whose parts become its memories one after the other.
struct InstanceImage {
    image: Arc<ModuleImage>,
    next_part: Cell<usize>,
    /// The memories that were made.
    memories: RefCell<Vec<Arc<InstanceMemory>>>,
}

/// Makes an instance whose memories begin with those of `image`. Returns it with its memories.
pub(super) async fn with_image<T>(
    image: &Arc<ModuleImage>,
    instantiating: impl Future<Output = wasmtime::Result<T>>,
) -> wasmtime::Result<(T, Vec<Arc<InstanceMemory>>)> {
    let (image, next_part, memories) = (Arc::clone(image), Cell::new(0), RefCell::default());
    let image = InstanceImage { image, next_part, memories };
    let checked = async {
        let made = instantiating.await?;
        let has_all = IMAGE.with(|image| image.next_part.get() == image.image.parts().len());
        wasmtime::ensure!(has_all, "it has other memories than its image");
        Ok((made, IMAGE.with(|image| image.memories.take())))
    };
    IMAGE.scope(image, checked).await
}

/// The part of an image with which a memory begins.
#[derive(Clone)]
struct MemoryImage {
    image: Arc<ModuleImage>,
    part: usize,
}

impl MemoryImage {
    /// The next part of the image of this task. `None` if it makes an instance without an image.
    fn next() -> Result<Option<Self>, String> {
        let next = |InstanceImage { image, next_part, .. }: &InstanceImage| {
            let part = next_part.replace(next_part.get() + 1);
            match part < image.parts().len() {
                true => Ok(Self { image: Arc::clone(image), part }),
                false => Err("it has more memories than its image".to_owned()),
            }
        };
        IMAGE.try_with(next).ok().transpose()
    }

    fn len(&self) -> usize {
        self.image.parts()[self.part].len as usize
    }

    /// Offset in the file of the image.
    fn offset(&self) -> u64 {
        self.image.offset(self.part)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.image, &other.image) && self.part == other.part
    }
}

/// Makes memories, and keeps those that are given back.
#[derive(Clone, Default)]
pub(super) struct MappedMemories {
    unused: Arc<Mutex<Vec<UnusedMemory>>>,
}

/// A memory whose content is that of this image.
struct UnusedMemory {
    range: AddressRange,
    image: MemoryImage,
}

impl MappedMemories {
    /// The range of an unused memory with this image.
    fn unused(&self, len: usize, image: &MemoryImage) -> Option<AddressRange> {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |memory: &UnusedMemory| memory.range.len == len && memory.image.is(image);
        let place = unused.iter().rposition(same)?;
        Some(unused.remove(place).range)
    }

    fn put_back(&self, memory: UnusedMemory) {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.push(memory);
        let mut bytes = 0;
        let is_kept = |memory: &&UnusedMemory| {
            bytes += memory.image.len();
            bytes <= UNUSED_BYTES
        };
        let kept = unused.iter().rev().take(UNUSED).take_while(is_kept).count().max(1);
        let dropped = unused.len() - kept;
        let oldest: Vec<UnusedMemory> = unused.drain(..dropped).collect();
        // Its addresses are given back without the lock.
        drop(unused);
        drop(oldest);
    }

    fn memory(
        &self,
        minimum: usize,
        reserved: usize,
        guard: usize,
    ) -> Result<MappedMemory, String> {
        let image = MemoryImage::next()?;
        // An image is that of a memory that has grown since.
        let len = image.as_ref().map_or(minimum, MemoryImage::len);
        if len < minimum || len > reserved {
            return Err(format!("its memory has {len} bytes, and not {minimum} to {reserved}"));
        }
        let text = |error: io::Error| format!("its memory cannot be mapped: {error}");
        let all = guard + reserved + guard;
        let range = match image.as_ref().and_then(|image| self.unused(all, image)) {
            Some(range) => range,
            None => {
                let mut range = AddressRange::new(all).map_err(text)?;
                let pages = guard..guard + len;
                match &image {
                    Some(image) => range.map(pages, image.image.file(), image.offset()),
                    None => range.open(pages),
                }
                .map_err(text)?;
                range
            }
        };
        let seen = Arc::new(InstanceMemory::new(range.at(guard), len));
        // An instance without an image has no interpreter that is read.
        let _ = IMAGE.try_with(|image| image.memories.borrow_mut().push(Arc::clone(&seen)));
        Ok(MappedMemory {
            range: Some(range),
            len,
            guard,
            reserved,
            image,
            seen,
            all: self.clone(),
        })
    }
}

// SAFETY: a memory has `reserved` bytes of addresses and `guard` inaccessible ones behind (and
// before) them, which nothing else uses while it exists; those up to its length can be read and
// written, and all others cannot. Its bytes are zero, or those of its image, which are as good:
// they are what an instance of the same module had in its memory.
unsafe impl MemoryCreator for MappedMemories {
    fn new_memory(
        &self,
        _type: MemoryType,
        minimum: usize,
        _maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let reserved = reserved.unwrap_or(minimum).next_multiple_of(page_size());
        let guard = guard.next_multiple_of(page_size());
        Ok(Box::new(self.memory(minimum, reserved, guard)?))
    }
}

/// The memory of one instance.
struct MappedMemory {
    /// Taken when it is dropped.
    range: Option<AddressRange>,
    len: usize,
    guard: usize,
    reserved: usize,
    /// `None` if it began with zeros.
    image: Option<MemoryImage>,
    /// The memory as its instance sees it.
    seen: Arc<InstanceMemory>,
    all: MappedMemories,
}

// SAFETY: the memory stays where it is until it is dropped, its first `len` bytes can be read and
// written, and it grows within the addresses that were reserved for it.
unsafe impl LinearMemory for MappedMemory {
    fn byte_size(&self) -> usize {
        self.len
    }

    fn byte_capacity(&self) -> usize {
        self.reserved
    }

    fn grow_to(&mut self, len: usize) -> wasmtime::Result<()> {
        wasmtime::ensure!(len <= self.reserved, "a memory has {} bytes at most", self.reserved);
        let range = self.range.as_mut().expect("it is taken when the memory is dropped");
        if len > self.len {
            range.open(self.guard + self.len..self.guard + len)?;
            self.len = len;
            self.seen.set_len(len);
        }
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        let range = self.range.as_ref().expect("it is taken when the memory is dropped");
        range.at(self.guard)
    }
}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        self.seen.set_len(0);
        let (Some(mut range), Some(image)) = (self.range.take(), self.image.take()) else { return };
        let (start, len) = (self.guard, image.len());
        let reset = range
            .reset(start..start + len, image.image.file(), image.offset())
            .and_then(|()| range.close(start + len..start + self.len.max(len)));
        // If it cannot be reset, its addresses are given back.
        if reset.is_ok() {
            self.all.put_back(UnusedMemory { range, image });
        }
    }
}
