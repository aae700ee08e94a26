//! The allocator of the command.

#![expect(unsafe_code, reason = "the crate of the allocator has no safe form of its call")]

/// Memory moves between threads here: a command is allocated on one, decided on another, and its
/// reply freed on a third. This allocator is made for that; the system's allocator took a tenth of
/// a step's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

unsafe extern "C" {
    /// Frees what the calling thread's heap no longer needs; with `force`, returns it to the system.
    fn mi_collect(force: bool);
}

/// Returns the free memory of the calling thread to the system.
pub(crate) fn collect() {
    // SAFETY: a function of the linked allocator, which may be called at any time on any thread.
    unsafe { mi_collect(true) };
}
