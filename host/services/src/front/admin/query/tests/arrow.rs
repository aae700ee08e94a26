//! These tests decode streams as far as this crate encodes them. The released command, which
//! decodes them with Arrow's own code, is part of the suite (`tests/tests/restate`).

use polars_arrow_format::ipc::{MessageHeaderRef, MessageRef, TypeRef, planus::ReadAsRoot as _};

use super::{super::arrow::stream, asked};

/// Splits a stream into messages, each with its header and its body.
fn messages(stream: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut rest, mut messages) = (stream, Vec::new());
    loop {
        assert_eq!(rest[..4], [0xff; 4], "each message begins so");
        let length = u32::from_le_bytes(rest[4..8].try_into().expect("4 bytes")) as usize;
        if length == 0 {
            assert_eq!(rest.len(), 8, "the end is the end");
            return messages;
        }
        assert_eq!(length % 8, 0, "the body begins at a multiple of 8");
        let header = rest[8..8 + length].to_vec();
        let message = MessageRef::read_as_root(&header).expect("a header");
        let body = usize::try_from(message.body_length().expect("a length")).expect("a length");
        messages.push((header, rest[8 + length..8 + length + body].to_vec()));
        rest = &rest[8 + length + body..];
    }
}

#[test]
fn a_stream_has_a_schema_and_the_values_of_each_column() {
    let sql = "SELECT name, public, 7 AS n, 1.5 AS r, CASE WHEN name = 'Cell' THEN ty END AS some FROM sys_service ORDER BY name";
    let messages = messages(&stream(&asked(sql).expect("an answer")));
    let [schema, batch] = messages.as_slice() else { panic!("{} messages", messages.len()) };
    let schema = MessageRef::read_as_root(&schema.0).expect("a header");
    let Ok(Some(MessageHeaderRef::Schema(schema))) = schema.header() else { panic!("a schema") };
    let mut fields = Vec::new();
    for field in schema.fields().expect("fields").expect("fields") {
        let field = field.expect("a field");
        let kind = match field.type_().expect("a type").expect("a type") {
            TypeRef::Utf8(_) => "text",
            TypeRef::Bool(_) => "bool",
            TypeRef::Int(int) => {
                let (width, is_signed) = (int.bit_width(), int.is_signed());
                assert!(matches!((width, is_signed), (Ok(64), Ok(true))), "a number");
                "int"
            }
            TypeRef::FloatingPoint(_) => "real",
            _ => "other",
        };
        fields.push((field.name().expect("a name").expect("a name").to_owned(), kind));
    }
    let expected =
        [("name", "text"), ("public", "bool"), ("n", "int"), ("r", "real"), ("some", "text")];
    assert_eq!(fields, expected.map(|(name, kind)| (name.to_owned(), kind)));
    let body = &batch.1;
    let batch = MessageRef::read_as_root(&batch.0).expect("a header");
    let Ok(Some(MessageHeaderRef::RecordBatch(batch))) = batch.header() else { panic!("rows") };
    assert_eq!(batch.length().expect("a length"), 2);
    let nodes = batch.nodes().expect("nodes").expect("nodes");
    let missing: Vec<_> = nodes.iter().map(|node| node.null_count()).collect();
    assert_eq!(missing, [0, 0, 0, 0, 1]);
    let buffers = batch.buffers().expect("buffers").expect("buffers");
    let buffers = buffers.iter().map(|buffer| {
        assert_eq!(buffer.offset() % 8, 0);
        let (from, length) = (buffer.offset() as usize, buffer.length() as usize);
        body[from..from + length].to_vec()
    });
    let two = |bytes: [u8; 8]| [bytes, bytes].concat();
    let expected: Vec<Vec<u8>> = vec![
        vec![0b11],
        vec![0, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0],
        b"CellPlain".to_vec(),
        vec![0b11],
        vec![0b10],
        vec![0b11],
        two(7_i64.to_le_bytes()),
        vec![0b11],
        two(1.5_f64.to_le_bytes()),
        vec![0b01],
        vec![0, 0, 0, 0, 14, 0, 0, 0, 14, 0, 0, 0],
        b"virtual_object".to_vec(),
    ];
    assert_eq!(buffers.collect::<Vec<_>>(), expected);
}

#[test]
fn a_column_of_several_kinds_or_of_none_is_text() {
    for (sql, kind) in [
        ("SELECT 1 AS x UNION ALL SELECT 'a'", "Utf8"),
        ("SELECT NULL AS x", "Utf8"),
        ("SELECT 1 AS x UNION ALL SELECT 1.5", "FloatingPoint"),
        ("SELECT value AS x FROM state", "Binary"),
        ("SELECT completed AS x FROM sys_promise", "Bool"),
    ] {
        let messages = messages(&stream(&asked(sql).expect("an answer")));
        let schema = MessageRef::read_as_root(&messages[0].0).expect("a header");
        let schema = format!("{:?}", schema.header());
        assert!(schema.contains(kind), "{sql}: {schema}");
    }
}
