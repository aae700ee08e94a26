//! The columns of the tables, in the order in which `SELECT *` returns them.

use super::value::ColumnType;

/// A column of a table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TableColumn {
    /// Name of the column.
    pub name: &'static str,
    /// Type of the column.
    pub kind: ColumnType,
}

macro_rules! columns {
    ($($(#[$about:meta])* $table:ident = $($name:ident $kind:ident),+;)+) => {$(
        $(#[$about])*
        pub(super) const $table: &[TableColumn] =
            &[$(TableColumn { name: stringify!($name), kind: ColumnType::$kind }),+];
    )+};
}

columns! {
    /// Columns of `sys_invocation`. Some are never set, because hosts lack
    /// the data, but tools select them.
    INVOCATION =
        id Text, target Text, target_service_name Text, target_service_key Text,
        target_handler_name Text, target_service_ty Text, scope Text, limit_key Text,
        idempotency_key Text, invoked_by Text, invoked_by_service_name Text, invoked_by_id Text,
        invoked_by_subscription_id Text, invoked_by_target Text, restarted_from Text,
        pinned_deployment_id Text, pinned_service_protocol_version Number, trace_id Text,
        journal_size Number, journal_commands_size Number, created_at Time,
        created_using_restate_version Text, modified_at Time, inboxed_at Time, scheduled_at Time,
        scheduled_start_at Time, running_at Time, completed_at Time, completion_retention Text,
        journal_retention Text, suspended_waiting_for_completions Text,
        suspended_waiting_for_signals Text, retry_count Number, last_start_at Time,
        next_retry_at Time, last_attempt_deployment_id Text, last_attempt_server Text,
        last_failure Text, last_failure_error_code Text, last_failure_related_entry_index Number,
        last_failure_related_entry_name Text, last_failure_related_entry_type Text,
        last_failure_related_command_index Number, last_failure_related_command_name Text,
        last_failure_related_command_type Text, status Text, completion_result Text,
        completion_failure Text, completion_failure_code Number, partition_key Number,
        output_journal_index Number;
    /// Columns of `sys_inbox`.
    INBOX =
        service_name Text, scope Text, service_key Text, id Text, target Text, created_at Time,
        sequence_number Number, partition_key Number;
    /// Columns of `sys_journal`.
    JOURNAL =
        id Text, index Number, entry_type Text, name Text, completed Bool, invoked_id Text,
        invoked_target Text, sleep_wakeup_at Time, promise_name Text, version Number,
        entry_json Text, entry_lite_json Text, appended_at Time, raw Bytes, partition_key Number;
    /// Columns of `sys_journal_events`.
    JOURNAL_EVENTS =
        id Text, after_journal_entry_index Number, appended_at Time, event_type Text,
        event_json Text, partition_key Number;
    /// Columns of `state`.
    STATE =
        service_name Text, scope Text, service_key Text, key Text, key_length Number,
        value_utf8 Text, value Bytes, value_length Number, partition_key Number;
    /// Columns of `sys_keyed_service_status`.
    TURNS =
        service_name Text, scope Text, service_key Text, invocation_id Text, partition_key Number;
    /// Columns of `sys_promise`.
    PROMISE =
        service_name Text, scope Text, service_key Text, key Text, completed Bool,
        completion_success_value Bytes, completion_success_value_utf8 Text, completion_failure Text,
        partition_key Number;
    /// Columns of `sys_service`.
    SERVICE =
        name Text, revision Number, public Bool, ty Text, deployment_id Text;
    /// Columns of `sys_deployment`.
    DEPLOYMENT =
        id Text, ty Text, endpoint Text, created_at Time, min_service_protocol_version Number,
        max_service_protocol_version Number;
    /// Columns of `sys_rules`. The table is empty, but tools query it.
    RULES =
        pattern Text, concurrency Number, description Text, disabled Bool, version Number,
        last_modified Time;
    /// Columns of `sys_vqueue_meta`. The table is empty, but tools query it.
    QUEUES =
        partition_key Number, id Text, is_active Bool, queue_is_paused Bool, service_name Text,
        scope Text, limit_key Text, lock_name Text, created_at Time, last_enqueued_at Time,
        last_start_at Time, last_attempt_at Time, last_finish_at Time, avg_queue_duration Number,
        avg_inbox_duration Number, avg_run_duration Number, avg_suspension_duration Number,
        avg_end_to_end_duration Number, avg_blocked_on_concurrency_rules Number,
        avg_blocked_on_invoker_concurrency Number, avg_blocked_on_invoker_throttling Number,
        avg_blocked_on_lock Number, num_inbox Number, num_running Number, num_suspended Number,
        num_paused Number, num_finished Number;
    /// Columns of `information_schema.tables`.
    TABLES =
        table_catalog Text, table_schema Text, table_name Text, table_type Text;
    /// Columns of `information_schema.columns`.
    COLUMNS =
        table_catalog Text, table_schema Text, table_name Text, column_name Text,
        ordinal_position Number, is_nullable Text, data_type Text;
}
