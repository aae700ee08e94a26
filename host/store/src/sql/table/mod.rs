//! Descriptions of the tables outside of promise composites. The statements for both databases,
//! dumps, wiping, and the writing of deltas are derived from them.
//!
//! A new kind of row needs a file here, an entry in [`NAMED`] or [`OWNED`], and a migration for
//! each database.

mod budget;
mod fact;
mod graph_fact;
mod graph_node;
mod layout;
mod lease;
mod limit;
mod line;
mod named;
mod owned;
mod partition;
mod place;
mod resource;
mod schedule;
mod state;
mod stream;
mod stream_chunk;
mod tree_count;

pub(crate) use self::{
    budget::budget,
    fact::fact,
    graph_fact::graph_fact,
    graph_node::graph_node,
    layout::{ColumnKind, ConflictRule, SqlTable},
    limit::limit,
    line::line,
    named::NamedTable,
    owned::OwnedTable,
    partition::partition,
    place::place,
    schedule::{schedule, schedule_columns},
    state::{STATE, StateRows, state, state_list},
    stream::stream,
    stream_chunk::{STREAM_CHUNKS, StreamDataRows, stream_chunk},
};

/// The tables of composites, except for promises, which these rows reference.
pub(crate) const PARTS: [&str; 7] =
    ["callbacks", "listeners", "outbox", "journal", "logs", "signal_keys", "tasks"];

/// All named tables, in the order in which their rows are locked.
pub(crate) static NAMED: [NamedTable; 9] = [
    schedule::ROWS,
    resource::ROWS,
    lease::ROWS,
    line::ROWS,
    limit::ROWS,
    partition::ROWS,
    tree_count::ROWS,
    budget::ROWS,
    stream::ROWS,
];

/// All owned tables.
pub(crate) static OWNED: [OwnedTable; 4] =
    [fact::ROWS, graph_fact::ROWS, graph_node::ROWS, place::ROWS];

/// The tables of composites, and the tables described here.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    let named = NAMED.iter().map(|named| named.table.name);
    let owned = OWNED.iter().map(|owned| owned.table.name);
    let others = ["promises", STATE.name, STREAM_CHUNKS.name, "value_uses", "value_chunks"];
    PARTS.into_iter().chain(others).chain(named).chain(owned)
}
