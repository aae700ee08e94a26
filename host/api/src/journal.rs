//! Reads journals and logs.

use axum::{Json, extract::State};
use segno_core::{
    id::PromiseId,
    invocation::{CommandRequest, LogLevel as Stored, Outcome, Record, RecordBody, StepResult},
    value::Payload,
};
use segno_engine::{
    protocols::Protocols,
    worker::{TrapReport, commands::shown_field},
};
use segno_store::{PromiseRow, Store};
use serde_json::{Map, Value};

use super::{
    Api, ApiError,
    body::{PathSegment, UrlQuery},
    model::{
        FailureView, JournalPage, JournalRecord, LogLevel, LogLine, LogPage, OutcomeView,
        RangeQuery, RecordKind,
    },
    page::PageSize,
    refusals::Refusals,
    values::json_of,
    view,
};

/// Number of records or lines on a page.
const PAGE: PageSize = PageSize { usual: 1000, largest: 10_000 };

/// Lists the records of an invocation's journal, in order.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/journal", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F"), RangeQuery),
    responses((status = 200, body = JournalPage), Refusals),
)]
pub(crate) async fn journal(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<RangeQuery>,
) -> Result<Json<JournalPage>, ApiError> {
    let id = api.generation(id).await?;
    let (from, limit) = range(&query)?;
    let store = api.look().await?;
    exists(&*store, &id).await?;
    let records = store.read().journal(&id, from, limit).await?;
    let owners: Vec<PromiseId> = records.iter().filter_map(|record| owner(&id, record)).collect();
    let mut values = store.read().promises(&owners).await?.into_iter();
    drop(store);
    let shown: Vec<JournalRecord> = records
        .iter()
        .map(|record| {
            let own = owner(&id, record).and_then(|_| values.next().flatten());
            show(&api.host.protocols, record, own.as_ref())
        })
        .collect();
    let next = (shown.len() == limit as usize).then(|| from.saturating_add(limit));
    Ok(Json(JournalPage { id: id.to_string(), records: shown, next }))
}

/// Lists the log lines of an invocation, in order.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/logs", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F"), RangeQuery),
    responses((status = 200, body = LogPage), Refusals),
)]
pub(crate) async fn logs(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<RangeQuery>,
) -> Result<Json<LogPage>, ApiError> {
    let id = api.generation(id).await?;
    let (from, limit) = range(&query)?;
    let store = api.look().await?;
    let row = exists(&*store, &id).await?;
    let rows = store.read().logs(&id, from, limit).await?;
    drop(store);
    let lines: Vec<LogLine> = rows
        .into_iter()
        .map(|row| LogLine {
            line: row.line,
            at_ms: row.at.0,
            level: level(row.level),
            message: row.message,
        })
        .collect();
    let next = (lines.len() == limit as usize).then(|| from.saturating_add(limit));
    let end = from.saturating_add(u32::try_from(lines.len()).unwrap_or(u32::MAX));
    let uncommitted = if next.is_none() { uncommitted(&row, end) } else { Vec::new() };
    Ok(Json(LogPage { id: id.to_string(), lines, next, uncommitted }))
}

/// Returns the log lines of the last attempt, if it trapped and no later attempt has succeeded;
/// numbered from `from`.
fn uncommitted(row: &PromiseRow, from: u32) -> Vec<LogLine> {
    let task = row.task.as_ref().filter(|task| task.attempt > 0);
    let note = task.and_then(|task| task.note.as_ref());
    let report = note.and_then(|note| TrapReport::read(&note.details)).unwrap_or_default();
    let lines = report.log.into_iter().zip(from..);
    lines
        .map(|(line, number)| LogLine {
            line: number,
            at_ms: line.at_ms,
            level: level(line.level.saturating_sub(Stored::Trace.number())),
            message: line.message,
        })
        .collect()
}

async fn exists(store: &dyn Store, id: &PromiseId) -> Result<PromiseRow, ApiError> {
    let found = store.read().promise(id).await?.filter(|row| row.task.is_some());
    found.ok_or_else(|| ApiError::UnknownInvocation(id.to_string()))
}

