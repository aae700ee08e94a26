//! The common part of the SQL stores: the encoding of rows, and the rows that a decision reads and
//! writes.
//!
//! Statements, transactions and error handling are specific to each database.

mod cache;
mod cell;
mod delta;
pub(crate) mod dump;
mod examined;
mod failure;
mod fields;
mod journal;
pub(crate) mod large_value;
mod looks;
mod put;
pub(crate) mod read;
pub(crate) mod round;
mod rows;
pub(crate) mod table;
mod wipe;

pub(crate) use cache::{Cache, CacheLevel};
pub(crate) use cell::{CellRow, SqlCell};
pub(crate) use delta::{DeltaRows, RowIds};
pub(crate) use failure::{SqlFailure, unreadable};
pub(crate) use fields::RowFields;
pub(crate) use journal::JournalRow;
pub(crate) use looks::LoadRounds;
pub(crate) use put::{
    put_callback, put_head, put_listener, put_message, put_named, put_owned, put_promise,
    put_signal_key, put_tail, readable,
};
pub(crate) use rows::{
    AFTER_PROMISE, StoredPromise, counted, digest_at, event, head, id, inline_promise, log_lines,
    module, module_facts, module_facts_cells, module_facts_column, number, outbox, outbox_key,
    promise_columns, promise_tables, ready, records, records_in, records_list, small,
    stored_promise, task, text, wake,
};
pub(crate) use table::{
    ColumnKind, NAMED, NamedTable, OWNED, OwnedTable, STATE, STREAM_CHUNKS, SqlTable, schedule,
    schedule_columns, stream_chunk,
};
pub(crate) use wipe::wipe;
