//! `sys_journal_events`: what happened to an invocation beside its journal. A host keeps the last failure of an attempt
//! and that an invocation is paused, so there are two events of an invocation at most.

use segno_core::{id::PromiseId, promise::TaskState};
use serde_json::json;

use super::{
    super::{
        row::Row,
        rows::Rows,
        value::{
            Kind::{Number, Text, Time},
            Value,
        },
        wanted::Wanted,
    },
    Column, called, invocations,
};
use crate::{Api, restate::error::AdminError};

/// The columns.
pub const COLUMNS: [Column; 6] = [
    Column::new("id", Text),
    Column::new("after_journal_entry_index", Number),
    Column::new("appended_at", Time),
    Column::new("event_type", Text),
    Column::new("event_json", Text),
    Column::new("partition_key", Number),
];

/// Reads the events of the invocations that are named.
pub async fn read(api: &Api, wanted: &Wanted, rows: &Rows) -> Result<(), AdminError> {
    let Some(ids) = wanted.texts("id") else { return Ok(()) };
    rows.looked_at(ids.len())?;
    for id in ids {
        let stored = invocations::one(api, PromiseId::new(id.as_str())).await?;
        let Some(stored) = stored.filter(|stored| called(&stored.promise).is_some()) else {
            continue;
        };
        let (task, failure) = (&stored.task, stored.task.note.as_ref());
        let message = failure.map(|note| note.message.to_string()).unwrap_or_default();
        let failed = json!({ "ty": "TransientError", "error_code": 500, "error_message": message });
        let paused = json!({ "ty": "Paused", "last_failure": failure.map(|_| &failed) });
        let mut events = Vec::new();
        if failure.is_some() {
            events.push(("TransientError", &failed));
        }
        if matches!(task.state, TaskState::Halted { .. }) {
            events.push(("Paused", &paused));
        }
        for (kind, event) in events {
            let row = Row::from([
                ("id", Value::Text(id.clone())),
                ("after_journal_entry_index", Value::count(stored.journal_len.saturating_sub(1))),
                ("appended_at", Value::Time(invocations::modified_at(&stored.promise, task))),
                ("event_type", Value::Text(kind.to_owned())),
                ("event_json", Value::Text(event.to_string())),
            ]);
            rows.offer(row).await?;
        }
    }
    Ok(())
}
