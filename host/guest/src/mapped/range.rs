//! Addresses of this process, and the pages that are mapped there.

use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt as _,
    ptr::{NonNull, null_mut},
    sync::OnceLock,
};

use rustix::{
    mm::{
        Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap,
    },
    param::page_size,
};

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

/// Addresses of this process that belong to one memory or stack.
pub(super) struct AddressRange {
    base: NonNull<u8>,
    pub(super) len: usize,
}

// SAFETY: the addresses belong to this value alone, whichever thread has it.
unsafe impl Send for AddressRange {}
// SAFETY: a shared reference gives only addresses.
unsafe impl Sync for AddressRange {}

impl AddressRange {
    /// Reserves whole pages, which are inaccessible.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses addresses that nothing uses.
        let base = unsafe { mmap_anonymous(null_mut(), len, ProtFlags::empty(), flags)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { base, len })
    }

    /// An address within the range, or its end.
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
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
    pub(super) fn open(&mut self, range: Range<usize>) -> io::Result<()> {
        let pages = self.pages(&range);
        // SAFETY: the pages belong to this range, and there is no reference to it.
        unsafe {
            mprotect(pages.cast(), range.len(), MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        Ok(())
    }

    /// Makes pages inaccessible, and forgets their content: if they are opened, they are zero.
    pub(super) fn close(&mut self, range: Range<usize>) -> io::Result<()> {
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
    pub(super) fn map(&mut self, range: Range<usize>, file: &File, offset: u64) -> io::Result<()> {
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
    pub(super) fn reset(
        &mut self,
        range: Range<usize>,
        file: &File,
        offset: u64,
    ) -> io::Result<()> {
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
}
