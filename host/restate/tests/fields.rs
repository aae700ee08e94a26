//! The treatment of every field of every message of V5 to V8: `fields.txt`. The published
//! definitions come from the crate of Restate's SDKs, so a field that a newer version of the crate
//! adds is missing in the table, and the test fails.

use std::{collections::BTreeSet, fs, path::PathBuf};

use bytes::Bytes;
use prost::encoding::{self, WireType};
use segno_restate::{
    ProtocolVersion::V8,
    frame::{Flags, Frame},
    immutable::Message,
};

/// Lines of `MESSAGE NUMBER NAME: treatment`.
const FATES: &str = include_str!("fields.txt");

/// A field of a message.
struct Field {
    number: u32,
    name: String,
    kind: String,
    /// Name of the `oneof` that contains the field.
    choice: Option<String>,
}

/// A message, with its type number if it has one.
struct Definition {
    name: String,
    number: Option<u16>,
    fields: Vec<Field>,
}

/// The published definitions, from the sources of the locked version of the crate.
fn published() -> String {
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cargo"),
        PathBuf::from,
    );
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"));
    let lock = lock.expect("the versions of all crates");
    let (_, locked) =
        lock.split_once("name = \"restate-sdk-shared-core\"").expect("the crate is locked");
    let version = locked.split('"').nth(1).expect("a version");
    let path = format!(
        "restate-sdk-shared-core-{version}/service-protocol/dev/restate/service/protocol.proto"
    );
    let registries = fs::read_dir(home.join("registry/src")).expect("sources of crates");
    let files = registries.flatten().map(|registry| registry.path().join(&path));
    let mut texts = files.filter_map(|file| fs::read_to_string(file).ok());
    texts.next().unwrap_or_else(|| panic!("no registry has `{path}`"))
}

/// Parses the messages in a text of definitions.
fn definitions(text: &str) -> Vec<Definition> {
    let mut definitions: Vec<Definition> = Vec::new();
    // The open blocks: messages by index, other blocks by name.
    let mut open: Vec<(Option<usize>, String)> = Vec::new();
    let mut number = None;
    for line in text.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        if let Some(given) = comment.trim().strip_prefix("Type: ") {
            let parts = given.split('+').map(|part| {
                let digits = part.trim().trim_start_matches("0x");
                // One number has a digit too many.
                let digits = digits.get(..4).unwrap_or(digits);
                u16::from_str_radix(digits, 16).expect("hexadecimal digits")
            });
            number = Some(parts.sum());
        }
        let words: Vec<&str> = code.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            ["message", name, rest @ ..] => {
                let (name, fields) = ((*name).to_owned(), Vec::new());
                definitions.push(Definition { name, number: number.take(), fields });
                if rest.last() == Some(&"{") {
                    open.push((Some(definitions.len() - 1), String::new()));
                }
            }
            ["oneof" | "enum", name, "{"] => open.push((None, (*name).to_owned())),
            ["}", ..] => drop(open.pop()),
            ["optional" | "repeated", kind, name, "=", number] | [kind, name, "=", number] => {
                let choice = open.last().filter(|(message, _)| message.is_none());
                let choice = choice.map(|(_, name)| name.clone());
                let message = open.iter().rev().find_map(|(message, _)| *message);
                if let Some(message) = message {
                    definitions[message].fields.push(Field {
                        number: number.parse().expect("a number"),
                        name: (*name).to_owned(),
                        kind: (*kind).to_owned(),
                        choice,
                    });
                }
            }
            _ => {}
        }
    }
    definitions
}

#[test]
fn the_table_says_what_becomes_of_every_field() {
    let fates = FATES.lines().map(|line| line.split_once(": ").expect("a field and its fate"));
    let known: BTreeSet<String> = fates.map(|(field, _)| field.to_owned()).collect();
    let definitions = definitions(&published());
    let fields = definitions.iter().flat_map(|message| {
        let named = |field: &Field| format!("{} {} {}", message.name, field.number, field.name);
        message.fields.iter().map(named).collect::<Vec<_>>()
    });
    let published: BTreeSet<String> = fields.collect();
    assert!(published.len() > 150, "{} fields", published.len());
    let missing: Vec<_> = published.difference(&known).collect();
    assert!(missing.is_empty(), "say in tests/fields.txt what becomes of {missing:?}");
    let gone: Vec<_> = known.difference(&published).collect();
    assert!(gone.is_empty(), "no message has {gone:?}");
}

/// A message with all its fields. Of a `oneof`, it has `field` if that is one of its fields,
/// otherwise the first field.
fn whole(message: &Definition, field: &Field) -> Bytes {
    let mut bytes = Vec::new();
    let mut chosen = BTreeSet::new();
    for other in &message.fields {
        if let Some(choice) = &other.choice {
            let is_other = field.choice.as_ref() == Some(choice) && field.number != other.number;
            if is_other || !chosen.insert(choice) {
                continue;
            }
        }
        match other.kind.as_str() {
            "string" | "bytes" => {
                encoding::string::encode(other.number, &"x".to_owned(), &mut bytes)
            }
            "uint32" | "uint64" | "bool" | "CombinatorType" | "ErrorBehavior" => {
                encoding::uint32::encode(other.number, &1, &mut bytes);
            }
            _ => encoding::message::encode(other.number, &(), &mut bytes),
        }
    }
    bytes.into()
}

fn numbers(mut payload: &[u8]) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    while !payload.is_empty() {
        let (number, kind): (u32, WireType) = encoding::decode_key(&mut payload).expect("a key");
        encoding::skip_field(kind, number, &mut payload, Default::default()).expect("a field");
        numbers.insert(number);
    }
    numbers
}

/// Decoding drops fields that our messages lack, so every field must survive a round trip.
#[test]
fn no_field_is_dropped_where_messages_are_read() {
    let mut checked = 0;
    for message in definitions(&published()) {
        let Some(number) = message.number else { continue };
        for field in &message.fields {
            let payload = whole(&message, field);
            let frame = Frame { number, flags: Flags::NONE, payload };
            let what = format!("{} {} {}", message.name, field.number, field.name);
            let read =
                Message::decode(&frame, V8).unwrap_or_else(|error| panic!("{what}: {error}"));
            let written = read.encode(V8);
            assert_eq!(written.number, number, "{what}");
            assert!(numbers(&written.payload).contains(&field.number), "{what} is dropped");
            checked += 1;
        }
    }
    assert!(checked > 120, "{checked} fields");
}
