//! Returns freed memory to the system.
//!
//! The process has two heaps. The threads of the command return free memory of its allocator when
//! they are asked. The C library's heap, which SQLite uses, keeps most free memory for later
//! allocations.

/// Returns free memory of the C library's heap to the system. Takes milliseconds: call it only when
/// idle.
pub(crate) fn give_back() {
    // SAFETY: `malloc_trim` may be called at any time, and affects only free memory.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0)
    };
}
