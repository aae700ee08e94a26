//! The spans of one execution, built from its rows.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{Event, SpanId, SpanKind, Status},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use segno_core::{
    address,
    id::PromiseId,
    invocation::{CommandKind, Outcome, Record, RecordBody, StepResult},
    promise::{Promise, Task, Verdict},
    time::Timestamp,
};

use super::context::{self, TraceContext};

/// A finished replay.
#[derive(Debug, Clone)]
pub struct FinishedReplay {
    /// The id of the invocation.
    pub id: PromiseId,
    /// The version of the claim.
    pub version: u64,
    /// The instant at which the replay ended.
    pub at: Timestamp,
    /// The duration of the replay.
    pub took: Duration,
    /// Number of records that matched.
    pub records: usize,
}

/// The span of a settled execution, and those of its steps.
pub(super) fn execution(
    context: &TraceContext,
    promise: &Promise,
    task: &Task,
    journal: &[Record],
) -> Vec<SpanData> {
    let Some(settlement) = promise.settlement() else { return Vec::new() };
    let id = promise.id();
    let target = promise.target().unwrap_or_default();
    // A graph run has no journal and therefore no steps. The spans of its nodes are direct children
    // of its span.
    let node = promise.spec.made_by.as_ref().and_then(|run| Some((run, id.node_of(run)?)));
    let parent = match (&promise.spec.made_by, node) {
        (Some(_), Some((run, _))) => context::execution(run),
        (Some(_), None) => context::step(id),
        (None, _) => context.parent.unwrap_or(SpanId::INVALID),
    };
    let status = match settlement.verdict {
        Verdict::Resolved => Status::Unset,
        Verdict::Rejected => Status::error("rejected"),
        Verdict::Canceled => Status::error("cancelled"),
        Verdict::TimedOut => Status::error("timed out"),
    };
    let mut attributes = vec![
        KeyValue::new("segno.invocation", id.to_string()),
        KeyValue::new("segno.target", target.to_owned()),
        KeyValue::new("segno.version", task.version.0.cast_signed()),
        KeyValue::new("segno.attempts", i64::from(task.attempt) + 1),
    ];
    attributes.extend(node.map(|(_, node)| KeyValue::new("segno.node", node.to_owned())));
    attributes.extend(task.module.map(|digest| KeyValue::new("segno.module", digest.to_string())));
    let told = journal.iter().filter_map(|record| match &record.body {
        RecordBody::Signal { name, .. } => Some((format!("signal {name}"), record.at)),
        RecordBody::Cancelled => Some(("cancelled".to_owned(), record.at)),
        _ => None,
    });
    let events = told.map(|(name, at)| Event::new(name, instant(at), Vec::new(), 0)).collect();
    let mut whole = span(
        context,
        context::execution(id),
        parent,
        SpanKind::Server,
        address::function_of(target).into_owned(),
        (promise.spec.created_at, settlement.settled_at),
        attributes,
        status,
    );
    whole.parent_span_is_remote = promise.spec.made_by.is_none() && context.parent.is_some();
    whole.events = SpanEvents::default();
    whole.events.events = events;
    let mut spans = vec![whole];
    spans.extend(steps(context, id, settlement.settled_at, journal));
    spans
}

/// One span for each command of the journal.
fn steps(
    context: &TraceContext,
    id: &PromiseId,
    end: Timestamp,
    journal: &[Record],
) -> Vec<SpanData> {
    let mut answers = BTreeMap::new();
    for record in journal {
        if let RecordBody::Notified { index, outcome } = &record.body {
            answers.insert(*index, (record.at, outcome));
        }
    }
    let commands = journal.iter().filter_map(|record| match &record.body {
        RecordBody::Command { index, kind, name, .. } => Some((record.at, *index, *kind, name)),
        _ => None,
    });
    let step = |(at, index, kind, name): (Timestamp, _, CommandKind, &segno_core::value::Text)| {
        let answer = answers.get(&index);
        let status = match answer {
            Some((_, Outcome::Inline(StepResult::Failure { message, .. }))) => {
                Status::error(message.to_string())
            }
            _ => Status::Unset,
        };
        let mut attributes = vec![
            KeyValue::new("segno.step.kind", kind.name()),
            KeyValue::new("segno.step.index", i64::from(index.0)),
        ];
        if answer.is_none() {
            attributes.push(KeyValue::new("segno.step.unanswered", true));
        }
        let called = match kind {
            CommandKind::Call | CommandKind::Send | CommandKind::Http => SpanKind::Client,
            CommandKind::Publish => SpanKind::Producer,
            _ => SpanKind::Internal,
        };
        let name = match name.is_empty() {
            true => kind.name().to_owned(),
            false => format!("{} {name}", kind.name()),
        };
        let ended = answer.map_or(end, |(at, _)| *at);
        let made = id.command(index);
        let own = context::step(&made);
        let parent = context::execution(id);
        span(context, own, parent, called, name, (at, ended), attributes, status)
    };
    commands.map(step).collect()
}

/// The span of a replay.
pub(super) fn replay(context: &TraceContext, replayed: &FinishedReplay) -> SpanData {
    let FinishedReplay { id, version, at, took, records } = replayed;
    let mut data = span(
        context,
        context::replay(id, *version),
        context::execution(id),
        SpanKind::Internal,
        "replay".to_owned(),
        (*at, *at),
        vec![
            KeyValue::new("segno.invocation", id.to_string()),
            KeyValue::new("segno.version", version.cast_signed()),
            KeyValue::new("segno.records", i64::try_from(*records).unwrap_or(i64::MAX)),
        ],
        Status::Unset,
    );
    data.start_time = data.end_time.checked_sub(*took).unwrap_or(data.end_time);
    data
}

#[expect(clippy::too_many_arguments, reason = "each argument is one part of a span")]
fn span(
    context: &TraceContext,
    id: SpanId,
    parent: SpanId,
    kind: SpanKind,
    name: String,
    (from, to): (Timestamp, Timestamp),
    attributes: Vec<KeyValue>,
    status: Status,
) -> SpanData {
    SpanData {
        span_context: context.span(id),
        parent_span_id: parent,
        parent_span_is_remote: false,
        span_kind: kind,
        name: Cow::Owned(name),
        start_time: instant(from),
        end_time: instant(to.max(from)),
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status,
        instrumentation_scope: InstrumentationScope::builder("segno")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build(),
    }
}

fn instant(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0))
}
