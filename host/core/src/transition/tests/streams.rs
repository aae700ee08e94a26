//! Streams: what is appended is kept once and in order, and nothing follows the end.

use crate::{
    command::{Command, FenceOperation},
    effect::Effect,
    fork::{Fork, ForkedStream},
    id::{Claim, CommandIndex, ObjectId, PromiseId, StreamId},
    invocation::{CommandKind, CommandRequest, Record, RecordBody},
    object::StateWrite,
    promise::{NewPromise, Verdict},
    reply::{Refusal, Reply, StreamRefusal, StreamReply},
    stream::{
        NewStream, ProducerPosition, StreamAppend, StreamForkPoint, StreamItem, StreamItems,
        StreamLifetime, StreamRate,
    },
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
    world::{self, CheckedStore},
};

fn new(id: &str, data: &str) -> NewStream {
    NewStream {
        id: id.into(),
        content_type: Some("text/plain".into()),
        lifetime: None,
        closed: false,
        items: StreamItems::bytes(data.as_bytes()),
        fork: None,
    }
}

fn made(world: &mut CheckedStore, new: NewStream) -> StreamReply {
    shown(world.done(Command::StreamCreate(Box::new(new))))
}

fn text(id: &str, data: &str) -> StreamAppend {
    StreamAppend {
        id: id.into(),
        content_type: Some("text/plain".into()),
        items: StreamItems::bytes(data.as_bytes()),
        producer: None,
        label: None,
        closes: false,
        claim: None,
    }
}

fn from(id: &str, data: &str, producer: &str, epoch: u64, seq: u64) -> StreamAppend {
    let producer = Some(ProducerPosition { id: producer.into(), epoch, seq });
    StreamAppend { producer, ..text(id, data) }
}

fn append(world: &mut CheckedStore, append: StreamAppend) -> StreamReply {
    shown(world.done(Command::StreamAppend(Box::new(append))))
}

fn refused(world: &mut CheckedStore, append: StreamAppend) -> StreamRefusal {
    match world.refused(Command::StreamAppend(Box::new(append))) {
        Refusal::Stream(refusal) => *refusal,
        other => panic!("{other}"),
    }
}

fn shown(reply: Reply) -> StreamReply {
    match reply {
        Reply::Stream(shown) => *shown,
        other => panic!("{other:?}"),
    }
}

fn data(world: &CheckedStore, id: &str) -> String {
    let id = StreamId::from(id);
    let chunks = world.model.stream_chunks(&id).map(|chunk| chunk.data.to_vec());
    String::from_utf8(chunks.collect::<Vec<_>>().concat()).expect("text")
}

/// The commands, records and actions that append items of a workflow.
fn told(seq: u32, index: u32, name: &str) -> Record {
    let (name, request) = (Text::from(name), CommandRequest::of(&[]));
    let kind = CommandKind::AppendStream;
    let body = RecordBody::Command { index: CommandIndex(index), kind, name, request };
    Record { seq, at: Timestamp(1_000), body }
}

fn item(name: &str, data: &str, closes: bool) -> FenceOperation {
    let items = StreamItems::bytes(data.as_bytes());
    FenceOperation::Stream(StreamItem {
        object: None,
        name: name.into(),
        content_type: "text/plain".into(),
        items,
        closes,
    })
}

/// The same of a stream of the object of [`world::keyed`].
fn item_of_object(data: &str) -> FenceOperation {
    match item("log", data, false) {
        FenceOperation::Stream(item) => {
            FenceOperation::Stream(StreamItem { object: Some(world::cart()), ..item })
        }
        other => other,
    }
}

fn running(world: &mut CheckedStore, id: &str) -> Claim {
    world.done(world::workflow(id));
    world.acquire(id, 1)
}

