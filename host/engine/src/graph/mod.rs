//! A graph run without its I/O. Its next step follows from the plan, the stored rows of its nodes
//! and the promises of their attempts. `segno_graph` decides. This module turns decisions into
//! actions under the run's claim, and settled promises into facts.

mod attempt;
mod coordinator;
mod outcome;
mod outputs;
mod parts;
mod report;

pub use attempt::OwnModule;
pub use coordinator::{Coordinator, KEPT_OUTPUTS, MAX_INPUT, MAX_OUTPUT, ReusedNode};
pub use outcome::SettledPromise;
pub use parts::OutputParts;
pub use report::RunEnd;
