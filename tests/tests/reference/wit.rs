//! The page of the contract between host and guest, generated from its source. Each interface and
//! world is a section, with the comment above it as text and its content as code.

use std::fs;

use tests::documents::repository;

const BEGIN: &str = "# The contract in WIT

Made from `guest-sdk/wit/segno.wit`, the one contract between a host and the components that it runs.
[The guest contract](guest-contract.md) explains how it is used, with workflows in JavaScript and Python.

";

/// Generates the page.
pub(super) fn page() -> String {
    let source = repository().join("guest-sdk/wit/segno.wit");
    let source = fs::read_to_string(source).expect("there is a contract");
    let mut page = BEGIN.to_owned();
    let (mut comment, mut lines) = (Vec::new(), source.lines());
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("///") {
            comment.push(text.strip_prefix(' ').unwrap_or(text));
        } else if line.starts_with("package ") {
            page += &format!("{}\n\n{}", comment.join("\n"), block(&[line]));
            comment.clear();
        } else if let Some(head) = line.strip_suffix(" {") {
            let inner: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
            let inner: Vec<&str> =
                inner.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
            let (kind, name) = head.split_once(' ').expect("an item has a kind and a name");
            page += &format!("## `{name}`\n\n");
            if !comment.is_empty() {
                page += &format!("{}\n\n", comment.join("\n"));
            }
            page += &format!("What this {kind} holds:\n\n{}", block(&inner));
            comment.clear();
        } else {
            assert!(line.is_empty(), "an item of another form: {line}");
        }
    }
    format!("{}\n", page.trim_end())
}

fn block(lines: &[&str]) -> String {
    format!("```wit\n{}\n```\n\n", lines.join("\n"))
}
