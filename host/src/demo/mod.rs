//! The main job from end to end, with real processes: `segno demo`.

pub mod payments;
pub mod process;
