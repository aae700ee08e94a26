//! Bundles are read exactly as they were written.

use std::sync::Arc;

use segno_core::{
    id::{CommandIndex, Digest, Holder, PromiseId, Version},
    invocation::{
        CommandKind, CommandRequest, EngineFacts, LogLevel, Outcome, Record, RecordBody, Seed,
        StepResult,
    },
    promise::{
        CancelState, ClaimProgress, HaltReason, Inbox, Lease, Note, Promise, PromiseSpec,
        PromiseState, RepeatedTrap, Settlement, Task, TaskState, TrapKey, Verdict,
    },
    time::{Millis, Timestamp},
    value::{Bytes, Payload, Tags, Text, Value},
};

use super::*;
use crate::{
    part::{EncodedPart, FIRST_LINE, PartHeader, unpacked},
    pieces::ReadPieces,
};

const COMPONENT: &[u8] = b"\0asm, or so";

fn head() -> BundleHead {
    BundleHead {
        written_by: "segno 0.1.0".to_owned(),
        made_at_ms: 1_700_000_000_000,
        tree: true,
        without_modules: false,
        redacted: None,
        engine: EngineFacts { class: 1, canonical_nans: true, ..EngineFacts::default() },
        limits: [("cpu_ms".to_owned(), 10_000)].into(),
    }
}

