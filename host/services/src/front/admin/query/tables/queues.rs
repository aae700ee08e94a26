//! Concurrency rules and virtual queues. The tables are empty, but tools query them.

use super::{
    super::value::ColumnType::{Bool, Number, Text, Time},
    TableColumn,
};

/// Columns of `sys_rules`.
pub const RULES: [TableColumn; 6] = [
    TableColumn::new("pattern", Text),
    TableColumn::new("concurrency", Number),
    TableColumn::new("description", Text),
    TableColumn::new("disabled", Bool),
    TableColumn::new("version", Number),
    TableColumn::new("last_modified", Time),
];

/// Columns of `sys_vqueue_meta`.
pub const QUEUES: [TableColumn; 27] = [
    TableColumn::new("partition_key", Number),
    TableColumn::new("id", Text),
    TableColumn::new("is_active", Bool),
    TableColumn::new("queue_is_paused", Bool),
    TableColumn::new("service_name", Text),
    TableColumn::new("scope", Text),
    TableColumn::new("limit_key", Text),
    TableColumn::new("lock_name", Text),
    TableColumn::new("created_at", Time),
    TableColumn::new("last_enqueued_at", Time),
    TableColumn::new("last_start_at", Time),
    TableColumn::new("last_attempt_at", Time),
    TableColumn::new("last_finish_at", Time),
    TableColumn::new("avg_queue_duration", Number),
    TableColumn::new("avg_inbox_duration", Number),
    TableColumn::new("avg_run_duration", Number),
    TableColumn::new("avg_suspension_duration", Number),
    TableColumn::new("avg_end_to_end_duration", Number),
    TableColumn::new("avg_blocked_on_concurrency_rules", Number),
    TableColumn::new("avg_blocked_on_invoker_concurrency", Number),
    TableColumn::new("avg_blocked_on_invoker_throttling", Number),
    TableColumn::new("avg_blocked_on_lock", Number),
    TableColumn::new("num_inbox", Number),
    TableColumn::new("num_running", Number),
    TableColumn::new("num_suspended", Number),
    TableColumn::new("num_paused", Number),
    TableColumn::new("num_finished", Number),
];
