//! Storage: each command loads the rows it needs, lets the core decide, and writes the delta, in
//! one transaction.
//!
//! The stores know rows and transactions, but no rules: [`segno_core::transition::transition`]
//! makes every decision, the same over memory, SQLite and PostgreSQL.

mod admissions;
pub mod archive;
mod call_tree;
pub mod conformance;
mod current_shards;
mod diagnosis;
mod error;
mod gather;
mod heap;
mod hints;
mod invocation_filter;
mod limits;
mod memory;
mod merged;
mod modules;
mod objects;
mod order;
mod promise_filter;
mod query;
mod read;
mod size;
mod sql;

pub mod postgres;
mod scan;
pub mod sqlite;
mod store;
mod work_queue;
mod writing;

#[cfg(test)]
mod tests;

pub use admissions::{AdmittedFilter, LimitFilter, LimitRow, PartitionFilter};
pub use call_tree::{CallTree, ChildRow, ParentCursor, TreeNeighbours};
pub use diagnosis::{Diagnosis, StoreProblem, examine, examine_pages};
pub use error::StoreError;
pub use gather::{GatherError, GatherReason, GatherSelection, GatherSink, RequestedExecutions};
pub use hints::{CommitMetrics, Hints};
pub use memory::MemoryStore;
pub use modules::{Modules, NewModule};
pub use objects::{ObjectFilter, ObjectRow, StateSize};
pub use query::{
    COUNTED, DueWork, EventPosition, EventRow, ExecutionHistory, InvocationFilter, InvocationRow,
    LogRow, ModuleRow, Page, PromiseFilter, PromiseRow, PromiseSize, PromiseStateFilter, ReadyTask,
    ScheduleFilter, SchedulePage, StateCounts, StoreCounts, TaskWake, UnreadableEntity, WaitEdges,
};
pub use read::{BUDGETS_MAX, Read};
pub use scan::{ExaminedPage, LimitCount, Scan, ScanPage};
pub use size::{FunctionSize, ModuleSize, PartSize, SizeReport, TreeSize};
pub use store::Store;
pub use work_queue::WorkQueue;
