use segno_core::{
    id::Digest,
    invocation::{CommandRequest, Seed, decode_records, encode_records},
    value::Payload,
};
use segno_guest::Payload as GuestPayload;
use segno_restate::{
    immutable::{Call, Command, Run, SetState, Sleep},
    mutable::{Entry, EntryResult},
};

use super::*;

fn called() -> InvocationInput {
    InvocationInput {
        function: Text::from("Cart/ada/add"),
        input: GuestPayload::Json("7".to_owned()),
        headers: vec![("x-one".to_owned(), "1".to_owned())],
    }
}

fn begun(version: ProtocolVersion) -> ServiceJournal {
    let first = InvocationStart {
        deployment: Digest([7; 32]),
        seed: Seed([1; 32]),
        at: Timestamp(1_700_000_000_000),
    };
    ServiceJournal::begin(PromiseId::from("it"), version, &called(), first)
}

fn ask(
    journal: &mut ServiceJournal,
    wish: RequestedCommand,
    frame: Bytes,
    kind: CommandKind,
) -> CommandIndex {
    let awaits =
        matches!(kind, CommandKind::Call | CommandKind::Sleep).then(|| PromiseId::from("other"));
    let recorded = CommandRecord { kind, name: Text::from("n"), awaits, acts: Vec::new() };
    journal.command(wish, frame, recorded, Timestamp(1_700_000_000_001)).0
}

/// A journal of V6 with every kind of record.
fn commands() -> ServiceJournal {
    let mut journal = begun(ProtocolVersion::V6);
    let (value, name) = (Some(ValueMessage { content: Bytes::from_static(b"[1]") }), String::new());
    let commands: [(Command, CommandKind); 4] = [
        (SetState { key: Bytes::from_static(b"k"), value, name }.into(), CommandKind::SetState),
        (Run { result_completion_id: 1, name: "r".to_owned() }.into(), CommandKind::Run),
        (
            Call {
                service_name: "Other".to_owned(),
                handler_name: "do".to_owned(),
                parameter: vec![b'x'; 300].into(),
                invocation_id_completion_id: 2,
                result_completion_id: 3,
                ..Call::default()
            }
            .into(),
            CommandKind::Call,
        ),
        (
            Sleep { wake_up_at_ms: 9, result_completion_id: 4, name: String::new() }.into(),
            CommandKind::Sleep,
        ),
    ];
    let indexes = commands.map(|(command, kind)| {
        let message = Message::Command(command.clone());
        let frame = message.encode(ProtocolVersion::V6).to_bytes();
        ask(&mut journal, RequestedCommand::Command(command), frame, kind)
    });
    let now = Timestamp(1_700_000_000_002);
    let value = NotificationResult::Value(Bytes::from_static(b"\"done\""));
    journal.complete(indexes[1], value, now);
    journal.signal(Text::from("#17"), Payload::Json(Text::from("5")), now);
    journal.signal(Text::from("#17!"), Payload::Json(Text::from("6")), now);
    journal.complete(indexes[3], NotificationResult::Void, now);
    journal.cancel(now);
    journal
}

/// A journal of V2, whose entries have their results.
fn entries() -> ServiceJournal {
    let mut journal = begun(ProtocolVersion::V2);
    let name = || "n".to_owned();
    let result = Some(EntryResult::Value(Bytes::from_static(b"1")));
    let entries: [(Entry, CommandKind); 3] = [
        (mutable::Run { name: name(), result }.into(), CommandKind::Run),
        (mutable::Awakeable { name: name(), result: None }.into(), CommandKind::Promise),
        (
            mutable::Sleep { wake_up_at_ms: 9, name: name(), result: None }.into(),
            CommandKind::Sleep,
        ),
    ];
    let indexes = entries.map(|(entry, kind)| {
        let message = mutable::Message::Entry(entry.clone());
        let frame = message.encode(ProtocolVersion::V2).to_bytes();
        let wish = RequestedCommand::of_entry(entry, place(journal.next_index()));
        ask(&mut journal, wish, frame, kind)
    });
    let now = Timestamp(1_700_000_000_002);
    journal.answered(indexes[0], &NotificationResult::Value(Bytes::from_static(b"1")), now);
    journal.signal(Text::from("#2"), Payload::Json(Text::from("5")), now);
    journal.cancel(now);
    journal
}

