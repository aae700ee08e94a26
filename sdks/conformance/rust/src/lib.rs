//! The programs in Rust. Each has the name and the journal of the program in TypeScript and Python.

pub mod activities;
pub mod calls;
pub mod cancel;
pub mod errors;
pub mod generations;
pub mod graphs;
pub mod handlers;
pub mod http;
pub mod objects;
pub mod promises;
pub mod runs;
pub mod sagas;
pub mod signals;
pub mod streams;
pub mod time;
pub mod values;

use std::time::Duration;

use activities::*;
use calls::*;
use cancel::*;
use errors::*;
use generations::*;
use graphs::*;
use handlers::*;
use http::*;
use objects::*;
use promises::*;
use runs::*;
use sagas::*;
use signals::*;
use streams::*;
use time::*;
use values::*;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A length of time.
const fn millis(length: u64) -> Duration {
    Duration::from_millis(length)
}

/// The code of a failure, or 0.
fn code<T>(result: segno::Result<T>) -> u32 {
    result.err().map_or(0, |error| error.code())
}

segno::module!(
    facts,
    activity_facts,
    settings,
    activity_settings,
    stepwise,
    activity_progress,
    publish_log,
    recite,
    stream_write,
    double,
    part,
    child,
    middle,
    declined,
    sequence,
    fan_out_all,
    fan_out_failures,
    call_nested,
    call_failed,
    call_missing,
    call_wrong_input,
    child_send,
    send_at,
    limited,
    limits_labels,
    release,
    cancel_cleanup,
    cancel_answered,
    cancel_sleep,
    search,
    cancel_call,
    manager,
    cancel_tree,
    flaky,
    retry_then_fail,
    third,
    retry_then_success,
    picky,
    retry_never,
    failure_details,
    failure_of_call,
    unhandled_defect,
    host_failures,
    generation,
    generation_count,
    weigh,
    join,
    second_try,
    weights,
    graph_run,
    refuse,
    accept,
    breaks,
    graph_failure,
    is_known,
    query_update,
    votes,
    vote,
    close,
    updates_done,
    open,
    more,
    http_step,
    http_missing,
    http_broken,
    ask,
    http_activity,
    listen,
    http_pieces,
    http_headers,
    http_refused,
    Counter,
    object_counter,
    object_clear,
    object_keys,
    Gate,
    object_promise,
    object_once,
    object_queue,
    promise_timeout,
    promise_rejected,
    promise_early,
    settler,
    promise_given_away,
    promise_unknown,
    promise_cancelled,
    promise_twice,
    run_random,
    run_failed,
    run_order,
    book,
    unbook,
    refund,
    saga_undo,
    saga_done,
    saga_abort,
    saga_nested,
    saga_undo_fails,
    saga_cancelled,
    saga_http,
    named_signal_timeout,
    signal_race_loser,
    signal_order,
    signal_unread,
    signal_any,
    receiver,
    signal_sent,
    signal_unknown,
    signal_undeclared,
    signal_start,
    race_sleep,
    sleep_zero,
    sleep_until,
    sleep_past,
    sleep_together,
    sleepy,
    deadline_of_call,
    never,
    deadline_of_retries,
    interleaving,
    echo,
    value_numbers,
    value_texts,
    value_nested,
    value_null,
    value_empty,
    value_none,
    repeat,
    length,
    value_large,
    value_limit,
);
