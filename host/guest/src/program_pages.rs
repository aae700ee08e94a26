//! The pages of the program itself: its code and constants, as the system maps them from its file.

use std::{fs, ops::Range};

/// Takes the program's code and constants out of the resident memory. The pages stay in the
/// system's cache of the file, from which the next use maps them again: 16 pages take some
/// microseconds. Most of them were only mapped beside one that was used, or were used once.
///
/// Does nothing where the mappings of the process cannot be read.
pub fn release_program_pages() {
    for pages in read_only_pages() {
        release(pages);
    }
}

/// Addresses of the program's pages that are never written, not even by the dynamic linker: those
/// that may be executed, and those at the beginning of the file.
fn read_only_pages() -> Vec<Range<usize>> {
    let (Ok(program), Ok(maps)) =
        (fs::read_link("/proc/self/exe"), fs::read_to_string("/proc/self/maps"))
    else {
        return Vec::new();
    };
    let program = program.to_string_lossy();
    maps.lines().filter_map(|line| read_only_range(line, &program)).collect()
}

/// The addresses of a line such as `5581c000-5581d000 r-xp 00001000 fe:00 1234  /bin/program`.
fn read_only_range(line: &str, program: &str) -> Option<Range<usize>> {
    let (addresses, rest) = line.split_once(' ')?;
    let (access, rest) = rest.split_once(' ')?;
    let offset = rest.split(' ').next()?;
    let is_first = usize::from_str_radix(offset, 16) == Ok(0);
    let is_read_only = access == "r-xp" || (access == "r--p" && is_first);
    if !is_read_only || !line.strip_suffix(program)?.ends_with(' ') {
        return None;
    }
    let (start, end) = addresses.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
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

#[cfg(test)]
mod tests {
    use super::{read_only_pages, read_only_range, release_program_pages};

    #[test]
    fn pages_that_may_have_been_written_are_not_the_programs() {
        let range = |line| read_only_range(line, "/bin/program");
        assert_eq!(range("1000-3000 r-xp 00001000 fe:00 12   /bin/program"), Some(0x1000..0x3000));
        assert_eq!(range("0fff-1000 r--p 00000000 fe:00 12   /bin/program"), Some(0xfff..0x1000));
        assert_eq!(range("3000-4000 r--p 00003000 fe:00 12   /bin/program"), None);
        assert_eq!(range("4000-5000 rw-p 00000000 fe:00 12   /bin/program"), None);
        assert_eq!(range("5000-6000 r-xp 00001000 fe:00 13   /lib/libc.so.6"), None);
        assert_eq!(range("6000-7000 r-xp 00001000 fe:00 14   /usr/bin/program"), None);
        assert_eq!(range("6000-7000 r-xp 00000000 00:00 0 "), None);
    }

    /// The program runs on, with less of itself in memory.
    #[cfg(target_os = "linux")]
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
