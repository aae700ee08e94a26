//! The allocator, and giving back what was freed.
//!
//! There are two heaps. Rust's gives back what is free by itself, a second later. That of the C library, which SQLite uses,
//! keeps most of it for whoever asks next.

/// Memory passes from thread to thread here: a command is made on one, decided on another, and its answer freed on a
/// third. This allocator is made for that; the system's spent a tenth of a step's time on it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Gives what is free in the C library's heap back to the system. It takes milliseconds: for when there is nothing else
/// to do.
pub fn give_back() {
    // SAFETY: it may be called at any time, and touches only what is free.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0)
    };
}
