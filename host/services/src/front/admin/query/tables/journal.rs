//! `sys_journal`: the commands of an invocation and their completions.
//!
//! The rows are the records in the store, under names that tools know: the first record is the
//! input command, the last one the output command.

use std::collections::{BTreeMap, BTreeSet};

use segno_api::shared::owner;
use segno_core::{
    id::PromiseId,
    invocation::{
        CommandRequest, FieldValue, Outcome as Recorded, Record, RecordBody, RequestField,
    },
    time::Timestamp,
};
use segno_engine::{
    values::{self, journals},
    worker::commands::shown_field,
};
use segno_guest::Outcome as GuestOutcome;
use segno_restate::wire::OperationOutcome;
use segno_store::PromiseRow;
use serde_json::Value as Json;

use super::{
    super::{row::TableRow, rows::RowSender, value::RowValue, wanted::WantedRows},
    entry,
    parts::{PAGE, called},
};
use crate::{
    frames::{FRAME, shown_frame},
    front::{ServicesApi, error::AdminResult},
    outcome,
};

/// Index of the cancellation signal.
const CANCEL: &str = "1";

/// Reads the journals of the requested invocations.
pub(super) async fn read(
    api: &ServicesApi,
    wanted: &WantedRows,
    rows: &RowSender,
) -> AdminResult<()> {
    let Some(ids) = wanted.texts("id") else { return Ok(()) };
    rows.looked_at(ids.len())?;
    for id in ids {
        let id = PromiseId::new(id.as_str());
        let row = api.host.store.read().promise(&id).await?;
        if row.is_some_and(|row| called(&row.promise).is_some()) {
            of(api, &id, rows).await?;
        }
    }
    Ok(())
}

async fn of(api: &ServicesApi, id: &PromiseId, rows: &RowSender) -> AdminResult<()> {
    let mut records: Vec<(Record, Option<PromiseRow>)> = Vec::new();
    loop {
        let from = u32::try_from(records.len()).unwrap_or(u32::MAX);
        let store = api.look().await?;
        let page = store.read().journal(id, from, PAGE).await?;
        let owners: Vec<_> = page.iter().filter_map(|record| owner(id, record)).collect();
        let mut values = store.read().promises(&owners).await?.into_iter();
        drop(store);
        let is_last = page.len() < PAGE as usize;
        rows.looked_at(page.len())?;
        rows.weighs(page.iter().map(weight).sum())?;
        records.extend(page.into_iter().map(|record| {
            let own = owner(id, &record).and_then(|_| values.next().flatten());
            (record, own)
        }));
        if is_last {
            break;
        }
    }
    let told: BTreeSet<u32> = records
        .iter()
        .filter_map(|(record, _)| match &record.body {
            RecordBody::Notified { index, .. } => Some(index.0),
            _ => None,
        })
        .collect();
    let mut commands = BTreeMap::new();
    for (record, own) in &records {
        let mut row = TableRow::from([
            ("id", id.to_string().into()),
            ("index", RowValue::count(record.seq)),
            ("version", RowValue::Number(2)),
            ("appended_at", record.at.into()),
        ]);
        fill(&mut row, record, own.as_ref(), &mut commands, &told);
        rows.offer(row).await?;
    }
    Ok(())
}

/// Fills a row from a record. `commands` has the kinds of the preceding commands, `told` the
/// indexes of completed ones.
fn fill(
    row: &mut TableRow,
    record: &Record,
    own: Option<&PromiseRow>,
    commands: &mut BTreeMap<u32, String>,
    told: &BTreeSet<u32>,
) {
    let (kind, entry) = match &record.body {
        RecordBody::Started { input, .. } => {
            ("Command: Input".to_owned(), entry::of_input(input.as_bytes()))
        }
        RecordBody::Command { index, name, request, .. } => {
            let request = shown(request);
            let frame = request.get(FRAME).cloned().unwrap_or_default();
            let kind = frame.get("type").and_then(Json::as_str).unwrap_or("Custom").to_owned();
            if kind == "Run" && !name.is_empty() {
                row.set("name", &**name);
            }
            let callee = request.get("promise").and_then(invoked);
            row.set("completed", told.contains(&index.0));
            row.set("invoked_id", callee.clone());
            row.set("invoked_target", target(&frame));
            let at = frame.get("until_ms").and_then(Json::as_i64).map(Timestamp);
            row.set("sleep_wakeup_at", at);
            if kind.ends_with("Promise") {
                row.set("promise_name", frame.get("key").and_then(Json::as_str));
            }
            commands.insert(index.0, kind.clone());
            let entry = entry::of_command(&kind, index.0, name, &frame, callee.as_deref());
            (format!("Command: {kind}"), entry)
        }
        RecordBody::Notified { index, outcome } => {
            let kind = commands.get(&index.0).map_or("Custom", String::as_str);
            row.set("completed", true);
            let entry = entry::of_completion(kind, index.0, told_of(outcome, own).as_ref());
            (format!("Notification: {kind}"), entry)
        }
        RecordBody::Signal { name, payload } => {
            row.set("name", &**name);
            row.set("completed", true);
            let told = GuestOutcome::Success(journals::guest_payload(payload));
            let entry = entry::of_signal(name, Some(&outcome::of_guest(&told)));
            ("Notification: Signal".to_owned(), entry)
        }
        RecordBody::Cancelled => {
            row.set("name", "cancel");
            row.set("completed", true);
            ("Notification: Signal".to_owned(), entry::of_signal(CANCEL, None))
        }
        RecordBody::Finished { outcome } => {
            ("Command: Output".to_owned(), entry::of_output(told_of(outcome, own).as_ref()))
        }
    };
    row.set("entry_type", kind);
    row.set("entry_json", entry.to_string());
}

/// Returns a recorded result in the form that services receive.
fn told_of(outcome: &Recorded, own: Option<&PromiseRow>) -> Option<OperationOutcome> {
    let told = match outcome {
        Recorded::Own => values::told(&own?.promise)?,
        Recorded::Inline(result) => journals::recorded(result),
    };
    Some(outcome::of_guest(&told))
}

/// Size in bytes of a record's values.
fn weight(record: &Record) -> usize {
    match &record.body {
        RecordBody::Started { input, .. } => input.as_bytes().len(),
        RecordBody::Command { request, .. } => request.as_bytes().len(),
        RecordBody::Signal { payload, .. } => payload.as_bytes().len(),
        RecordBody::Notified { .. } | RecordBody::Cancelled | RecordBody::Finished { .. } => 0,
    }
}

/// The request of a command, as a JSON object of its fields.
fn shown(request: &CommandRequest) -> Json {
    let shown = |field: &RequestField| match &field.value {
        FieldValue::Inline(bytes) if *field.name == *FRAME => shown_frame(bytes),
        _ => shown_field(field),
    };
    let fields = request.fields().unwrap_or_default().into_iter();
    Json::Object(fields.map(|field| (field.name.to_string(), shown(&field))).collect())
}

/// Returns an invocation id in a request. Ids are stored there verbatim, and parsed as JSON.
fn invoked(id: &Json) -> Option<String> {
    match id {
        Json::String(id) => Some(id.clone()),
        Json::Null => None,
        other => Some(other.to_string()),
    }
}

/// Returns the target of a call frame.
fn target(frame: &Json) -> Option<String> {
    let of = |name: &str| frame.get(name)?.as_str();
    let (service, handler) = (of("service")?, of("handler")?);
    Some(match of("key") {
        Some(key) => format!("{service}/{key}/{handler}"),
        None => format!("{service}/{handler}"),
    })
}
