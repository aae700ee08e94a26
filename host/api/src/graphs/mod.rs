//! Graphs: checking plans, starting runs, how a run stands, and its history.

mod examine;
mod history;
mod look;
mod start;

pub use history::history;
pub use look::{describe, plan};
pub use start::{check, retry, start};

// What the API's document is made from.
pub use history::__path_history;
pub use look::{__path_describe, __path_plan};
pub use start::{__path_check, __path_retry, __path_start};
