//! What the suites share: components built once, and a world in virtual time.

pub mod guests;
pub mod world;
