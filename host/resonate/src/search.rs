//! Searches promises and tasks, in pages by id.

use segno_core::{
    command::Command,
    id::PromiseId,
    promise::{TaskStatus, Verdict},
    reply::Reply,
    value::Tags,
};
use segno_store::{PromiseFilter, PromiseRow, PromiseStateFilter};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{
    debug,
    envelope::{OperationResult, ResonateAnswer, ResonateRequest},
    handler::{Resonate, unexpected},
    protocol_error::ProtocolError,
    values::stored_tags,
    wire,
};

const DEFAULT: u32 = 100;
const MOST: u32 = 1_000;

#[derive(Deserialize)]
struct SearchData {
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    tags: Option<Tags>,
    #[serde(default)]
    limit: Option<u32>,
    #[serde(default)]
    cursor: Option<String>,
}

pub(super) async fn promises(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    request.may_all()?;
    let search: SearchData = request.read()?;
    let standing = search.state.as_deref().map(standing).transpose()?;
    let tags = stored_tags(search.tags.clone().unwrap_or_default());
    let filter = PromiseFilter { standing, tags, ..page(&search)? };
    let (rows, cursor) = found(front, filter).await?;
    let records: Vec<Json> =
        current(front, rows).await?.iter().map(|row| wire::promise(&row.promise)).collect();
    Ok(ResonateAnswer::ok(paged(json!({ "promises": records }), cursor)))
}

pub(super) async fn tasks(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    request.may_all()?;
    let search: SearchData = request.read()?;
    let status = search.state.as_deref().map(status).transpose()?;
    let filter = PromiseFilter { tasks: true, status, ..page(&search)? };
    let (rows, cursor) = found(front, filter).await?;
    let gets = rows.iter().map(|row| Command::TaskGet { id: row.promise.id().clone() }).collect();
    let mut records = Vec::new();
    for reply in front.host.store.execute(gets).await? {
        match reply {
            Reply::Task(task) => records.push(super::wire::task(&task.task, task.resumes)),
            // The promise has been pruned since.
            Reply::Refused(_) => {}
            other => return Err(unexpected(&other)),
        }
    }
    Ok(ResonateAnswer::ok(paged(json!({ "tasks": records }), cursor)))
}

/// Brings the rows up to date: deadlines that have passed are executed first.
pub(super) async fn current(
    front: &Resonate,
    mut rows: Vec<PromiseRow>,
) -> Result<Vec<PromiseRow>, ProtocolError> {
    let now = debug::now(front);
    let overdue: Vec<PromiseId> = (rows.iter())
        .filter(|row| row.promise.is_overdue(now))
        .map(|row| row.promise.id().clone())
        .collect();
    if overdue.is_empty() {
        return Ok(rows);
    }
    let due = overdue.iter().map(|id| Command::PromiseDue { id: id.clone() }).collect();
    front.host.store.execute(due).await?;
    for row in rows.iter_mut().filter(|row| row.promise.is_overdue(now)) {
        if let Some(settled) = front.host.store.read().promise(row.promise.id()).await? {
            *row = settled;
        }
    }
    Ok(rows)
}

fn page(search: &SearchData) -> Result<PromiseFilter, ProtocolError> {
    let limit = search.limit.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&limit) {
        return Err(ProtocolError::bad(format!("`limit` must be between 1 and {MOST}")));
    }
    let after = search.cursor.as_deref().map(PromiseId::from);
    Ok(PromiseFilter { after, limit, ..PromiseFilter::default() })
}

/// Reads a page, and the cursor of the next one if there is one.
async fn found(
    front: &Resonate,
    filter: PromiseFilter,
) -> Result<(Vec<PromiseRow>, Option<String>), ProtocolError> {
    let page = front.api.look().await?.read().find(&filter).await?;
    Ok((page.items, page.next.map(|id| id.to_string())))
}

fn paged(mut data: Json, cursor: Option<String>) -> Json {
    if let Some(cursor) = cursor {
        data["cursor"] = Json::String(cursor);
    }
    data
}

fn standing(state: &str) -> Result<PromiseStateFilter, ProtocolError> {
    Ok(match state {
        "pending" => PromiseStateFilter::Pending,
        "resolved" => PromiseStateFilter::Settled(Verdict::Resolved),
        "rejected" => PromiseStateFilter::Settled(Verdict::Rejected),
        "rejected_canceled" => PromiseStateFilter::Settled(Verdict::Canceled),
        "rejected_timedout" => PromiseStateFilter::Settled(Verdict::TimedOut),
        other => return Err(ProtocolError::bad(format!("`{other}` is no state of a promise"))),
    })
}

fn status(state: &str) -> Result<TaskStatus, ProtocolError> {
    let all = [
        TaskStatus::Pending,
        TaskStatus::Acquired,
        TaskStatus::Suspended,
        TaskStatus::Halted,
        TaskStatus::Fulfilled,
    ];
    all.into_iter()
        .find(|status| status.to_string() == state)
        .ok_or_else(|| ProtocolError::bad(format!("`{state}` is no state of a task")))
}
