//! The linear memories and stacks of instances of source modules. A memory begins with the image of
//! its module, which is mapped from a file: a page is copied when its instance first writes to it.
//!
//! A memory that is given back is used again by the next instance of the same module. The pages that
//! were written are read again from the image, which costs less than to copy them at page faults;
//! from a certain number on, the system forgets them.
//!
//! wasmtime asks for a memory while it makes an instance, and names no instance. So the image is
//! that of the task that makes it ([`with_image`]).

use std::{
    cell::{Cell, RefCell},
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt as _,
    ptr::{NonNull, null_mut},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use rustix::{
    mm::{
        Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap,
    },
    param::page_size,
};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType, StackCreator, StackMemory};

use super::{interpreter::InstanceMemory, snapshot::ModuleImage};

/// Maximum number of unused memories, and of unused stacks, that are kept for the next instance.
const UNUSED: usize = 64;
/// Maximum size of unused memories together, in bytes. The latest one is kept in any case.
const UNUSED_BYTES: usize = 64 << 20;
/// Maximum number of bytes of an unused memory that stay resident, which saves page faults for the
/// next instance.
const RESIDENT_BYTES: usize = 4 << 20;
/// Size of an entry of the page map, in bytes.
const ENTRY_BYTES: usize = 8;
/// Bits of an entry of the page map: the page is present, it is not in memory but elsewhere, and it
/// is one of a file.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;

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

/// Makes stacks, and keeps those that are given back.
#[derive(Clone, Default)]
pub(super) struct MappedStacks {
    unused: Arc<Mutex<Vec<AddressRange>>>,
}

// SAFETY: a stack is used by nothing else while it exists, its addresses are whole pages, and those
// of the guard below it are never accessible.
unsafe impl StackCreator for MappedStacks {
    fn new_stack(&self, size: usize, zeroed: bool) -> wasmtime::Result<Box<dyn StackMemory>> {
        let guard = page_size();
        let all = guard + size.next_multiple_of(guard);
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let range = unused.pop_if(|range| !zeroed && range.len == all);
        drop(unused);
        let range = match range {
            Some(range) => range,
            None => {
                let mut range = AddressRange::new(all)?;
                range.open(guard..all)?;
                range
            }
        };
        Ok(Box::new(MappedStack { range: Some(range), guard, all: self.clone() }))
    }
}

/// The stack of one instance.
struct MappedStack {
    /// Taken when it is dropped.
    range: Option<AddressRange>,
    guard: usize,
    all: MappedStacks,
}

impl MappedStack {
    fn range(&self) -> &AddressRange {
        self.range.as_ref().expect("it is taken when the stack is dropped")
    }
}

// SAFETY: the addresses are those of the stack, which is made of whole pages, and the page below it
// is inaccessible.
unsafe impl StackMemory for MappedStack {
    fn top(&self) -> *mut u8 {
        self.range().at(self.range().len)
    }

    fn range(&self) -> Range<usize> {
        let range = self.range();
        range.at(self.guard).addr()..range.at(range.len).addr()
    }

    fn guard_range(&self) -> Range<*mut u8> {
        self.range().at(0)..self.range().at(self.guard)
    }
}

impl Drop for MappedStack {
    fn drop(&mut self) {
        let Some(range) = self.range.take() else { return };
        let mut unused = self.all.unused.lock().unwrap_or_else(PoisonError::into_inner);
        if unused.len() < UNUSED {
            unused.push(range);
        }
    }
}

/// Addresses of this process that belong to one memory or stack.
struct AddressRange {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the addresses belong to this value alone, whichever thread has it.
unsafe impl Send for AddressRange {}
// SAFETY: a shared reference gives only addresses.
unsafe impl Sync for AddressRange {}

impl AddressRange {
    /// Reserves whole pages, which are inaccessible.
    fn new(len: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses addresses that nothing uses.
        let base = unsafe { mmap_anonymous(null_mut(), len, ProtFlags::empty(), flags)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { base, len })
    }

