//! Golden tests: stored data stays readable. Every blob format has a file with all possible shapes,
//! as written when the format was new; these tests detect any change in the encoding or decoding. A
//! new format gets a new number and a new file; the old files stay.

use std::{env, fs, path::Path};

use segno_core::{
    id::Version,
    invocation::{LogLevel, LogLine},
    promise::{
        ClaimProgress, HaltReason, Inbox, Note, OutboxMessage, RepeatedTrap, Task, TaskState,
        TrapKey,
    },
    time::{Millis, Timestamp},
    value::{Bytes, Tags, Text, Value},
};

use super::{
    journal::{decode_lines, encode_lines},
    outbox::{decode_message, encode_message},
    task::{decode_details, encode_details},
};

/// The blobs of a golden file, each as `length: u32, little endian; bytes`. With
/// `SEGNO_GOLDEN=write`, a missing file is created.
fn golden(name: &str, written: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql/golden");
    let file = folder.join(name);
    if !file.exists() && env::var("SEGNO_GOLDEN").is_ok_and(|mode| mode == "write") {
        let framed = |blob: &Vec<u8>| [&(blob.len() as u32).to_le_bytes()[..], blob].concat();
        let bytes: Vec<u8> = written.iter().flat_map(framed).collect();
        fs::write(&file, bytes).expect("the golden file is written");
    }
    let bytes = fs::read(&file).expect("the golden file is in the repository");
    let (mut blobs, mut rest) = (Vec::new(), bytes.as_slice());
    while let Some((length, further)) = rest.split_first_chunk::<4>() {
        let (blob, further) = further.split_at(u32::from_le_bytes(*length) as usize);
        blobs.push(blob.to_vec());
        rest = further;
    }
    blobs
}

fn messages() -> Vec<OutboxMessage> {
    let payload = Value {
        headers: Tags::from([("kind".to_owned(), "bill".to_owned())]),
        data: Bytes::from(&b"\"paid\""[..]),
    };
    vec![
        OutboxMessage::Execute { version: Version(300) },
        OutboxMessage::Unblock,
        OutboxMessage::Event { topic: Text::from("orders"), payload },
        OutboxMessage::CancelChildren { after: None },
        OutboxMessage::CancelChildren { after: Some("order/42/7".into()) },
    ]
}

fn lines() -> Vec<LogLine> {
    let levels =
        [LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error];
    let line = |(place, level): (usize, LogLevel)| LogLine {
        seq: place as u32 * 200,
        at: Timestamp(1_700_000_000_000 + place as i64),
        level,
        message: Text::from(format!("line {place}\nä").as_str()),
    };
    levels.into_iter().enumerate().map(line).collect()
}

fn tasks() -> Vec<Task> {
    let plain = Task::born("order/42".into(), Version(0), TaskState::Suspended, None);
    let key = TrapKey { journal_len: 7, message: Text::from("unreachable") };
    let note = Note {
        kind: Text::from("trap"),
        message: Text::from("it trapped"),
        details: Bytes::from(&b"{}"[..]),
    };
    let progress = ClaimProgress {
        seq: 900,
        at: Timestamp(1_700_000_000_000),
        payload: Some(Bytes::from(&b"half"[..])),
    };
    let full = Task {
        state: TaskState::Halted { reason: HaltReason::Trapped },
        losses: 3,
        traps: Some(RepeatedTrap { key, count: 2 }),
        note: Some(note),
        progress,
        stall_limit: Some(Millis(300_000)),
        children: true,
        ..plain.clone()
    };
    vec![plain, full]
}

#[test]
fn messages_read_and_write_as_released() {
    let messages = messages();
    let written: Vec<Vec<u8>> = messages.iter().map(encode_message).collect();
    assert_eq!(written, golden("messages-129.bin", &written));
    let read: Vec<_> = written.iter().map(|blob| decode_message(blob)).collect();
    assert_eq!(read, messages.iter().cloned().map(Some).collect::<Vec<_>>());
}

/// Messages added later, in the same format.
#[test]
fn messages_about_limits_read_and_write_as_released() {
    let messages = [true, false].map(|admitted| OutboxMessage::LeaveLimit { admitted });
    let written: Vec<Vec<u8>> = messages.iter().map(encode_message).collect();
    assert_eq!(written, golden("messages-129-limits.bin", &written));
    let read: Vec<_> = written.iter().map(|blob| decode_message(blob)).collect();
    assert_eq!(read, messages.map(Some));
}

/// Messages as the first version wrote them.
#[test]
fn messages_without_a_format_are_read() {
    let messages = messages();
    let without: Vec<Vec<u8>> =
        messages.iter().map(|message| encode_message(message).split_off(1)).collect();
    let read: Vec<_> = golden("messages-0.bin", &without)
        .iter()
        .map(|blob| decode_message(blob).expect("a message"))
        .collect();
    assert_eq!(read, messages);
}

#[test]
fn log_lines_read_and_write_as_released() {
    let lines = lines();
    let written = encode_lines(&lines.iter().collect::<Vec<_>>());
    let written = [written];
    assert_eq!(written, *golden("lines-1.bin", &written));
    let [written] = written;
    assert_eq!(decode_lines(&written), Some(lines));
}

#[test]
fn details_of_tasks_read_and_write_as_released() {
    let mut tasks = tasks();
    let kept = vec![Text::from("approval")];
    tasks[1].inbox = Inbox { heard: Some(300), unread: 2, kept };
    tasks[1].successors = 4;
    let written: Vec<Vec<u8>> = tasks.iter().map(encode_details).collect();
    let golden = golden("details-2.bin", &written);
    assert_eq!(written, golden);
    for (task, blob) in tasks.into_iter().zip(&golden) {
        assert_eq!(read_details(&task, blob), task);
    }
}

/// Details from before heard signals were counted.
#[test]
fn details_of_the_first_format_are_read() {
    for (task, blob) in tasks().into_iter().zip(&golden("details-1.bin", &[])) {
        let inbox = Inbox { heard: None, ..Inbox::default() };
        assert_eq!(read_details(&task, blob), Task { inbox, ..task });
    }
}

fn read_details(task: &Task, blob: &[u8]) -> Task {
    let mut read = Task::born(task.id.clone(), task.version, task.state.clone(), None);
    assert!(decode_details(&mut read, blob));
    read
}

#[test]
fn a_format_that_is_not_known_is_no_blob() {
    let mut task = tasks().remove(0);
    for format in [0, 3, 9, 255] {
        let blob = [&[format][..], &encode_details(&task)[1..]].concat();
        assert!(!decode_details(&mut task, &blob), "{format}");
        assert_eq!(decode_lines(&[format, 0]), None, "{format}");
    }
    for format in [4, 127, 128, 130, 255] {
        assert_eq!(decode_message(&[format, 0]), None, "{format}");
    }
    assert_eq!((decode_message(&[]), decode_lines(&[])), (None, None));
}