/// Every later version must read the stored records, and must send the same frames to the
/// deployment.
#[test]
fn stored_journals_are_read_for_ever() {
    for (name, mut journal) in [("commands", commands()), ("entries", entries())] {
        let frames = journal.frames.clone();
        let stored = encode_records(&journal.take_batch().records);
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let path = folder.join(format!("service-{name}-1.bin"));
        if !path.exists() && std::env::var("SEGNO_GOLDEN").is_ok_and(|mode| mode == "write") {
            std::fs::create_dir_all(&folder).expect("the folder is made");
            std::fs::write(&path, &stored).expect("the golden file is written");
        }
        let golden = std::fs::read(&path).expect("the golden file is in the repository");
        assert_eq!(stored, golden, "{name}");
        let records = decode_records(&golden).expect("it is a journal");
        let id = PromiseId::from("it");
        let read = ServiceJournal::read(id, &called(), &records, &BTreeMap::new());
        let read = read.expect("it is a journal of a service");
        assert_eq!(read.frames, frames, "{name}");
        let open = |journal: &ServiceJournal| journal.open.keys().copied().collect::<Vec<_>>();
        assert_eq!(open(&read), open(&journal), "{name}");
        assert_eq!((read.len, read.commands), (journal.len, journal.commands), "{name}");
        assert!(read.cancel_told() && !read.has_grown());
    }
}

#[test]
fn what_is_completed_once_is_told_once() {
    let mut journal = commands();
    let before = journal.frames.len();
    let again = journal.signal(Text::from("#17"), Payload::Json(Text::from("9")), Timestamp(0));
    assert_eq!((again, journal.frames.len()), (None, before));
    let named = journal.signal(Text::from("go"), Payload::Json(Text::from("9")), Timestamp(0));
    assert!(named.is_some() && journal.frames.len() == before + 1);
    assert_eq!(journal.signals(), 4);
    // In V1 to V3, an awakeable may be completed before its entry exists.
    let mut early = begun(ProtocolVersion::V3);
    assert_eq!(early.signal("#1".into(), Payload::Json("5".into()), Timestamp(0)), None);
    let entry: Entry = mutable::Awakeable { name: String::new(), result: None }.into();
    let frame = mutable::Message::Entry(entry.clone()).encode(ProtocolVersion::V3).to_bytes();
    let wish = RequestedCommand::of_entry(entry, 1);
    let recorded = CommandRecord {
        kind: CommandKind::Promise,
        name: Text::default(),
        awaits: None,
        acts: vec![],
    };
    let (_, told) = early.command(wish, frame, recorded, Timestamp(0));
    assert_eq!(told.len(), 1);
    assert_eq!(early.open().count(), 0);
}

#[test]
fn records_of_other_journals_are_refused_by_their_place() {
    let mut journal = commands();
    let mut records = journal.take_batch().records;
    let read = |records: &[Record]| {
        let id = PromiseId::from("it");
        ServiceJournal::read(id, &called(), records, &BTreeMap::new())
            .err()
            .map(|it| it.to_string())
    };
    assert_eq!(read(&records), None);
    if let RecordBody::Command { request, .. } = &mut records[1].body {
        *request = CommandRequest::of(&[("input", b"1")]);
    }
    assert_eq!(read(&records).as_deref(), Some("record 1 has no frame of a command"));
    if let RecordBody::Started { engine, .. } = &mut records[0].body {
        engine.class = 99;
    }
    let said = read(&records);
    assert_eq!(said.as_deref(), Some("record 0 names no version of the protocol"));
}
