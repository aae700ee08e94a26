//! Dispatch of the operations.

use super::{
    debug,
    envelope::{OperationResult, ResonateRequest},
    fence,
    handler::Resonate,
    promises,
    protocol_error::ProtocolError,
    schedules, search, tasks,
};

/// Answers a request with an authorized sender.
pub(super) async fn answer(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let _named = debug::at(front, request).await?;
    match request.kind.as_str() {
        "promise.get" => promises::get(front, request).await,
        "promise.create" => promises::create(front, request).await,
        "promise.settle" => promises::settle(front, request).await,
        "promise.register_callback" => promises::register_callback(front, request).await,
        "promise.register_listener" => promises::register_listener(front, request).await,
        "promise.search" => search::promises(front, request).await,
        "task.get" => tasks::get(front, request).await,
        "task.create" => tasks::create(front, request).await,
        "task.acquire" => tasks::acquire(front, request).await,
        "task.release" => tasks::release(front, request).await,
        "task.suspend" => tasks::suspend(front, request).await,
        "task.fulfill" => tasks::fulfill(front, request).await,
        "task.fence" => fence::fence(front, request).await,
        "task.heartbeat" => tasks::heartbeat(front, request).await,
        "task.halt" => tasks::halt(front, request).await,
        "task.continue" => tasks::proceed(front, request).await,
        "task.search" => search::tasks(front, request).await,
        "schedule.create" => schedules::create(front, request).await,
        "schedule.get" => schedules::get(front, request).await,
        "schedule.delete" => schedules::delete(front, request).await,
        "schedule.search" => schedules::search(front, request).await,
        kind if kind.starts_with("debug.") => debug::answer(front, request).await,
        kind => Err(ProtocolError::bad(format!("Unknown operation: {kind}"))),
    }
}