#[test]
fn a_stream_grows_until_it_is_closed() {
    let mut world = CheckedStore::new();
    assert!(made(&mut world, new("a", "one ")).created);
    assert!(!made(&mut world, new("a", "other")).created, "it exists with these settings");
    let appended = append(&mut world, text("a", "two"));
    assert_eq!((appended.stream.tail, appended.closed), (7, false));
    let closing = StreamAppend { closes: true, ..text("a", "!") };
    assert!(append(&mut world, closing.clone()).closed);
    assert_eq!(data(&world, "a"), "one two!");
    let closed = StreamRefusal::Closed { id: "a".into(), tail: 8 };
    assert_eq!(refused(&mut world, text("a", "more")), closed);
    assert_eq!(refused(&mut world, closing), closed);
    let only = StreamAppend { items: StreamItems::default(), closes: true, ..text("a", "") };
    assert!(append(&mut world, only).closed, "closing again is no mistake");
    let json = StreamAppend { content_type: Some("application/json".into()), ..text("b", "1") };
    made(&mut world, new("b", ""));
    assert!(matches!(refused(&mut world, json), StreamRefusal::ContentType { .. }));
    assert_eq!(refused(&mut world, text("c", "1")), StreamRefusal::NotFound("c".into()));
    let labelled = |label: &str| StreamAppend { label: Some(label.into()), ..text("b", "x") };
    append(&mut world, labelled("2"));
    assert!(matches!(refused(&mut world, labelled("10")), StreamRefusal::LabelRegression { .. }));
    append(&mut world, labelled("3"));
    assert_eq!(data(&world, "b"), "xx");
}

#[test]
fn a_batch_of_a_producer_is_stored_once_and_in_order() {
    let mut world = CheckedStore::new();
    made(&mut world, new("a", ""));
    append(&mut world, from("a", "0", "p", 0, 0));
    append(&mut world, from("a", "1", "p", 0, 1));
    let again = append(&mut world, from("a", "1", "p", 0, 1));
    assert!(again.duplicate);
    let gap = StreamRefusal::SequenceGap { producer: "p".into(), expected: 2, received: 4 };
    assert_eq!(refused(&mut world, from("a", "4", "p", 0, 4)), gap);
    append(&mut world, from("a", "q", "q", 5, 0));
    append(&mut world, from("a", "2", "p", 1, 0));
    let stale = StreamRefusal::StaleEpoch { producer: "p".into(), given: 0, current: 1 };
    assert_eq!(refused(&mut world, from("a", "x", "p", 0, 2)), stale);
    let late = refused(&mut world, from("a", "x", "p", 2, 7));
    assert!(matches!(late, StreamRefusal::EpochStart { .. }));
    let first = refused(&mut world, from("a", "x", "new", 0, 3));
    assert!(matches!(first, StreamRefusal::SequenceGap { expected: 0, .. }));
    let last = StreamAppend { closes: true, ..from("a", "!", "p", 1, 1) };
    append(&mut world, last.clone());
    assert!(append(&mut world, last).duplicate, "the batch that closed it may be repeated");
    assert!(matches!(refused(&mut world, from("a", "1", "p", 0, 1)), StreamRefusal::Closed { .. }));
    assert_eq!(data(&world, "a"), "01q2!");
}

#[test]
fn the_position_of_a_silent_producer_is_forgotten_and_no_other() {
    let mut world = CheckedStore::new();
    made(&mut world, new("a", ""));
    for number in 0..crate::stream::PRODUCERS_MAX + 1 {
        world.wait(1);
        append(&mut world, from("a", "x", &format!("p{number}"), 3, 0));
    }
    let row = world.model.stream(&"a".into()).expect("a stream");
    assert_eq!(row.producers.len(), crate::stream::PRODUCERS_MAX);
    assert!(!row.producers.contains_key("p0") && row.producers.contains_key("p1"));
}

#[test]
fn what_is_too_large_is_refused() {
    let mut world = CheckedStore::new();
    world.config.stream.append_bytes = 4;
    world.config.stream.stream_bytes = 6;
    made(&mut world, new("a", "1234"));
    assert!(matches!(refused(&mut world, text("a", "12345")), StreamRefusal::TooLarge { .. }));
    assert!(matches!(refused(&mut world, text("a", "123")), StreamRefusal::TooLarge { .. }));
    append(&mut world, text("a", "12"));
}

