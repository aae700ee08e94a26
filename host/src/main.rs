//! The command `segno`.
fn main() {}
