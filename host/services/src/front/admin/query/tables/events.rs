//! `sys_journal_events`: events of an invocation outside its journal. A host keeps the last failure
//! of an attempt, and a pause, so an invocation has at most two events.

use segno_core::{id::PromiseId, promise::TaskState};
use serde_json::{Value as Json, json};

use super::{
    super::{row::TableRow, rows::RowSender, value::RowValue, wanted::WantedRows},
    invocations,
    parts::called,
};
use crate::front::{ServicesApi, error::AdminResult};

/// Reads the events of the requested invocations.
pub(super) async fn read(
    api: &ServicesApi,
    wanted: &WantedRows,
    rows: &RowSender,
) -> AdminResult<()> {
    let Some(ids) = wanted.texts("id") else { return Ok(()) };
    rows.looked_at(ids.len())?;
    for id in ids {
        let stored = invocations::one(api, PromiseId::new(id.as_str())).await?;
        let Some(stored) = stored.filter(|stored| called(&stored.promise).is_some()) else {
            continue;
        };
        let (task, failure) = (&stored.task, stored.task.note.as_ref());
        let failed = failure.map(|note| transient(&note.message)).unwrap_or_default();
        let paused = json!({ "ty": "Paused", "last_failure": failure.map(|_| &failed) });
        let mut events = Vec::new();
        if failure.is_some() {
            events.push(("TransientError", &failed));
        }
        if matches!(task.state, TaskState::Halted { .. }) {
            events.push(("Paused", &paused));
        }
        for (kind, event) in events {
            let row = TableRow::from([
                ("id", id.clone().into()),
                (
                    "after_journal_entry_index",
                    RowValue::count(stored.journal_len.saturating_sub(1)),
                ),
                ("appended_at", invocations::modified_at(&stored.promise, task).into()),
                ("event_type", kind.into()),
                ("event_json", event.to_string().into()),
            ]);
            rows.offer(row).await?;
        }
    }
    Ok(())
}

/// The event of a failed attempt. The engine appends the code to the message; other failures have
/// none.
fn transient(message: &str) -> Json {
    let coded = message.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (code "));
    let coded = coded.and_then(|(said, code)| Some((said, code.parse::<u32>().ok()?)));
    match coded {
        Some((said, code)) => {
            json!({ "ty": "TransientError", "error_code": code, "error_message": said })
        }
        None => json!({ "ty": "TransientError", "error_message": message }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_failed_attempt_is_that_of_its_message() {
        let event = transient("`book`: no (code 7) room (code 503)");
        assert_eq!(
            (&event["error_code"], &event["error_message"]),
            (&json!(503), &json!("`book`: no (code 7) room"))
        );
        assert_eq!(transient("no answer")["error_code"], Json::Null);
    }
}