#[test]
fn a_fork_has_the_beginning_and_goes_its_own_way() {
    let mut world = CheckedStore::new();
    made(&mut world, new("a", "abc"));
    append(&mut world, text("a", "def"));
    let forked = |id: &str, offset, sub_offset| {
        let fork = Some(StreamForkPoint { source: "a".into(), offset, sub_offset });
        NewStream { content_type: None, fork, ..new(id, "") }
    };
    made(&mut world, forked("b", Some(1), 3));
    made(&mut world, forked("c", None, 0));
    append(&mut world, text("a", "ghi"));
    append(&mut world, text("b", "XYZ"));
    assert_eq!([data(&world, "b"), data(&world, "c")], ["abcdXYZ", "abcdef"]);
    assert!(!made(&mut world, forked("b", Some(1), 3)).created);
    let other = world.refused(Command::StreamCreate(Box::new(forked("b", Some(2), 2))));
    assert!(matches!(other, Refusal::Stream(_)), "{other}");
    let beyond = world.refused(Command::StreamCreate(Box::new(forked("d", Some(8), 2))));
    assert!(beyond.to_string().contains("beyond the end"), "{beyond}");

    // Its id stays taken as long as a fork exists.
    world.done(Command::StreamDelete { id: "a".into() });
    assert_eq!(refused(&mut world, text("a", "x")), StreamRefusal::Gone("a".into()));
    assert_eq!(world.refused(Command::StreamCreate(Box::new(new("a", "")))).code(), 409);
    assert_eq!(data(&world, "c"), "abcdef");
    world.done(Command::StreamDelete { id: "b".into() });
    world.done(Command::StreamDue { id: "a".into() });
    assert!(world.model.stream(&"a".into()).is_some(), "`c` exists");
    world.done(Command::StreamDelete { id: "c".into() });
    world.done(Command::StreamDue { id: "a".into() });
    assert!(world.model.stream(&"a".into()).is_none());
    assert!(made(&mut world, new("a", "again")).created);
    assert_eq!(data(&world, "a"), "again");
}

#[test]
fn a_stream_expires_after_its_last_use() {
    let mut world = CheckedStore::new();
    let lifetime = Some(StreamLifetime::Idle(Millis(1_000)));
    made(&mut world, NewStream { lifetime, ..new("idle", "x") });
    let at = Some(StreamLifetime::Until(Timestamp(world.now.0 + 1_500)));
    made(&mut world, NewStream { lifetime: at, ..new("until", "x") });
    world.wait(900);
    world.done(Command::StreamTouch { id: "idle".into() });
    world.wait(10);
    let touched = world.decide(&Command::StreamTouch { id: "idle".into() });
    assert!(touched.delta.is_empty(), "a read shortly after another one writes nothing");
    world.wait(700);
    append(&mut world, text("idle", "y"));
    assert_eq!(refused(&mut world, text("until", "y")), StreamRefusal::NotFound("until".into()));
    world.wait(1_000);
    world.done(Command::StreamDue { id: "idle".into() });
    assert!(world.model.stream(&"idle".into()).is_none());
    assert!(made(&mut world, new("until", "z")).created);
}

#[test]
fn a_workflow_appends_with_its_records_once() {
    let mut world = CheckedStore::new();
    let claim = running(&mut world, "w");
    let records = vec![world::started(), told(1, 0, "out"), told(2, 1, "out")];
    let acts = vec![item("out", "one ", false), item("out", "two", false)];
    let decision = world.decide(&world::fence(claim.clone(), records.clone(), acts.clone()));
    let grown = |effect: &&Effect| matches!(effect, Effect::StreamChanged(_));
    assert_eq!(decision.effects.iter().filter(grown).count(), 1, "one notice a commit");
    world.done(world::fence(claim.clone(), records, acts));
    assert_eq!(data(&world, "w/stream/out"), "one two");

    // The whole fence is refused if one item is, and nothing is recorded.
    let records = vec![told(3, 2, "out"), told(4, 3, "out"), told(5, 4, "out")];
    let mut acts: Vec<_> = (0..2).map(|_| item("none", "", false)).collect();
    acts.extend([item("out", "3", false), item("out", "", true), item("out", "5", false)]);
    let late = world.refused(world::fence(claim.clone(), records, acts));
    assert!(late.to_string().contains("is closed"), "{late}");
    assert_eq!(world.model.head(&"w".into()).len, 3);
    assert_eq!(data(&world, "w/stream/out"), "one two");

    world.done(world::fulfill(claim));
    let closed = refused(&mut world, text("w/stream/out", "late"));
    assert_eq!(closed, StreamRefusal::Closed { id: "w/stream/out".into(), tail: 7 });
}

