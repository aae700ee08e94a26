//! Script commands about streams.

use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    id::{Claim, CommandIndex, ObjectId, StreamId},
    invocation::{CommandKind, CommandRequest, JournalHead, Record, RecordBody},
    promise::TaskStatus,
    snapshot::Snapshot,
    stream::{
        NewStream, ProducerPosition, StreamAppend, StreamForkPoint, StreamItem, StreamItems,
        StreamLifetime,
    },
    time::{Millis, Timestamp},
    value::Text,
};

use super::{dice::Dice, runs::OBJECTS, script::body};

/// Streams that belong to nothing, and names of streams of executions.
const FREE: [&str; 3] = ["chat/1", "чат '\u{0}", "c"];
const NAMES: [&str; 2] = ["tokens", "имя '"];
const TYPES: [&str; 2] = ["application/json", "text/plain"];

/// The next command about streams, given the state of the model.
pub(super) fn command(dice: &mut Dice, seen: &Snapshot, now: Timestamp) -> Command {
    let id = stream(dice, seen);
    let stored: Vec<_> = seen.streams.keys().cloned().chain([id.clone()]).collect();
    match dice.roll(12) {
        0..=2 => Command::StreamCreate(Box::new(new(dice, seen, id, now))),
        3 => Command::StreamTouch { id: dice.of(&stored) },
        4 => Command::StreamDelete { id: dice.of(&stored) },
        5 => Command::StreamDue { id: dice.of(&stored) },
        _ => Command::StreamAppend(Box::new(append(dice, seen, id))),
    }
}

/// An item of a workflow.
pub(super) fn item(dice: &mut Dice) -> FenceOperation {
    let content_type = Text::from(dice.of(&TYPES));
    FenceOperation::Stream(StreamItem {
        object: None,
        name: dice.of(&NAMES).into(),
        items: items(dice, &content_type),
        content_type,
        closes: dice.once_in(8),
    })
}

/// A commit of the execution of an object that writes a stream of the object.
pub(super) fn of_object(
    dice: &mut Dice,
    seen: &Snapshot,
    claim: Claim,
    object: &ObjectId,
) -> Command {
    let JournalHead { len, commands, at, .. } =
        seen.journals.get(&claim.id).map(|journal| journal.head).unwrap_or_default();
    let index = CommandIndex(commands);
    let (kind, request) = (CommandKind::AppendStream, CommandRequest::of(&[]));
    let body = match len {
        0 => body(dice, JournalHead::default()),
        _ => RecordBody::Command { index, kind, name: "object/log".into(), request },
    };
    let records = vec![Record { seq: len, at, body }];
    let FenceOperation::Stream(item) = item(dice) else { unreachable!("it is an item") };
    let act = FenceOperation::Stream(StreamItem { object: Some(object.clone()), ..item });
    let actions = vec![FenceAction { index, act }];
    Command::TaskFence { claim, records, logs: Vec::new(), actions }
}

fn stream(dice: &mut Dice, seen: &Snapshot) -> StreamId {
    let owners: Vec<_> = seen.tasks.keys().cloned().collect();
    match dice.roll(4) {
        3 => ObjectId::from(dice.of(&OBJECTS)).stream(dice.of(&NAMES)),
        0 if !owners.is_empty() => StreamId::of_execution(&dice.of(&owners), dice.of(&NAMES)),
        _ => dice.of(&FREE).into(),
    }
}

fn new(dice: &mut Dice, seen: &Snapshot, id: StreamId, now: Timestamp) -> NewStream {
    let content_type = Text::from(dice.of(&TYPES));
    let fork = dice.once_in(3).then(|| StreamForkPoint {
        source: stream(dice, seen),
        offset: dice.of(&[None, Some(0), Some(2)]),
        sub_offset: dice.of(&[0, 0, 1]),
    });
    let lifetimes = [
        None,
        None,
        Some(StreamLifetime::Idle(Millis(2_000))),
        Some(StreamLifetime::Until(now + Millis(3_000))),
    ];
    NewStream {
        id,
        lifetime: dice.of(&lifetimes),
        closed: dice.once_in(6),
        items: if fork.is_some() { StreamItems::default() } else { items(dice, &content_type) },
        content_type: Some(content_type).filter(|_| fork.is_none()),
        fork,
    }
}

fn append(dice: &mut Dice, seen: &Snapshot, id: StreamId) -> StreamAppend {
    let stored = seen.streams.get(&id).map(|stream| stream.content_type.clone());
    let content_type = stored.filter(|_| !dice.once_in(6));
    let content_type = content_type.unwrap_or_else(|| dice.of(&TYPES).into());
    let producer = dice.once_in(2).then(|| ProducerPosition {
        id: dice.of(&["p", "q"]).into(),
        epoch: dice.of(&[0, 0, 1]),
        seq: dice.roll(3) as u64,
    });
    let held = seen.tasks.values().filter(|task| task.status() == TaskStatus::Acquired);
    let held: Vec<_> = held.map(|task| (task.id.clone(), task.version)).collect();
    let claimed = dice.once_in(3) && !held.is_empty();
    let claim = claimed.then(|| dice.of(&held));
    let claim = claim.map(|(id, version)| segno_core::id::Claim { id, version });
    let id = match &claim {
        Some(claim) if !dice.once_in(4) => StreamId::of_execution(&claim.id, dice.of(&NAMES)),
        _ => id,
    };
    StreamAppend {
        id,
        items: items(dice, &content_type),
        content_type: Some(content_type),
        producer,
        label: dice.of(&[None, None, Some("1"), Some("2")]).map(Text::from),
        closes: dice.once_in(10),
        claim,
    }
}

fn items(dice: &mut Dice, content_type: &str) -> StreamItems {
    match content_type {
        "text/plain" => StreamItems::bytes(dice.of(&["", "a", "ж\u{0}\n"]).as_bytes()),
        _ => match dice.roll(3) {
            0 => StreamItems::default(),
            1 => json(b"{\"a\": \"\xd0\xb6\"}"),
            _ => json(b"[1, [2], 3]"),
        },
    }
}

fn json(body: &[u8]) -> StreamItems {
    StreamItems::messages(body).unwrap_or_default()
}
