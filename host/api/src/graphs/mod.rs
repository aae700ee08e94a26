//! Graphs: checking plans, starting runs, and how a run stands.

mod examine;
mod look;
mod start;

pub use look::{describe, plan};
pub use start::{check, retry, start};

// What the API's document is made from.
pub use look::{__path_describe, __path_plan};
pub use start::{__path_check, __path_retry, __path_start};
