//! Replays a workflow from its journal and compares the commands.

use std::sync::{Arc, Mutex};

use super::recorder::{TestRecord, TestRecorder, TestState};
use crate::{
    bindings::segno::workflow::types as wit, execution::WorkflowExecution, function::Entry,
    handler::Handlers, payload::Payload,
};

/// The events that a workflow received, and its commands.
pub(super) struct WorkflowHistory {
    /// The name in the journal: `OBJECT@KEY/FUNCTION` for a function of an object.
    pub(super) name: String,
    pub(super) entry: Entry,
    pub(super) input: Payload,
    pub(super) handlers: Handlers,
    pub(super) facts: wit::Context,
    pub(super) key: Option<String>,
    pub(super) records: Vec<TestRecord>,
}

/// # Panics
/// At the first difference.
pub(super) fn check(history: &WorkflowHistory) {
    let common = Arc::new(Mutex::new(TestState::default()));
    let (entry, facts) = (&history.entry, history.facts.clone());
    let (key, began) = (history.key.clone(), facts.started_at_ms);
    let recorder = TestRecorder::new(&facts.invocation, key, began, true, &common);
    let (input, handlers) = (&history.input, history.handlers.clone());
    let mut execution =
        WorkflowExecution::start(Some(entry), entry.name, input, handlers, facts, recorder.clone());
    for record in &history.records {
        let TestRecord::Told { at_ms, event } = record else { continue };
        recorder.tell(*at_ms, event);
        execution.resume(event.clone());
    }
    let again = recorder.records();
    let length = history.records.len().max(again.len());
    for place in 0..length {
        let (recorded, asked) = (history.records.get(place), again.get(place));
        assert!(
            recorded == asked,
            "`{}` ({}) does not replay: at record {place} the journal has {}, but this time it was {}",
            entry.name,
            history.facts.invocation,
            describe(recorded),
            describe(asked),
        );
    }
}

fn describe(record: Option<&TestRecord>) -> String {
    match record {
        None => "nothing".to_owned(),
        Some(TestRecord::Asked(request)) => format!("{} ({request:?})", request.describe()),
        Some(TestRecord::Ran(name)) => format!("run `{name}`"),
        Some(TestRecord::Told { event, .. }) => format!("the event {event:?}"),
        Some(TestRecord::Unread(signals)) => format!("the unread signals {signals:?}"),
        Some(TestRecord::Continued(next)) => format!("the next generation {next:?}"),
        Some(TestRecord::HandedOver) => "the end of the generation".to_owned(),
        Some(TestRecord::Finished(outcome)) => format!("the end with {outcome:?}"),
    }
}
