//! Graphs: checking plans, starting runs, reading the state and the history of a run.

mod examine;
mod history;
mod look;
mod start;

pub(crate) use history::history;
pub(crate) use look::{describe, plan};
pub(crate) use start::{check, retry, start};

// For the OpenAPI document.
pub(crate) use history::__path_history;
pub(crate) use look::{__path_describe, __path_plan};
pub(crate) use start::{__path_check, __path_retry, __path_start};
