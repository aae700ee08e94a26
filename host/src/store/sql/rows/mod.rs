//! Rows as the core knows them, and as the tables of every database hold them: a file a table, and what their columns have
//! in common.

mod column;
mod promise;

mod journal;
mod module;
mod outbox;
mod task;

#[cfg(test)]
mod golden;

pub(super) use column::{at, damaged, headers, json, needed, tags, value};
pub(in crate::store) use column::{id, number, small, text};
pub(in crate::store::sql) use journal::encode_lines;
pub(in crate::store) use journal::{decoded, head, log_lines, records};
pub(in crate::store) use module::{counted, digest_at, module};
pub(in crate::store) use outbox::{event, outbox, outbox_cells, outbox_key, outbox_key_cells};
pub(in crate::store) use promise::{
    AFTER_PROMISE, new_promise, promise, promise_columns, promise_tables, settlement,
};
pub(in crate::store) use task::{ready, task, task_cells, wake};
