//! Checks that each name of a public type has one meaning in the whole workspace.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use tests::documents::repository;

/// Names with several definitions of one concept: a value of the core and its form in the API, one
/// role for both databases, or a word of the SDK and its counterpart in the host.
const SHARED: [&str; 33] = [
    "CommitFailure",
    "CommittedBatch",
    "Condition",
    "DryRun",
    "FailedStatement",
    "Function",
    "Handler",
    "HandlerKind",
    "Lease",
    "LogLevel",
    "LogLine",
    "Message",
    "Module",
    "NamedStatements",
    "Note",
    "ObjectAccess",
    "Overlap",
    "OwnedStatements",
    "Promise",
    "PromiseState",
    "Reader",
    "Record",
    "Request",
    "RetryPolicy",
    "StateStatements",
    "StreamDataStatements",
    "Submission",
    "TaskState",
    "Timestamp",
    "WriteBatch",
    "WriteTotals",
    "Writer",
    "WriterRequest",
];

/// Folders and files that are not checked: two families of messages, whose names the protocol
/// defines, and generated code.
const EXCEPT: [&str; 3] =
    ["host/restate/src/mutable", "host/restate/src/immutable", "guest-sdk/src/bindings.rs"];

/// The public types that a file declares before its tests.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    let before_tests = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    before_tests.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(restricted) => restricted.split_once(')')?.1,
            None => rest,
        };
        let (keyword, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
        let is_type = matches!(keyword, "struct" | "enum" | "trait" | "type" | "union");
        let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
        is_type.then(|| &rest[..end.unwrap_or(rest.len())])
    })
}

/// Adds the Rust files of a folder to `found`, without tests.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "tests" | "target" | "node_modules") {
                files(&path, found);
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The files that define each name.
fn definitions() -> BTreeMap<String, Vec<String>> {
    let root = repository();
    let mut found = Vec::new();
    for folder in ["host", "guest-sdk"] {
        files(&root.join(folder), &mut found);
    }
    found.sort();
    let mut definitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in found {
        let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        if EXCEPT.iter().any(|folder| shown.starts_with(folder)) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source is a text");
        for name in declared(&text) {
            definitions.entry(name.to_owned()).or_default().push(shown.clone());
        }
    }
    definitions
}

#[test]
fn the_name_of_a_type_means_one_thing() {
    let definitions = definitions();
    assert!(definitions.len() > 1_000, "{} types", definitions.len());
    let doubled = definitions.iter().filter(|(_, files)| files.len() > 1);
    let unknown: Vec<String> = doubled
        .filter(|(name, _)| !SHARED.contains(&name.as_str()))
        .map(|(name, files)| format!("{name}: {}", files.join(", ")))
        .collect();
    assert!(
        unknown.is_empty(),
        "rename all but one of these types, or list the name if they are one concept:\n{}",
        unknown.join("\n")
    );
    for name in SHARED {
        let count = definitions.get(name).map_or(0, Vec::len);
        assert!(count > 1, "take {name} off the list: it is defined {count} times");
    }
}

#[test]
fn every_form_of_a_public_type_is_found() {
    let text = "pub struct A;\n    pub(crate) enum B<T> {\npub(in crate::x) trait C: D {\npub type E = F;\n\
                struct Private;\npub fn g() {}\npub unsafe trait Rare {}\n#[cfg(test)]\nmod tests {\npub struct T;";
    assert_eq!(declared(text).collect::<Vec<_>>(), ["A", "B", "C", "E"]);
}