fn range(query: &RangeQuery) -> Result<(u32, u32), ApiError> {
    Ok((query.from.unwrap_or(0), PAGE.of(query.limit)?))
}

/// Converts a stored level, which counts from 0.
fn level(stored: u8) -> LogLevel {
    match Stored::from_number(stored.saturating_add(Stored::Trace.number())) {
        Some(Stored::Trace) => LogLevel::Trace,
        Some(Stored::Debug) => LogLevel::Debug,
        Some(Stored::Info) | None => LogLevel::Info,
        Some(Stored::Warn) => LogLevel::Warn,
        Some(Stored::Error) => LogLevel::Error,
    }
}

/// Returns the promise whose value a record refers to instead of repeating it.
pub fn owner(id: &PromiseId, record: &Record) -> Option<PromiseId> {
    match &record.body {
        RecordBody::Notified { index, outcome: Outcome::Own } => Some(id.command(*index)),
        RecordBody::Finished { outcome: Outcome::Own } => Some(id.clone()),
        _ => None,
    }
}

/// Converts a record for the answer; `own` is the row of the promise that [`owner`] returned.
fn show(protocols: &Protocols, record: &Record, own: Option<&PromiseRow>) -> JournalRecord {
    let mut shown = JournalRecord {
        seq: record.seq,
        at_ms: record.at.0,
        kind: RecordKind::Cancelled,
        index: None,
        command: None,
        name: None,
        request: None,
        outcome: None,
        module: None,
    };
    match &record.body {
        RecordBody::Started { function, input, module, .. } => {
            shown.kind = RecordKind::Started;
            shown.name = Some(function.to_string());
            shown.request = Some(payload(input));
            shown.module = Some(module.to_string());
        }
        RecordBody::Command { index, kind, name, request } => {
            shown.kind = RecordKind::Command;
            shown.index = Some(index.0);
            shown.command = Some(kind.name().to_owned());
            shown.name = (!name.is_empty()).then(|| name.to_string());
            shown.request = Some(fields(protocols, request));
        }
        RecordBody::Notified { index, outcome } => {
            shown.kind = RecordKind::Notified;
            shown.index = Some(index.0);
            shown.outcome = Some(result(outcome, own));
        }
        RecordBody::Signal { name, payload: told } => {
            shown.kind = RecordKind::Signal;
            shown.name = Some(name.to_string());
            shown.outcome = Some(OutcomeView { value: Some(payload(told)), failure: None });
        }
        RecordBody::Cancelled => {}
        RecordBody::Finished { outcome } => {
            shown.kind = RecordKind::Finished;
            shown.outcome = Some(result(outcome, own));
        }
    }
    shown
}

fn payload(payload: &Payload) -> Value {
    json_of(payload.as_bytes())
}

fn fields(protocols: &Protocols, request: &CommandRequest) -> Value {
    let Some(fields) = request.fields() else {
        return json_of(request.as_bytes());
    };
    let fields: Map<String, Value> = fields
        .into_iter()
        .map(|field| {
            let value = protocols.shown(&field).unwrap_or_else(|| shown_field(&field));
            (field.name.to_string(), value)
        })
        .collect();
    Value::Object(fields)
}

fn result(outcome: &Outcome, own: Option<&PromiseRow>) -> OutcomeView {
    match outcome {
        Outcome::Own => OutcomeView {
            value: own.and_then(|row| view::output(&row.promise)),
            failure: own.and_then(|row| view::failure(&row.promise)),
        },
        Outcome::Inline(StepResult::Empty) => OutcomeView::default(),
        Outcome::Inline(StepResult::Value(value)) => {
            OutcomeView { value: Some(payload(value)), failure: None }
        }
        Outcome::Inline(StepResult::Failure { code, message, details }) => OutcomeView {
            value: None,
            failure: Some(FailureView {
                code: *code,
                message: message.to_string(),
                details: details.as_ref().map(payload),
            }),
        },
    }
}