fn promise(id: &str, state: PromiseState) -> Promise {
    let spec = PromiseSpec {
        id: PromiseId::from(id),
        param: Value {
            headers: Tags::from([("segno:retry".to_owned(), "{}".to_owned())]),
            data: Bytes::from(&br#"{"func":"order","args":[{"items":3}]}"#[..]),
        },
        tags: Tags::from([("target".to_owned(), "wasm://shop/order".to_owned())]),
        made_by: Some(PromiseId::from("maker")),
        timeout_at: Timestamp::NEVER,
        created_at: Timestamp(7),
    };
    Promise { spec: Arc::new(spec), state }
}

fn task(id: &str, state: TaskState) -> Task {
    Task {
        attempt: 1,
        losses: 2,
        traps: Some(RepeatedTrap {
            key: TrapKey { journal_len: 3, message: Text::from("unreachable") },
            count: 4,
        }),
        note: Some(Note {
            kind: Text::from("trap"),
            message: Text::from("unreachable"),
            details: Bytes::from(&b"{}"[..]),
        }),
        progress: ClaimProgress { seq: 5, at: Timestamp(6), payload: Some(Bytes::from(&b"7"[..])) },
        stall_limit: Some(Millis(8)),
        last_heartbeat: Some(Timestamp(9)),
        fulfilled_by: Some(Version(10)),
        cancel: CancelState::Delivered,
        signals: 11,
        children: true,
        inbox: Inbox { heard: None, ..Inbox::default() },
        ..Task::born(PromiseId::from(id), Version(12), state, Some(Digest::of(COMPONENT)))
    }
}

fn records() -> Vec<Record> {
    let bodies = [
        RecordBody::Started {
            function: Text::from("order"),
            input: Payload::Json(Text::from(r#"{"items":3}"#)),
            module: Digest::of(COMPONENT),
            seed: Seed([7; 32]),
            engine: EngineFacts::default(),
        },
        RecordBody::Command {
            index: CommandIndex(0),
            kind: CommandKind::Call,
            name: Text::from("charge"),
            request: CommandRequest::of(&[("input", b"3")]),
        },
        RecordBody::Notified {
            index: CommandIndex(0),
            outcome: Outcome::Inline(StepResult::Value(Payload::Bytes(Bytes::from(&[0; 200][..])))),
        },
        RecordBody::Finished { outcome: Outcome::Own },
    ];
    let record = |(seq, body)| Record { seq, at: Timestamp(i64::from(seq)), body };
    (0..).zip(bodies).map(record).collect()
}

/// Two values with a common beginning, and records that repeat the first.
fn large_items() -> Vec<BundleItem> {
    let text = |end: &str| format!("\"{}{end}\"", "a conversation that is long, ".repeat(4_000));
    let value = |id: &str, end: &str| {
        let mut promise = promise(id, PromiseState::Pending);
        Arc::make_mut(&mut promise.spec).param.data = Bytes::from(text(end).into_bytes());
        let execution = BundleExecution { role: BundleRole::Asked, promise, task: None };
        BundleItem::Execution(Box::new(execution))
    };
    let started = Record {
        seq: 0,
        at: Timestamp(0),
        body: RecordBody::Started {
            function: Text::from("order"),
            input: Payload::Json(Text::from(text("one"))),
            module: Digest::of(COMPONENT),
            seed: Seed([7; 32]),
            engine: EngineFacts::default(),
        },
    };
    vec![value("one", "one"), BundleItem::Record(started), value("two", "two")]
}

/// A stream of messages, one of text and one without items.
fn streams() -> Vec<BundleItem> {
    let stream = |name: &str, content_type: &str, closed| {
        BundleItem::Stream(BundleStream {
            name: Text::from(name),
            content_type: Text::from(content_type),
            created_at: Timestamp(3),
            used_at: Timestamp(4),
            closed,
        })
    };
    let items = |count, records, writer: Option<&str>, data: &[u8]| {
        let (writer, data) = (writer.map(PromiseId::from), Bytes::from(data));
        BundleItem::StreamItems(BundleStreamItems { count, records, writer, data })
    };
    vec![
        stream("tokens", "application/json", true),
        items(2, 2, None, b"{\"card\":\"4111\"}\n17\n"),
        items(1, 3, Some("order-1/0"), b"\"secret\"\n"),
        stream("log", "text/plain", false),
        items(5, 2, None, b"Ada\nB"),
        items(3, 2, None, &[0xff, 0, b'\n']),
        stream("none", "application/json", false),
    ]
}

/// Blobs: one in two pieces, one without content, and one with the content of the first.
fn blobs() -> Vec<BundleItem> {
    let blob = |owner: &str, content: &[u8]| {
        let (id, bytes) = (format!("{owner}/blob/{}", Digest::of(content)), content.len() as u64);
        BundleItem::Blob(BundleBlob { id, bytes, content_type: "text/plain".to_owned() })
    };
    vec![
        blob("order-1", b"one, two"),
        BundleItem::BlobPiece(b"one, ".to_vec()),
        BundleItem::BlobPiece(b"two".to_vec()),
        blob("order-1", b""),
        blob("order-2", b"one, two"),
    ]
}

/// A bundle with everything that it can have.
fn all_items() -> Vec<BundleItem> {
    items().into_iter().chain(blobs()).collect()
}

/// The items of a bundle that was written before bundles had streams.
fn items_without_streams() -> Vec<BundleItem> {
    let is_of_stream =
        |item: &BundleItem| matches!(item, BundleItem::Stream(_) | BundleItem::StreamItems(_));
    items().into_iter().filter(|item| !is_of_stream(item)).collect()
}

/// Executions in every state: one has records, lines and streams, and of one only the value is
/// included.
fn items() -> Vec<BundleItem> {
    let lease = Lease {
        holder: Holder { node: "n".into(), incarnation: 1 },
        nonce: 2,
        ttl: Millis(3),
        until: Timestamp(4),
    };
    let settled = PromiseState::Settled(Arc::new(Settlement {
        verdict: Verdict::Resolved,
        value: Some(Value::of(vec![b'v'; 300])),
        settled_at: Timestamp(8),
    }));
    let states = [
        TaskState::Pending { since: Timestamp(1), retry_at: Timestamp(2), offered: true },
        TaskState::Acquired { lease },
        TaskState::Suspended,
        TaskState::Halted { reason: HaltReason::Trapped },
    ];
    let execution = |role, id: &str, state: &PromiseState, task| {
        BundleItem::Execution(Box::new(BundleExecution {
            role,
            promise: promise(id, state.clone()),
            task,
        }))
    };
    let mut items = Vec::new();
    items.push(execution(
        BundleRole::Asked,
        "order-1",
        &settled,
        Some(task("order-1", TaskState::Fulfilled)),
    ));
    items.extend(records().into_iter().map(BundleItem::Record));
    items.extend(["one", "two"].map(|message| {
        BundleItem::Line(BundleLine {
            at: Timestamp(3),
            level: LogLevel::Warn,
            message: Text::from(message),
        })
    }));
    items.extend(streams());
    for (number, state) in states.into_iter().enumerate() {
        let id = format!("order-1/{number}");
        items.push(execution(
            BundleRole::Member,
            &id,
            &PromiseState::Pending,
            Some(task(&id, state)),
        ));
    }
    items.push(execution(BundleRole::Value, "order-1/9", &settled, None));
    items.push(BundleItem::Module(BundleModule {
        digest: Digest::of(COMPONENT),
        size: COMPONENT.len() as u64,
        created_at: Timestamp(5),
        aliases: vec!["shop".to_owned()],
        description: "{}".to_owned(),
    }));
    items.push(BundleItem::Component(COMPONENT.to_vec()));
    items
}

fn written(items: &[BundleItem]) -> Vec<u8> {
    let mut writer = BundleWriter::begin(Vec::new(), &head()).expect("memory takes it");
    let mut items = items.iter().peekable();
    while let Some(item) = items.next() {
        match item {
            BundleItem::Execution(execution) => writer.execution(execution),
            BundleItem::Record(record) => writer.record(record),
            BundleItem::Line(line) => writer.line(line),
            BundleItem::Stream(stream) => writer.stream(stream),
            BundleItem::StreamItems(items) => writer.stream_items(items),
            BundleItem::Module(module) => match items.peek() {
                Some(BundleItem::Component(component)) => writer.module(module, Some(component)),
                _ => writer.module(module, None),
            },
            BundleItem::Component(_) => Ok(()),
            BundleItem::Blob(blob) => writer.blob(blob).map(drop),
            BundleItem::BlobPiece(piece) => writer.blob_content(piece),
        }
        .expect("memory takes it");
    }
    writer.end().expect("memory takes it").0
}

fn read(bytes: &[u8]) -> Result<Vec<BundleItem>, BundleError> {
    let mut reader = BundleReader::begin(bytes)?;
    let mut items = Vec::new();
    while let Some(item) = reader.next_item()? {
        items.push(item);
    }
    Ok(items)
}

/// Offsets of all parts, and of the end.
fn parts(bytes: &[u8]) -> Vec<usize> {
    let mut at = vec![FIRST_LINE.len()];
    while let Some(header) = bytes.get(at[at.len() - 1]..).filter(|rest| !rest.is_empty()) {
        let length = u32::from_le_bytes([header[2], header[3], header[4], header[5]]) as usize;
        at.push(at[at.len() - 1] + 10 + length + 32);
    }
    at
}

/// The kinds and the unpacked bodies of the parts.
fn bodies(bytes: &[u8]) -> Vec<(PartKind, Vec<u8>)> {
    let (parts, mut pieces) = (parts(bytes), ReadPieces::default());
    let mut body = |part: &[u8]| {
        let (header, rest) = part.split_first_chunk().expect("a part has a header");
        let header = PartHeader::read(*header).expect("it is one");
        let stored = rest[..header.length as usize].to_vec();
        (header.kind, unpacked(header, stored, &mut pieces).expect("it can be unpacked"))
    };
    parts.windows(2).map(|ends| body(&bytes[ends[0]..ends[1]])).collect()
}

#[test]
fn what_was_written_is_read() {
    let items = all_items();
    let bytes = written(&items);
    let read = read(&bytes).expect("it is whole");
    assert_eq!(format!("{read:?}"), format!("{items:?}"));
    let reader = BundleReader::begin(&bytes[..]).expect("it is whole");
    assert_eq!(*reader.head(), head());
}

#[test]
fn the_bytes_of_this_format_are_read_for_ever() {
    const PLAIN: &[u8] = include_bytes!("../tests/golden/bundle-1.segno-bundle");
    const STREAMS: &[u8] = include_bytes!("../tests/golden/bundle-1-streams.segno-bundle");
    const PIECES: &[u8] = include_bytes!("../tests/golden/bundle-1-pieces.segno-bundle");
    const BLOBS: &[u8] = include_bytes!("../tests/golden/bundle-1-blobs.segno-bundle");
    let plain = (PLAIN, items_without_streams());
    let kept = [plain, (STREAMS, items()), (PIECES, large_items()), (BLOBS, all_items())];
    for (golden, items) in kept {
        let read = read(golden).expect("a bundle of format 1 is readable");
        assert_eq!(format!("{read:?}"), format!("{items:?}"));
        // The compression ratio is not part of the format.
        assert!(bodies(&written(&items)) == bodies(golden), "what is written is not as it was");
    }
}

#[test]
fn items_of_streams_are_hidden_and_stay_items() {
    let hidden: Vec<BundleItem> = streams().into_iter().map(redacted).collect();
    let mut data = Vec::new();
    for item in &hidden {
        match item {
            BundleItem::StreamItems(items) => data.push((items.count, items.data.as_slice())),
            BundleItem::Stream(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let expected: [(u64, &[u8]); 4] =
        [(2, b"{\"card\":\"xxxx\"}\n11\n"), (1, b"\"xxxxxxxx\"\n"), (8, b"xxxxxxxx"), (4, &[0; 4])];
    assert_eq!(data, expected);
    let names = |items: &[BundleItem]| {
        let streams = items.iter().filter(|item| matches!(item, BundleItem::Stream(_)));
        streams.map(|stream| format!("{stream:?}")).collect::<Vec<_>>()
    };
    assert_eq!(names(&hidden), names(&streams()));
    let mut all = vec![items().remove(0)];
    all.extend(hidden);
    let read = read(&written(&all)).expect("hidden items are as many as they claim");
    assert_eq!(format!("{read:?}"), format!("{all:?}"));
}

/// Stored in the second format of an execution, which added these fields.
#[test]
fn what_an_execution_was_sent_and_has_not_read_is_kept() {
    let kept = vec![Text::from("approval")];
    for (inbox, successors) in [
        (Inbox { heard: Some(9), unread: 2, kept }, 3),
        (Inbox { heard: Some(11), ..Inbox::default() }, 0),
        (Inbox { heard: None, ..Inbox::default() }, 0),
    ] {
        let task = Task { inbox, successors, ..task("a", TaskState::Suspended) };
        let promise = promise("a", PromiseState::Pending);
        let execution = BundleExecution { role: BundleRole::Asked, promise, task: Some(task) };
        let format =
            if execution.task.as_ref().is_some_and(|it| it.inbox.heard.is_some()) { 2 } else { 1 };
        assert_eq!(execution.encode()[0], format);
        assert_eq!(BundleExecution::decode(&execution.encode()), Ok(execution));
    }
}

#[test]
fn every_changed_bit_is_refused_at_its_part() {
    let bytes = written(&all_items());
    let parts = parts(&bytes);
    for offset in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[offset] ^= 1 << bit;
            let error = read(&damaged).expect_err("a bit differs");
            let part = parts.partition_point(|begin| *begin <= offset);
            match &error {
                BundleError::NotABundle | BundleError::Newer { .. } => assert_eq!(part, 0),
                _ => {
                    let place = error.place().expect("the damage has a place");
                    assert_eq!(place.part, part as u64, "byte {offset}: {error}");
                    assert_eq!(place.at, parts[part - 1] as u64, "byte {offset}: {error}");
                }
            }
        }
    }
}

#[test]
fn every_beginning_is_refused_at_its_end() {
    let bytes = written(&all_items());
    let parts = parts(&bytes);
    for length in 0..bytes.len() {
        let error = read(&bytes[..length]).expect_err("it is cut");
        let Some(place) = error.place() else {
            assert!(length < FIRST_LINE.len(), "{length}: {error}");
            continue;
        };
        let part = parts.partition_point(|begin| *begin <= length);
        assert_eq!(place.part, part as u64, "{length}: {error}");
        assert_eq!(place.end, length as u64, "{length}: {error}");
    }
}

#[test]
fn parts_that_are_missing_moved_or_added_are_refused_at_their_place() {
    let bytes = written(&all_items());
    let parts = parts(&bytes);
    let part = |number: usize| &bytes[parts[number - 1]..parts[number]];
    let rebuilt = |numbers: &[usize]| {
        let mut file = FIRST_LINE.to_vec();
        numbers.iter().for_each(|number| file.extend_from_slice(part(*number)));
        file
    };
    let count = parts.len() - 1;
    let all: Vec<usize> = (1..=count).collect();
    assert!(rebuilt(&all) == bytes);
    for number in 1..=count {
        let without: Vec<usize> = all.iter().copied().filter(|other| *other != number).collect();
        let twice: Vec<usize> =
            all.iter().flat_map(|other| vec![*other; 1 + usize::from(*other == number)]).collect();
        let mut swapped = all.clone();
        if number < count {
            swapped.swap(number - 1, number);
        }
        let place = |file: &[u8]| match read(file) {
            Err(error) => error.place().map(|place| place.part),
            Ok(_) => None,
        };
        assert_eq!(place(&rebuilt(&without)), Some(number as u64), "without part {number}");
        // Bytes after the end no longer belong to a part.
        let again = if number == count { number } else { number + 1 };
        assert_eq!(place(&rebuilt(&twice)), Some(again as u64), "part {number} twice");
        if number < count {
            assert_eq!(place(&rebuilt(&swapped)), Some(number as u64), "part {number} moved");
        }
    }
}

/// A forged chain does not help: the parts are checked against each other.
#[test]
fn parts_with_a_chain_of_their_own_are_held_against_each_other() {
    let says =
        |items: Vec<BundleItem>| read(&written(&items)).expect_err("it is no bundle").to_string();
    let without = |left_out: fn(&BundleItem) -> bool| {
        items().into_iter().filter(|item| !left_out(item)).collect::<Vec<_>>()
    };
    let gap = without(|item| matches!(item, BundleItem::Record(record) if record.seq == 1));
    assert!(says(gap).contains("found record 2 in place of record 1"));
    let lost = without(
        |item| matches!(item, BundleItem::Execution(execution) if execution.role == BundleRole::Asked),
    );
    assert!(says(lost).contains("the record belongs to no execution"));
    let mut twice = items();
    twice.extend(items());
    assert!(says(twice).contains("`order-1` comes twice"));
    let mut of_a_value = items();
    let value = of_a_value.iter().position(
        |item| matches!(item, BundleItem::Execution(execution) if execution.role == BundleRole::Value),
    );
    of_a_value.insert(value.expect("there is one") + 1, BundleItem::Record(records().remove(0)));
    assert!(says(of_a_value).contains("the record belongs to no execution"));
    let stray = |item: BundleItem| says(vec![item]);
    assert!(stray(streams().remove(0)).contains("the stream belongs to no execution"));
    assert!(stray(streams().remove(1)).contains("the items belong to no stream"));
    let of_execution = |streams: Vec<BundleItem>| {
        let mut all = vec![items().remove(0)];
        all.extend(streams);
        says(all)
    };
    let mut repeated = streams();
    repeated.extend(streams());
    assert!(of_execution(repeated).contains("the stream `tokens` comes twice"));
    let mut miscounted = streams();
    if let BundleItem::StreamItems(items) = &mut miscounted[1] {
        items.count = 3;
    }
    assert!(of_execution(miscounted).contains("its data is not 3 items"));
    let mut nested = streams();
    if let BundleItem::Stream(stream) = &mut nested[0] {
        stream.name = Text::from("a/b");
    }
    assert!(of_execution(nested).contains("`a/b` is not the name of a stream"));
    let mut other_code = items();
    other_code.pop();
    other_code.push(BundleItem::Component(b"other".to_vec()));
    assert!(says(other_code).contains("its bytes do not have the digest"));
    let of_blobs = |change: fn(&mut Vec<BundleItem>)| {
        let mut all = blobs();
        change(&mut all);
        says(all)
    };
    for (said, why) in [
        (of_blobs(|all| drop(all.remove(2))), "ends after 5 of 8 bytes"),
        (of_blobs(|all| all[2] = BundleItem::BlobPiece(b"TWO".to_vec())), "has the digest"),
        (of_blobs(|all| all.insert(3, BundleItem::BlobPiece(b"!".to_vec()))), "and more come"),
        (of_blobs(|all| drop(all.remove(0))), "it follows no blob"),
        (of_blobs(|all| all.extend(blobs().pop())), "comes twice"),
        (of_blobs(|all| all.insert(0, BundleItem::Blob(foreign_blob("a/blob/b")))), "`a/blob/b`"),
    ] {
        assert!(said.contains(why), "{said}");
    }
}

fn foreign_blob(id: &str) -> BundleBlob {
    BundleBlob { id: id.to_owned(), bytes: 0, content_type: "a/b".to_owned() }
}

#[test]
fn content_is_where_its_blob_says_and_references_are_listed() {
    let bytes = written(&all_items());
    let mut reader = BundleReader::begin(&bytes[..]).expect("it is whole");
    while reader.next_item().expect("it is whole").is_some() {}
    assert_eq!(reader.references().count(), 0);
    let blob = foreign_blob(&format!("order-1/blob/{}", Digest::of(b"")));
    let mut param = promise("a", PromiseState::Pending);
    let json = serde_json::to_vec(&serde_json::json!({ "args": [blob] })).expect("JSON");
    Arc::make_mut(&mut param.spec).param.data = Bytes::from(json);
    let refers = BundleExecution { role: BundleRole::Asked, promise: param, task: None };
    let mut writer = BundleWriter::begin(Vec::new(), &head()).expect("memory takes it");
    writer.execution(&refers).expect("memory takes it");
    assert!(writer.take_references().eq([blob.clone()]));
    assert_eq!(writer.take_references().count(), 0);
    // The content of a blob that has none before it is not that of an earlier one.
    for (repeats, why) in [(true, "is not where it says"), (false, "comes twice")] {
        let mut stored = FIRST_LINE.to_vec();
        let mut link = ChainLink::first(FIRST_LINE);
        let head = serde_json::to_vec(&head()).expect("JSON");
        let body = blob.encode(repeats);
        for (kind, body) in
            [(PartKind::Head, &head), (PartKind::Blob, &body), (PartKind::Blob, &body)]
        {
            let part = EncodedPart::new(kind, body, link, &mut Default::default());
            let part = part.expect("it is small");
            stored.extend(part.bytes);
            link = part.link;
        }
        let error = read(&stored).expect_err("it is no bundle").to_string();
        assert!(error.contains(why), "{error}");
    }
    writer.end().expect("memory takes it");
}

#[test]
fn a_newer_format_is_named_and_another_file_refused() {
    let newer = read(b"SEGNO BUNDLE 2\nand what that is").expect_err("it is newer").to_string();
    assert!(newer.contains("format 2") && newer.contains("up to 1"), "{newer}");
    for other in
        [&b""[..], b"SEGNO STORE 1\n", b"PK\x03\x04", b"SEGNO BUNDLE one\n", b"SEGNO BUNDLE 1\r\n"]
    {
        let error = read(other).expect_err("it is something else");
        assert!(matches!(error, BundleError::NotABundle), "{error}");
    }
}

#[test]
fn a_claimed_size_takes_no_memory() {
    for (length, size) in [(u32::MAX, u32::MAX), (8, 200 << 20), (250 << 20, 250 << 20)] {
        for packing in [0, 1] {
            let mut file = FIRST_LINE.to_vec();
            file.extend([PartKind::Component as u8, packing]);
            file.extend(length.to_le_bytes());
            file.extend(size.to_le_bytes());
            file.extend([0; 64]);
            let error = read(&file).expect_err("nothing of that is there");
            assert_eq!(error.place().map(|place| place.part), Some(1), "{error}");
        }
    }
}

#[test]
fn what_unpacks_to_more_than_is_allowed_is_refused() {
    let mut writer = BundleWriter::begin(Vec::new(), &head()).expect("memory takes it");
    let large = promise("large", PromiseState::Pending);
    let spec = PromiseSpec { param: Value::of(vec![0; 1 << 20]), ..(*large.spec).clone() };
    let promise = Promise { spec: Arc::new(spec), state: PromiseState::Pending };
    let large = BundleExecution { role: BundleRole::Asked, promise, task: None };
    writer.execution(&large).expect("memory takes it");
    let bytes = writer.end().expect("memory takes it").0;
    let bounds = UnpackBounds { expansion: 10, bytes: 1 << 16 };
    let mut reader = BundleReader::bounded(&bytes[..], bounds).expect("the head is small");
    let error = reader.next_item().expect_err("it is large");
    assert!(matches!(error, BundleError::TooLarge { .. }), "{error}");
    assert!(read(&bytes).is_ok(), "the usual bounds allow it");
}

/// Writes the newest golden file: run once per format, never again.
#[test]
#[ignore = "writes the golden file of this format"]
fn write_the_golden_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/bundle-1-blobs.segno-bundle");
    std::fs::write(path, written(&all_items())).expect("the file can be written");
}
