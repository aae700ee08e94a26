//! The pages of the program itself: its code and constants, as the system maps them from its file.

use std::ops::Range;

/// Takes the program's code and constants out of the resident memory. The pages stay in the
/// system's cache of the file, from which the next use maps them again: 16 pages take some
/// microseconds. Most of them were only mapped beside one that was used, or were used once.
///
/// Does nothing on systems other than Linux.
pub fn release_program_pages() {
    for pages in read_only_pages() {
        release(pages);
    }
}

/// Addresses of the program's pages that are never written, not even by the dynamic linker. The
/// linker names them: the system would list all mappings, of which a pool of instances has
/// thousands.
#[cfg(target_os = "linux")]
fn read_only_pages() -> Vec<Range<usize>> {
    use std::ffi::{c_int, c_void};

    /// Takes the pages of the first object, which is the program.
    unsafe extern "C" fn of_program(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        pages: *mut c_void,
    ) -> c_int {
        // SAFETY: the linker passes one of its objects, and the vector that it was called with.
        let (object, pages) = unsafe { (&*object, &mut *pages.cast::<Vec<Range<usize>>>()) };
        let count = usize::from(object.dlpi_phnum);
        // SAFETY: the object has this many segments.
        let segments = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, count) };
        let base = object.dlpi_addr as usize;
        pages.extend(segments.iter().filter_map(|segment| {
            let start = base + segment.p_vaddr as usize;
            read_only_range(segment.p_type, segment.p_flags, start, segment.p_memsz as usize)
        }));
        1
    }

    let mut pages = Vec::new();
    // SAFETY: the function takes what it is passed, and the vector outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(of_program), (&raw mut pages).cast()) };
    pages
}

#[cfg(not(target_os = "linux"))]
fn read_only_pages() -> Vec<Range<usize>> {
    Vec::new()
}

/// The whole pages of a segment that is loaded and cannot be written.
#[cfg(target_os = "linux")]
fn read_only_range(kind: u32, flags: u32, start: usize, len: usize) -> Option<Range<usize>> {
    let page = rustix::param::page_size();
    let is_read_only = kind == libc::PT_LOAD && flags & libc::PF_W == 0;
    is_read_only.then(|| start / page * page..(start + len).next_multiple_of(page))
}

#[cfg(target_os = "linux")]
fn release(pages: Range<usize>) {
    use rustix::mm::{Advice, madvise};

    let start = std::ptr::with_exposed_provenance_mut(pages.start);
    // SAFETY: the pages are a private mapping of the program's file that was never written, so their
    // next use reads the same content from the file.
    let released = unsafe { madvise(start, pages.len(), Advice::LinuxDontNeed) };
    if let Err(error) = released {
        tracing::debug!(%error, "the program's pages stay in memory");
    }
}

#[cfg(not(target_os = "linux"))]
fn release(_: Range<usize>) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{read_only_pages, read_only_range, release_program_pages};

    #[test]
    fn segments_that_may_be_written_are_not_released() {
        let page = rustix::param::page_size();
        let (readable, writable, executable) = (libc::PF_R, libc::PF_W, libc::PF_X);
        let of = |kind, flags| read_only_range(kind, flags, 3 * page + 1, page);
        assert_eq!(of(libc::PT_LOAD, readable), Some(3 * page..5 * page));
        assert_eq!(of(libc::PT_LOAD, readable | executable), Some(3 * page..5 * page));
        assert_eq!(of(libc::PT_LOAD, readable | writable), None);
        assert_eq!(of(libc::PT_GNU_RELRO, readable), None);
    }

    /// The program runs on, with less of itself in memory.
    #[test]
    fn the_program_leaves_the_resident_memory_and_runs_on() {
        let pages = read_only_pages();
        assert!(!pages.is_empty());
        // Each page is read once.
        let read = || {
            let bytes = pages.iter().cloned().flat_map(|range| range.step_by(4_096));
            let read = |at| {
                // SAFETY: the page is a readable mapping for as long as the program runs.
                unsafe { std::ptr::with_exposed_provenance::<u8>(at).read_volatile() }
            };
            bytes.map(read).fold(0_u8, u8::wrapping_add)
        };
        let sum = read();
        let before = resident_kb(&pages);
        release_program_pages();
        let after = resident_kb(&pages);
        assert!(after * 2 < before, "{after} of {before} kB");
        assert_eq!(read(), sum);
    }

    /// Resident memory of mappings, in kB.
    fn resident_kb(pages: &[std::ops::Range<usize>]) -> u64 {
        let starts: Vec<String> =
            pages.iter().map(|range| format!("{:x}-{:x} ", range.start, range.end)).collect();
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("the mappings");
        let mut is_ours = false;
        let mut sum = 0;
        for line in maps.lines() {
            if !line.starts_with(|first: char| first.is_ascii_uppercase()) {
                is_ours = starts.iter().any(|start| line.starts_with(start.as_str()));
            } else if let Some(size) = line.strip_prefix("Rss:").filter(|_| is_ours) {
                let size = size.trim().trim_end_matches(" kB");
                sum += size.parse::<u64>().expect("a size");
            }
        }
        sum
    }
}
