//! Converts rows between the core's types and the tables, the same for every database: one file per
//! table, and the common column functions.

mod column;
mod promise;

mod journal;
mod module;
mod outbox;
mod task;

#[cfg(test)]
mod golden;

pub(super) use column::{at, damaged, headers, json, needed, tags, value};
pub(crate) use column::{id, number, small, text};
pub(in crate::sql) use journal::encode_lines;
pub(crate) use journal::{decoded, head, log_lines, records, records_in, records_list};
pub(crate) use module::{
    counted, digest_at, module, module_facts, module_facts_cells, module_facts_column,
};
pub(crate) use outbox::{event, outbox, outbox_cells, outbox_key, outbox_key_cells};
pub(crate) use promise::{
    AFTER_PROMISE, StoredPromise, inline_promise, new_promise, promise_columns, promise_tables,
    settlement, stored_promise,
};
pub(crate) use task::{ready, task, task_cells, wake};