#[test]
fn a_client_writes_the_stream_of_an_execution_but_does_not_end_it() {
    let mut world = CheckedStore::new();
    let nobody = world.refused(Command::StreamCreate(Box::new(new("w/stream/out", ""))));
    assert_eq!(nobody.code(), 404);
    world.done(world::workflow("w"));
    made(&mut world, new("w/stream/out", "a"));
    append(&mut world, text("w/stream/out", "b"));
    let closing = StreamAppend { closes: true, ..text("w/stream/out", "c") };
    assert_eq!(refused(&mut world, closing).code(), 405);
    let deleted = world.refused(Command::StreamDelete { id: "w/stream/out".into() });
    assert_eq!(deleted.code(), 405);
    let lifetime = Some(StreamLifetime::Idle(Millis(1)));
    let short = NewStream { lifetime, ..new("w/stream/short", "") };
    assert_eq!(world.refused(Command::StreamCreate(Box::new(short))).code(), 405);
    // It goes with its execution.
    world.done(Command::Kill { invocation: "w".into() });
    let (top, before) = ("w".into(), world.now);
    world.done(Command::Prune { top, before, part: false, state: false });
    assert!(world.model.streams().next().is_none() && data(&world, "w/stream/out").is_empty());
}

#[test]
fn an_activity_appends_under_its_claim_to_the_stream_of_its_workflow() {
    let mut world = CheckedStore::new();
    let claim = running(&mut world, "w");
    let child = world::new("w/0", &[(tags::TARGET, "wasm://shop/ship")], Timestamp::NEVER);
    let create = FenceOperation::Create { new: child, request: None };
    world.done(world::fence(claim, vec![world::started(), world::asked(1, 0)], vec![create]));
    let activity = world.acquire("w/0", 2);
    let under = |claim: &Claim, id: &str, data: &str, seq| StreamAppend {
        claim: Some(claim.clone()),
        ..from(id, data, "w/0", claim.version.0, seq)
    };
    append(&mut world, under(&activity, "w/stream/out", "a", 0));
    append(&mut world, under(&activity, "w/stream/out", "b", 1));
    append(&mut world, under(&activity, "w/0/stream/own", "c", 0));
    let foreign = refused(&mut world, under(&activity, "other/stream/out", "x", 0));
    assert!(matches!(foreign, StreamRefusal::Foreign { .. }), "{foreign}");
    let chunk = world.model.stream_chunks(&"w/stream/out".into()).next().expect("data");
    assert_eq!(chunk.writer, Some(PromiseId::from("w/0")));
    assert_eq!(chunk.records, 2, "those of the workflow");

    // The next attempt has another claim.
    world.done(world::release(activity.clone(), world::failed()));
    let stale = Command::StreamAppend(Box::new(under(&activity, "w/stream/out", "x", 2)));
    assert!(matches!(world.refused(stale), Refusal::Conflict(_)));
    assert_eq!(data(&world, "w/stream/out"), "ab");
}

