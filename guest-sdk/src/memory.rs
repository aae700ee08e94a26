//! The memory of a module.
//!
//! `segno build` has the linker make a heap in the memory that an instance begins with. Growing a memory costs the host
//! more than everything else that a small workflow does, and this allocator grows it only when that heap is used up. A
//! module with an allocator of its own takes this package without its default features.

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
