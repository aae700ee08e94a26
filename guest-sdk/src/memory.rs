//! The memory allocator of a module.
//!
//! The linker flags of `segno build` reserve a heap in the initial memory of an instance. Growing a
//! memory costs the host more than everything else that a small workflow does; this allocator grows
//! the memory only when that heap is used up. A module with its own allocator must disable the
//! default features of this package.

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
