//! What the stores over SQL databases share: how rows are encoded, which of them a decision reads
//! and writes.
//!
//! Statements, transactions and failures are each database's own.

mod cache;
mod cell;
mod delta;
pub(in crate::store) mod dump;
mod fields;
mod journal;
mod page;
mod put;
mod resource;
mod rows;
mod schedule;
mod wipe;

pub(in crate::store) use cache::{Cache, Level};
pub(in crate::store) use cell::Cell;
pub(in crate::store) use delta::{Numbers, Written};
pub(in crate::store) use fields::Fields;
pub(in crate::store) use journal::JournalRow;
pub(in crate::store) use put::{
    put_callback, put_fact, put_head, put_lease, put_listener, put_message, put_promise,
    put_resource, put_schedule, put_signal_key, put_tail, readable, unreadable,
};
pub(in crate::store) use resource::{fact, lease, resource};
pub(in crate::store) use rows::{
    AFTER_PROMISE, counted, digest_at, event, head, id, log_lines, module, number, outbox,
    outbox_key, promise, promise_columns, promise_tables, ready, records, small, task, text, wake,
};
pub(in crate::store) use schedule::{schedule, schedule_columns};
pub(in crate::store) use wipe::WIPE;