#[test]
fn a_fork_of_an_execution_shares_what_was_written_by_then() {
    let mut world = CheckedStore::new();
    let claim = running(&mut world, "w");
    let first = vec![world::started(), told(1, 0, "out"), world::asked(2, 1)];
    let child = world::new("w/1", &[(tags::TARGET, "wasm://shop/ship")], Timestamp::NEVER);
    let acts = vec![item("out", "1", false), FenceOperation::Create { new: child, request: None }];
    world.done(world::fence(claim.clone(), first.clone(), acts));
    let activity = world.acquire("w/1", 2);
    append(
        &mut world,
        StreamAppend {
            claim: Some(activity.clone()),
            ..from("w/stream/out", "[activity]", "w/1", activity.version.0, 0)
        },
    );
    world.done(world::fulfill(activity));
    let second =
        vec![world::notified(3, 1), told(4, 2, "out"), told(5, 3, "out"), world::asked(6, 4)];
    let nothing = || FenceOperation::Publish { topic: "t".into(), payload: Default::default() };
    let acts =
        vec![nothing(), nothing(), item("out", "2", false), item("out", "34", false), nothing()];
    world.done(world::fence(claim, second.clone(), acts));
    append(&mut world, text("w/stream/out", "[client]"));
    assert_eq!(data(&world, "w/stream/out"), "1[activity]234[client]");

    let all: Vec<Record> = first.into_iter().chain(second).collect();
    let mut fork = |id: &str, records: usize| {
        let new = world::new(id, &[(tags::TARGET, "wasm://shop/order")], Timestamp::NEVER);
        let Command::InvocationFork(fork) = world::fork(new, "w", &all[..records]) else {
            panic!("a fork")
        };
        let appends = vec![(1, 1), (4, 1), (5, 2)];
        let streams = vec![ForkedStream { id: "w/stream/out".into(), appends }];
        world.done(Command::InvocationFork(Box::new(Fork { streams, ..*fork })));
        data(&world, &format!("{id}/stream/out"))
    };
    // The activity is executed again where it was open.
    assert_eq!(fork("f3", 3), "1");
    assert_eq!(fork("f4", 4), "1[activity]");
    // Only some of the records of a commit were copied.
    assert_eq!(fork("f1", 1), "");
    assert_eq!(fork("f2", 2), "1");
    assert_eq!(fork("f5", 5), "1[activity]2");
    assert_eq!(fork("f6", 6), "1[activity]234");
    assert_eq!(fork("f7", 7), "1[activity]234[client]");
    // A fork of a fork.
    let of = StreamId::from("f5/stream/out");
    let chunks = world.model.stream_chunks(&of);
    let chunks: Vec<_> = chunks.map(|chunk| (chunk.records, chunk.writer.clone())).collect();
    assert_eq!(chunks, [(3, None), (3, Some("f5/1".into())), (5, None)]);
}

#[test]
fn all_generations_write_one_stream() {
    let mut world = CheckedStore::new();
    let claim = running(&mut world, "w");
    let records = vec![world::started(), told(1, 0, "out")];
    world.done(world::fence(claim.clone(), records, vec![item("out", "1", false)]));
    world.done(world::hand_over(claim, vec![world::finished(2)], &[]));
    let next = world.acquire("w/g/2", 2);
    let records = vec![world::started(), told(1, 0, "out")];
    world.done(world::fence(next, records, vec![item("out", "2", false)]));
    assert_eq!(data(&world, "w/stream/out"), "12");
    assert_eq!(world.model.streams().count(), 1);
}

#[test]
fn a_stream_takes_the_bytes_of_its_rate_and_no_more() {
    let mut world = CheckedStore::new();
    made(&mut world, new("free", "123456789"));
    assert_eq!(world.model.streams().next().expect("a stream").busy_until_us, None);
    world.config.stream.rate = Some(StreamRate { bytes_per_second: 10 });
    append(&mut world, from("free", "1234567890", "p", 0, 0));
    // A repetition is no append, and a refused batch is not counted.
    assert!(append(&mut world, from("free", "1234567890", "p", 0, 0)).duplicate);
    let fast = refused(&mut world, from("free", "12", "p", 0, 1));
    let rate = StreamRate { bytes_per_second: 10 };
    assert_eq!(fast, StreamRefusal::TooFast { id: "free".into(), rate, wait: Millis(200) });
    assert_eq!((fast.code(), fast.kind()), (429, "stream-rate"));
    assert!(fast.to_string().contains("stream_bytes_per_second=10"), "{fast}");
    world.now = world.now + Millis(200);
    append(&mut world, from("free", "12", "p", 0, 1));
    // Other streams have a rate of their own, and an end is no data.
    append(&mut world, StreamAppend { closes: true, ..text("free", "") });
    made(&mut world, new("other", "12345678901234567890"));
    assert!(matches!(refused(&mut world, text("other", "1")), StreamRefusal::TooFast { .. }));

    // The items of a workflow are counted and stored.
    let claim = running(&mut world, "w");
    let records = vec![world::started(), told(1, 0, "out"), told(2, 1, "out")];
    let acts = vec![item("out", "1234567890", false), item("out", "1234567890", false)];
    world.done(world::fence(claim, records, acts));
    assert_eq!(data(&world, "w/stream/out").len(), 20);
    let fast = refused(&mut world, text("w/stream/out", "1"));
    assert!(matches!(fast, StreamRefusal::TooFast { wait: Millis(1_100), .. }), "{fast}");
}