    /// An address within the range, or its end.
    fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.len, "an address belongs to the range");
        self.base.as_ptr().wrapping_add(offset)
    }

    fn pages(&self, range: &Range<usize>) -> *mut u8 {
        assert!(range.start <= range.end && range.end <= self.len, "pages belong to the range");
        let is_whole = |address: usize| address.is_multiple_of(page_size());
        assert!(is_whole(range.start) && is_whole(range.end), "pages are whole");
        self.at(range.start)
    }

    /// Makes pages accessible.
    fn open(&mut self, range: Range<usize>) -> io::Result<()> {
        let pages = self.pages(&range);
        // SAFETY: the pages belong to this range, and there is no reference to it.
        unsafe {
            mprotect(pages.cast(), range.len(), MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        Ok(())
    }

    /// Makes pages inaccessible, and forgets their content: if they are opened, they are zero.
    fn close(&mut self, range: Range<usize>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let pages = self.pages(&range);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: the pages belong to this range, and there is no reference to it, so nothing else
        // is replaced.
        unsafe {
            mmap_anonymous(pages.cast(), range.len(), ProtFlags::empty(), flags)?;
        }
        Ok(())
    }

    /// Maps a file at this offset, and makes the pages accessible. What is written to them stays in
    /// this range.
    fn map(&mut self, range: Range<usize>, file: &File, offset: u64) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let pages = self.pages(&range);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        // SAFETY: the pages belong to this range, and there is no reference to it, so nothing else
        // is replaced. Only the cache of this host writes its files, and it replaces whole files.
        unsafe {
            mmap(pages.cast(), range.len(), access, flags, file, offset)?;
        }
        Ok(())
    }

    /// Returns the content of pages to that of the file which is mapped there, from this offset.
    ///
    /// # Errors
    /// The system does not do that.
    fn reset(&mut self, range: Range<usize>, file: &File, offset: u64) -> io::Result<()> {
        if !cfg!(target_os = "linux") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let Some(written) = self.written(&range) else { return self.forget(range) };
        let mut resident = 0;
        for pages in written {
            resident += pages.len();
            if resident > RESIDENT_BYTES {
                return self.forget(pages.start..range.end);
            }
            let at = self.pages(&pages);
            // SAFETY: the pages belong to this range and are accessible, and there is no other
            // reference to them.
            let content = unsafe { std::slice::from_raw_parts_mut(at, pages.len()) };
            file.read_exact_at(content, offset + (pages.start - range.start) as u64)?;
        }
        Ok(())
    }

    /// The pages in this range that differ from the file which is mapped there, with adjacent ones
    /// merged. `None` if the system does not say it.
    fn written(&self, range: &Range<usize>) -> Option<Vec<Range<usize>>> {
        static PAGE_MAP: OnceLock<Option<File>> = OnceLock::new();
        let page_map = PAGE_MAP.get_or_init(|| File::open("/proc/self/pagemap").ok()).as_ref()?;
        let mut entries = vec![0; range.len() / page_size() * ENTRY_BYTES];
        let first = self.pages(range).addr() / page_size() * ENTRY_BYTES;
        page_map.read_exact_at(&mut entries, first as u64).ok()?;
        let mut written: Vec<Range<usize>> = Vec::new();
        for (n, entry) in entries.as_chunks::<ENTRY_BYTES>().0.iter().enumerate() {
            let entry = u64::from_ne_bytes(*entry);
            if entry & SWAPPED == 0 && entry & (PRESENT | OF_FILE) != PRESENT {
                continue;
            }
            let start = range.start + n * page_size();
            match written.last_mut() {
                Some(last) if last.end == start => last.end += page_size(),
                _ => written.push(start..start + page_size()),
            }
        }
        Some(written)
    }

    /// Forgets what was written to pages.
    fn forget(&mut self, range: Range<usize>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let pages = self.pages(&range);
        // SAFETY: the pages belong to this range, and there is no reference to their content.
        unsafe { madvise(pages.cast(), range.len(), Advice::LinuxDontNeed)? };
        Ok(())
    }
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        // SAFETY: the addresses were mapped by `new`, and nothing uses them any more.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "whole ranges are unmapped: {unmapped:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this many pages, each of which is full of its number.
    fn file(pages: usize) -> File {
        let file = tempfile::tempfile().expect("there is room for a file");
        for page in 0..pages {
            let content = vec![page as u8; page_size()];
            file.write_all_at(&content, (page * page_size()) as u64).expect("it is written");
        }
        file
    }

    fn bytes(range: &mut AddressRange, pages: Range<usize>) -> &mut [u8] {
        let (start, len) = (pages.start * page_size(), pages.len() * page_size());
        // SAFETY: the pages are accessible, and borrowed from the range.
        unsafe { std::slice::from_raw_parts_mut(range.at(start), len) }
    }

    #[test]
    fn a_reset_returns_what_was_written_to_the_content_of_the_file() {
        let most = RESIDENT_BYTES / page_size();
        let pages = most + 8;
        let file = file(pages + 1);
        let offset = page_size() as u64;
        let all = 2 * page_size()..(2 + pages) * page_size();
        let mut range = AddressRange::new((3 + pages) * page_size()).expect("there are addresses");
        range.map(all.clone(), &file, offset).expect("it is mapped");
        for written in [0..0, 3..4, 0..most, 0..most + 1, 0..pages] {
            let content = bytes(&mut range, 2 + written.start..2 + written.end);
            content.fill(0xff);
            let found = range.written(&all).expect("the system says it");
            let pages_found: usize = found.iter().map(|pages| pages.len() / page_size()).sum();
            assert!(pages_found >= written.len(), "{written:?}: {found:?}");
            range.reset(all.clone(), &file, offset).expect("it is reset");
            for page in 0..pages {
                let content = bytes(&mut range, 2 + page..3 + page);
                assert!(
                    content.iter().all(|byte| *byte == (page + 1) as u8),
                    "{written:?}: {page}"
                );
            }
        }
        // The file is as it was.
        let mut first = [0];
        file.read_exact_at(&mut first, offset).expect("it can be read");
        assert_eq!(first, [1]);
    }

    #[test]
    fn pages_beyond_the_limit_do_not_stay_resident() {
        let most = RESIDENT_BYTES / page_size();
        let file = file(most + 8);
        let all = 0..(most + 8) * page_size();
        let mut range = AddressRange::new(all.end).expect("there are addresses");
        range.map(all.clone(), &file, 0).expect("it is mapped");
        bytes(&mut range, 0..most + 8).fill(0xff);
        range.reset(all.clone(), &file, 0).expect("it is reset");
        let resident = range.written(&all).expect("the system says it");
        assert!(resident.iter().map(Range::len).sum::<usize>() <= RESIDENT_BYTES, "{resident:?}");
    }

    #[test]
    fn closed_pages_are_zero_when_they_are_opened_again() {
        let mut range = AddressRange::new(4 * page_size()).expect("there are addresses");
        range.open(page_size()..3 * page_size()).expect("it is opened");
        bytes(&mut range, 1..3).fill(7);
        range.close(2 * page_size()..3 * page_size()).expect("it is closed");
        range.open(2 * page_size()..3 * page_size()).expect("it is opened");
        assert!(bytes(&mut range, 1..2).iter().all(|byte| *byte == 7));
        assert!(bytes(&mut range, 2..3).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn an_unused_stack_is_used_again_unless_it_has_to_be_zero() {
        let stacks = MappedStacks::default();
        let first = stacks.new_stack(100_000, false).expect("there are addresses");
        let addresses = first.range();
        assert!(addresses.len() >= 100_000 && first.top().addr() == addresses.end);
        assert_eq!(first.guard_range().end.addr(), addresses.start);
        drop(first);
        let other = stacks.new_stack(200_000, false).expect("there are addresses");
        let zeroed = stacks.new_stack(100_000, true).expect("there are addresses");
        assert!(zeroed.range() != addresses && other.range() != addresses);
        let again = stacks.new_stack(100_000, false).expect("there are addresses");
        assert_eq!(again.range(), addresses);
    }
}
