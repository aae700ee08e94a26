//! A graph run, without its I/O: what it does next follows from its plan, what is stored of its
//! nodes and the promises of their attempts. `segno_graph` decides; here its decisions become
//! actions under the run's claim, and settled promises become facts.

mod attempt;
mod coordinator;
mod outcome;
mod outputs;
mod parts;
mod report;

pub use attempt::OwnModule;
pub use coordinator::{Coordinator, KEPT_OUTPUTS, MAX_INPUT, MAX_OUTPUT, TakenOver};
pub use outcome::Settled;
pub use parts::OutputParts;
pub use report::End;