#[test]
fn the_stream_of_an_object_outlives_its_executions() {
    let mut world = CheckedStore::new();
    let id = world::cart().stream("log");
    let writes = |claim: Claim, data: &str| {
        let records = vec![world::started(), told(1, 0, "object/log")];
        world::fence(claim, records, vec![item_of_object(data)])
    };
    let missing = world.refused(Command::StreamTouch { id: id.clone() });
    assert_eq!(missing.code(), 404);
    for (number, data) in [(1, "a"), (2, "b")] {
        let execution = data;
        world.done(world::keyed(execution, "add"));
        let claim = world.acquire(execution, number);
        world.done(writes(claim.clone(), data));
        world.done(world::fulfill(claim));
    }
    assert_eq!(data(&world, id.as_str()), "ab");

    // Only the execution that has the turn writes.
    world.done(world::keyed("look", "total"));
    let shared = world.acquire("look", 3);
    let refused = world.refused(writes(shared, "x")).to_string();
    assert!(
        refused.contains("`look` may not write the stream `log` of `shop/Cart@ada`"),
        "{refused}"
    );
    let other = running(&mut world, "w");
    assert!(matches!(world.refused(writes(other, "x")), Refusal::Unprocessable(_)));

    // A client appends and closes, but does not remove it, or take its place.
    append(&mut world, text(id.as_str(), "c"));
    let closing = StreamAppend { closes: true, ..text(id.as_str(), "d") };
    assert!(append(&mut world, closing).closed);
    assert_eq!(world.refused(Command::StreamDelete { id: id.clone() }).code(), 405);
    let made = made(&mut world, new(world::cart().stream("notes").as_str(), "n"));
    assert!(made.created && !made.closed);
    let owner = world::cart().streams();
    let taken = world::new("x", &[(tags::TARGET, "wasm://shop/order")], Timestamp::NEVER);
    let taken = world.refused(Command::PromiseCreate(NewPromise {
        id: ObjectId::from("shop/Cart@b").streams(),
        ..taken
    }));
    assert!(taken.to_string().contains("choose another id"), "{taken}");
    let (verdict, value) = (Verdict::Resolved, Value::default());
    let settled = world.refused(Command::PromiseSettle { id: owner.clone(), verdict, value });
    assert!(settled.to_string().contains("stays pending"), "{settled}");
    for stop in
        [Command::Cancel { invocation: owner.clone() }, Command::Kill { invocation: owner.clone() }]
    {
        let stopped = world.refused(stop);
        assert!(stopped.to_string().contains("stays pending"), "{stopped}");
    }

    // It goes with the content of the object.
    for id in ["a", "b"] {
        let (top, before) = (id.into(), world.now);
        world.done(Command::Prune { top, before, part: false, state: false });
    }
    assert_eq!(data(&world, id.as_str()), "abcd");
    let write = StateWrite { clears: true, entries: Vec::new() };
    world.done(Command::ObjectWrite { object: world::cart(), write });
    assert!(world.model.stream(&id).is_none() && data(&world, id.as_str()).is_empty());
    assert!(world.model.promise(&owner).is_none());
}

#[test]
fn the_stream_of_an_object_goes_with_its_last_execution_if_its_state_does() {
    let mut world = CheckedStore::new();
    world.done(world::keyed("a", "add"));
    let claim = world.acquire("a", 1);
    let records = vec![world::started(), told(1, 0, "object/log")];
    world.done(world::fence(claim.clone(), records, vec![item_of_object("1")]));
    world.done(world::fulfill(claim));
    let (top, before) = ("a".into(), world.now);
    world.done(Command::Prune { top, before, part: false, state: true });
    assert!(world.model.streams().next().is_none());
}
