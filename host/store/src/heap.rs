//! Giving back what was freed.
//!
//! There are two heaps. That of the command's allocator gives back what is free by itself, a second
//! later. That of the C library, which SQLite uses, keeps most of it for later allocations.

/// Gives what is free in the C library's heap back to the system. It takes milliseconds: for when
/// there is nothing else to do.
pub(crate) fn give_back() {
    // SAFETY: it may be called at any time, and touches only what is free.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0)
    };
}
