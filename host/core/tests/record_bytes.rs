//! Stored journals stay readable: encoding round-trips, and the bytes of released formats never
//! change. `SEGNO_GOLDEN=write cargo test -p segno-core --test record_bytes` writes files that do
//! not exist yet.

use proptest::prelude::*;
use segno_core::{
    id::{CommandIndex, Digest},
    invocation::{
        CodecError, CommandKind, CommandRequest, EngineFacts, Outcome, Record, RecordBody, Seed,
        StepResult, decode_records, encode_records, join_records,
    },
    time::Timestamp,
    value::{Bytes, Payload, Text},
};

/// One record of every shape.
fn every_shape() -> Vec<Record> {
    let json = |text: &str| Payload::Json(Text::from(text));
    let failure = StepResult::Failure {
        code: 409,
        message: Text::from("sold out"),
        details: Some(Payload::Bytes(Bytes::from(&[0, 255][..]))),
    };
    let mut bodies = vec![RecordBody::Started {
        function: Text::from("order"),
        input: json("{\"item\":\"tea\"}"),
        module: Digest([0xab; 32]),
        seed: Seed([0xcd; 32]),
        engine: EngineFacts {
            class: 1,
            canonical_nans: true,
            deterministic_simd: true,
            memory_limit_bytes: 1 << 30,
            table_limit: 100_000,
        },
    }];
    let kinds = [
        CommandKind::Call,
        CommandKind::Send,
        CommandKind::Sleep,
        CommandKind::Promise,
        CommandKind::Settle,
        CommandKind::Http,
        CommandKind::Run,
        CommandKind::Cancel,
        CommandKind::Publish,
    ];
    for (index, kind) in kinds.into_iter().enumerate() {
        let large = vec![b'x'; 257 * index];
        bodies.push(RecordBody::Command {
            index: CommandIndex(index as u32),
            kind,
            name: Text::from("step"),
            request: CommandRequest::of(&[("input", &large), ("timeout_ms", b"1000")]),
        });
    }
    let outcomes = [
        Outcome::Inline(StepResult::Empty),
        Outcome::Inline(StepResult::Value(json("1"))),
        Outcome::Inline(failure),
        Outcome::Own,
    ];
    for (index, outcome) in outcomes.into_iter().enumerate() {
        bodies.push(RecordBody::Notified { index: CommandIndex(index as u32), outcome });
    }
    bodies.push(RecordBody::Signal { name: Text::from("go"), payload: json("null") });
    bodies.push(RecordBody::Cancelled);
    bodies.push(RecordBody::Finished { outcome: Outcome::Own });
    let numbered = bodies.into_iter().enumerate();
    numbered
        .map(|(seq, body)| Record { seq: seq as u32, at: Timestamp(1_700_000_000_000), body })
        .collect()
}

#[test]
fn the_first_format_reads_and_writes_as_released() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/records-1.bin");
    let records = every_shape();
    let encoded = encode_records(&records);
    if !path.exists() && std::env::var("SEGNO_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &encoded).expect("the golden file is written");
    }
    let golden = std::fs::read(&path).expect("the golden file is in the repository");
    assert_eq!(decode_records(&golden), Ok(records));
    assert_eq!(encoded, golden);
}

#[test]
fn bytes_that_are_no_batch_are_refused_by_name() {
    assert_eq!(decode_records(&[]), Err(CodecError::Empty));
    assert_eq!(decode_records(&[9, 1, 2]), Err(CodecError::UnknownFormat(9)));
    let whole = encode_records(&every_shape());
    assert!(matches!(decode_records(&whole[..whole.len() - 1]), Err(CodecError::Damaged { .. })));
}

#[test]
fn batches_are_joined_only_if_both_are_of_the_present_format() {
    let records = every_shape();
    let (first, rest) = records.split_at(3);
    let mut joined = encode_records(first);
    for stranger in [&[][..], &[9, 1, 2]] {
        assert!(!join_records(&mut joined, stranger));
        assert!(!join_records(&mut stranger.to_vec(), &joined));
    }
    assert_eq!(joined, encode_records(first), "what is refused changes nothing");
    assert!(join_records(&mut joined, &encode_records(rest)));
    assert_eq!(joined, encode_records(&records));
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        ".*".prop_map(|text: String| Payload::Json(Text::from(text))),
        any::<Vec<u8>>().prop_map(|bytes| Payload::Bytes(Bytes::from(bytes))),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let failure = (any::<u32>(), ".*", proptest::option::of(payload())).prop_map(
        |(code, message, details)| StepResult::Failure {
            code,
            message: Text::from(message),
            details,
        },
    );
    let result =
        prop_oneof![Just(StepResult::Empty), payload().prop_map(StepResult::Value), failure];
    prop_oneof![result.prop_map(Outcome::Inline), Just(Outcome::Own)]
}

fn record() -> impl Strategy<Value = Record> {
    let command = (any::<u32>(), ".*", any::<Vec<u8>>()).prop_map(|(index, name, input)| {
        RecordBody::Command {
            index: CommandIndex(index),
            kind: CommandKind::Run,
            request: CommandRequest::of(&[(&name, &input)]),
            name: Text::from(name),
        }
    });
    let notified = (any::<u32>(), outcome())
        .prop_map(|(index, outcome)| RecordBody::Notified { index: CommandIndex(index), outcome });
    let signal = (".*", payload())
        .prop_map(|(name, payload)| RecordBody::Signal { name: Text::from(name), payload });
    let finished = outcome().prop_map(|outcome| RecordBody::Finished { outcome });
    let body = prop_oneof![command, notified, signal, finished, Just(RecordBody::Cancelled)];
    (any::<u32>(), any::<i64>(), body).prop_map(|(seq, at, body)| Record {
        seq,
        at: Timestamp(at),
        body,
    })
}

proptest! {
    #[test]
    fn records_come_back(records in proptest::collection::vec(record(), 0..20)) {
        prop_assert_eq!(decode_records(&encode_records(&records)), Ok(records));
    }

    #[test]
    fn damaged_bytes_never_panic(bytes in any::<Vec<u8>>()) {
        let mut batch = vec![1];
        batch.extend(bytes);
        if let Ok(records) = decode_records(&batch) {
            prop_assert_eq!(decode_records(&encode_records(&records)), Ok(records));
        }
    }
}
