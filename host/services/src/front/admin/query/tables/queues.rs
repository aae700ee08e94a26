//! Concurrency rules and virtual queues. The tables are empty, but tools query them.

use super::{
    super::value::Kind::{Bool, Number, Text, Time},
    Column,
};

/// Columns of `sys_rules`.
pub const RULES: [Column; 6] = [
    Column::new("pattern", Text),
    Column::new("concurrency", Number),
    Column::new("description", Text),
    Column::new("disabled", Bool),
    Column::new("version", Number),
    Column::new("last_modified", Time),
];

/// Columns of `sys_vqueue_meta`.
pub const QUEUES: [Column; 27] = [
    Column::new("partition_key", Number),
    Column::new("id", Text),
    Column::new("is_active", Bool),
    Column::new("queue_is_paused", Bool),
    Column::new("service_name", Text),
    Column::new("scope", Text),
    Column::new("limit_key", Text),
    Column::new("lock_name", Text),
    Column::new("created_at", Time),
    Column::new("last_enqueued_at", Time),
    Column::new("last_start_at", Time),
    Column::new("last_attempt_at", Time),
    Column::new("last_finish_at", Time),
    Column::new("avg_queue_duration", Number),
    Column::new("avg_inbox_duration", Number),
    Column::new("avg_run_duration", Number),
    Column::new("avg_suspension_duration", Number),
    Column::new("avg_end_to_end_duration", Number),
    Column::new("avg_blocked_on_concurrency_rules", Number),
    Column::new("avg_blocked_on_invoker_concurrency", Number),
    Column::new("avg_blocked_on_invoker_throttling", Number),
    Column::new("avg_blocked_on_lock", Number),
    Column::new("num_inbox", Number),
    Column::new("num_running", Number),
    Column::new("num_suspended", Number),
    Column::new("num_paused", Number),
    Column::new("num_finished", Number),
];
