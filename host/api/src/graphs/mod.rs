//! Graphs: checking plans, starting runs, reading the state and the history of a run.

mod examine;
mod history;
mod look;
mod start;

pub use history::history;
pub use look::{describe, plan};
pub use start::{check, retry, start};

// For the OpenAPI document.
pub use history::__path_history;
pub use look::{__path_describe, __path_plan};
pub use start::{__path_check, __path_retry, __path_start};
