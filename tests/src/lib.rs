//! Shared parts of the suites: components built once, a host in virtual time, real processes, and
//! printed seeds.

pub mod chaos;
pub mod documents;
pub mod endpoint_world;
mod front;
pub mod fuzz;
pub mod graphs;
pub mod guests;
pub mod host_group;
pub mod kills;
pub mod linear;
pub mod order_edits;
pub mod packages;
pub mod parallel;
pub mod payments;
pub mod planned_orders;
pub mod recording;
pub mod replaying;
pub mod rerun;
pub mod resonate;
pub mod restate;
pub mod seed;
pub mod shell;
pub mod sim;
pub mod test_host;
pub mod world;
