//! The linear memory of an instance, read by the host while the instance does not run.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The addresses of a memory that an instance has.
pub(crate) struct InstanceMemory {
    base: usize,
    /// Zero once the memory is dropped.
    len: AtomicUsize,
}

impl InstanceMemory {
    pub(crate) fn new(base: *mut u8, len: usize) -> Self {
        Self { base: base.expose_provenance(), len: AtomicUsize::new(len) }
    }

    /// Sets the length, up to which the memory can be read and written.
    pub(crate) fn set_len(&self, len: usize) {
        self.len.store(len, Ordering::Relaxed);
    }

    /// The bytes of the memory.
    ///
    /// # Safety
    /// The instance exists, and does not run while the bytes are borrowed.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the caller makes sure that the memory exists and does not change.
        unsafe { std::slice::from_raw_parts(self.start(), self.len.load(Ordering::Relaxed)) }
    }

    /// The bytes of the memory, to change them.
    ///
    /// # Safety
    /// As for [`InstanceMemory::bytes`], and there is no other reference to the bytes.
    #[expect(clippy::mut_from_ref, reason = "the bytes are not part of this value")]
    pub(super) unsafe fn bytes_mut(&self) -> &mut [u8] {
        // SAFETY: the caller makes sure that the memory exists and that nothing else uses it.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len.load(Ordering::Relaxed)) }
    }

    fn start(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.base)
    }
}

/// Reads little-endian numbers at addresses of a 32-bit memory. `None` beyond its end.
pub(super) trait Words {
    fn u8_at(&self, at: usize) -> Option<u8>;
    fn u32_at(&self, at: usize) -> Option<u32>;
    fn u64_at(&self, at: usize) -> Option<u64>;
    /// The address that is stored at an address. `None` if it is null.
    fn pointer_at(&self, at: usize) -> Option<usize>;
    /// `len` bytes.
    fn slice_at(&self, at: usize, len: usize) -> Option<&[u8]>;
}

impl Words for [u8] {
    fn u8_at(&self, at: usize) -> Option<u8> {
        self.get(at).copied()
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        self.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn u64_at(&self, at: usize) -> Option<u64> {
        self.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    fn pointer_at(&self, at: usize) -> Option<usize> {
        self.u32_at(at).filter(|pointer| *pointer != 0).map(|pointer| pointer as usize)
    }

    fn slice_at(&self, at: usize, len: usize) -> Option<&[u8]> {
        self.get(at..at.checked_add(len)?)
    }
}
