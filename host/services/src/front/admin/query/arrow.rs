//! An answer as an Apache Arrow stream, which Restate's command requests when it prints any query
//! as a table.
//!
//! ```text
//! message   ff ff ff ff, header length (4 bytes), header (a flatbuffer), padding to 8 bytes, body
//! stream    message with the schema, message with all rows, ff ff ff ff 00 00 00 00
//! ```
//!
//! The body consists of the buffers of each column, each padded to 8 bytes: the validity bitmap,
//! one bit for each row; the offsets of texts, 4 bytes each; the values. Numbers are little-endian.

use polars_arrow_format::ipc::{
    Binary, Bool, Buffer, Endianness, Field, FieldNode, FloatingPoint, Int, Message, MessageHeader,
    MetadataVersion, Precision, RecordBatch, Schema, Type, Utf8, planus,
};
use rusqlite::types::Value;

use super::answer::{QueryResult, ResultColumn, hexadecimal};

/// Content type of the stream.
pub(super) const CONTENT_TYPE: &str = "application/vnd.apache.arrow.stream";

/// Type of all values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrowKind {
    Bool,
    Whole,
    Real,
    Text,
    Bytes,
}

impl ArrowKind {
    /// Returns the type that can represent every value. In SQLite each value has its own type.
    fn of<'a>(column: &ResultColumn, values: impl Iterator<Item = &'a Value>) -> Self {
        let kinds = values.filter_map(|value| match value {
            Value::Null => None,
            Value::Integer(_) if column.is_bool => Some(Self::Bool),
            Value::Integer(_) => Some(Self::Whole),
            Value::Real(_) => Some(Self::Real),
            Value::Text(_) => Some(Self::Text),
            Value::Blob(_) => Some(Self::Bytes),
        });
        let both = kinds.reduce(|left, right| match (left, right) {
            (left, right) if left == right => left,
            (Self::Whole, Self::Real) | (Self::Real, Self::Whole) => Self::Real,
            _ => Self::Text,
        });
        both.unwrap_or(if column.is_bool { Self::Bool } else { Self::Text })
    }

    fn named(self) -> Type {
        match self {
            Self::Bool => Type::Bool(Box::new(Bool {})),
            Self::Whole => Type::Int(Box::new(Int { bit_width: 64, is_signed: true })),
            Self::Real => {
                Type::FloatingPoint(Box::new(FloatingPoint { precision: Precision::Double }))
            }
            Self::Text => Type::Utf8(Box::new(Utf8 {})),
            Self::Bytes => Type::Binary(Box::new(Binary {})),
        }
    }
}

/// Encodes an answer as a stream.
pub(super) fn stream(answer: &QueryResult) -> Vec<u8> {
    let values = |column: usize| answer.rows.iter().map(move |row| &row[column]);
    let kinds: Vec<ArrowKind> = answer
        .columns
        .iter()
        .enumerate()
        .map(|(number, column)| ArrowKind::of(column, values(number)))
        .collect();
    let fields = answer.columns.iter().zip(&kinds).map(|(column, kind)| Field {
        name: Some(column.name.clone()),
        nullable: true,
        type_: Some(kind.named()),
        dictionary: None,
        children: Some(Vec::new()),
        custom_metadata: None,
    });
    let schema = Schema {
        endianness: Endianness::Little,
        fields: Some(fields.collect()),
        custom_metadata: None,
        features: None,
    };
    let mut body = ArrowBuffers::default();
    for (number, kind) in kinds.iter().enumerate() {
        body.column(*kind, values(number));
    }
    let batch = RecordBatch {
        length: length(answer.rows.len()),
        nodes: Some(body.nodes),
        buffers: Some(body.buffers),
        compression: None,
        variadic_buffer_counts: None,
    };
    let mut stream = Vec::new();
    message(&mut stream, MessageHeader::Schema(Box::new(schema)), &[]);
    message(&mut stream, MessageHeader::RecordBatch(Box::new(batch)), &body.bytes);
    stream.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    stream
}

fn message(stream: &mut Vec<u8>, header: MessageHeader, body: &[u8]) {
    let message = Message {
        version: MetadataVersion::V5,
        header: Some(header),
        body_length: length(body.len()),
        custom_metadata: None,
    };
    let mut builder = planus::Builder::new();
    let mut header = builder.finish(&message, None).to_vec();
    pad(&mut header);
    stream.extend([0xff; 4]);
    stream.extend(u32::try_from(header.len()).unwrap_or(u32::MAX).to_le_bytes());
    stream.extend(header);
    stream.extend(body);
}

/// Buffers of the columns.
#[derive(Default)]
struct ArrowBuffers {
    nodes: Vec<FieldNode>,
    buffers: Vec<Buffer>,
    bytes: Vec<u8>,
}

impl ArrowBuffers {
    fn column<'a>(&mut self, kind: ArrowKind, values: impl Iterator<Item = &'a Value> + Clone) {
        let there = values.clone().map(|value| !matches!(value, Value::Null));
        let missing = there.clone().filter(|there| !there).count();
        self.nodes
            .push(FieldNode { length: length(there.clone().count()), null_count: length(missing) });
        self.buffer(&bits(there));
        match kind {
            ArrowKind::Bool => self.buffer(&bits(values.map(|value| whole(value) != 0))),
            ArrowKind::Whole => {
                let numbers: Vec<u8> =
                    values.flat_map(|value| whole(value).to_le_bytes()).collect();
                self.buffer(&numbers);
            }
            ArrowKind::Real => {
                let numbers: Vec<u8> = values.flat_map(|value| real(value).to_le_bytes()).collect();
                self.buffer(&numbers);
            }
            ArrowKind::Text | ArrowKind::Bytes => {
                // Answers are bounded to far less than the maximum offset.
                let (mut offsets, mut texts) = (vec![0; 4], Vec::new());
                for value in values {
                    match value {
                        Value::Blob(bytes) if kind == ArrowKind::Text => {
                            texts.extend(hexadecimal(bytes).into_bytes());
                        }
                        other => text(other, &mut texts),
                    }
                    let end = i32::try_from(texts.len()).unwrap_or(i32::MAX);
                    offsets.extend(end.to_le_bytes());
                }
                self.buffer(&offsets);
                self.buffer(&texts);
            }
        }
    }

    fn buffer(&mut self, bytes: &[u8]) {
        let offset = length(self.bytes.len());
        self.buffers.push(Buffer { offset, length: length(bytes.len()) });
        self.bytes.extend(bytes);
        pad(&mut self.bytes);
    }
}

/// Packs bits, the first one into the lowest bit of the first byte.
fn bits(all: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, is_set) in all.enumerate() {
        if place % 8 == 0 {
            bytes.push(0);
        }
        if let (true, Some(last)) = (is_set, bytes.last_mut()) {
            *last |= 1 << (place % 8);
        }
    }
    bytes
}

fn whole(value: &Value) -> i64 {
    match value {
        Value::Integer(number) => *number,
        _ => 0,
    }
}

fn real(value: &Value) -> f64 {
    match value {
        Value::Integer(number) => *number as f64,
        Value::Real(number) => *number,
        _ => 0.0,
    }
}

fn text(value: &Value, to: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Integer(number) => to.extend(number.to_string().into_bytes()),
        Value::Real(number) => to.extend(number.to_string().into_bytes()),
        Value::Text(text) => to.extend(text.as_bytes()),
        Value::Blob(bytes) => to.extend(bytes),
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

fn length(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
