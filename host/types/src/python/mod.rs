//! Types and references in Python.
//!
//! Objects are `TypedDict`s: values are then plain JSON, as both packages take and give them.

mod definitions;
mod references;

use std::fmt::Write as _;

use crate::{
    module::{TypedFunction, TypedModule},
    names::{NameScope, is_identifier, pascal, snake},
    tree::{LiteralValue, TypeNote, TypeTree},
};

/// Words that are no names.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Names that the file uses itself.
const USED: [&str; 21] = [
    "Any",
    "FunctionReference",
    "Generic",
    "Literal",
    "NotRequired",
    "PromiseReference",
    "QueryReference",
    "SignalReference",
    "TypeAlias",
    "TypeVar",
    "TypedDict",
    "UpdateReference",
    "annotations",
    "bool",
    "dict",
    "float",
    "int",
    "list",
    "object",
    "staticmethod",
    "str",
];

/// A class of references: its name, its parameters, what it refers to, and the method by which
/// the packages know it.
const CLASSES: [(&str, &str, &str, &str); 5] = [
    (
        "FunctionReference",
        "_In, _Out",
        "A function: the packages take it in place of a name.",
        "def segno_function(self, input: _In, /) -> _Out",
    ),
    (
        "SignalReference",
        "_In",
        "A signal: `segno_client` takes it in place of a name.",
        "def segno_signal(self, payload: _In, /) -> None",
    ),
    (
        "PromiseReference",
        "_Out",
        "A promise: `segno_client` takes it in place of a name.",
        "def segno_promise(self) -> _Out",
    ),
    (
        "QueryReference",
        "_In, _Out",
        "A query: `segno_client` takes it in place of a name.",
        "def segno_query(self, input: _In, /) -> _Out",
    ),
    (
        "UpdateReference",
        "_In, _Out",
        "An update: `segno_client` takes it in place of a name.",
        "def segno_update(self, input: _In, /) -> _Out",
    ),
];

/// The file without its header.
pub(crate) fn written(module: &TypedModule) -> String {
    let reserved: Vec<&str> = KEYWORDS.into_iter().chain(USED).collect();
    let mut scope = NameScope::reserving(&reserved);
    // Functions have the names that their authors gave; types give way.
    let plain: Vec<(&TypedFunction, String)> = module
        .plain_functions()
        .map(|function| (function, scope.take_word(&identifier(&function.name), "function")))
        .collect();
    let kinds: Vec<(&str, Vec<&TypedFunction>, String)> = module
        .objects()
        .into_iter()
        .map(|(object, functions)| {
            (object, functions, scope.take_word(&identifier(object), "Object"))
        })
        .collect();
    let messages: Vec<(&TypedFunction, [String; 4])> = module
        .functions
        .iter()
        .map(|function| {
            let object = function.object.as_deref().map(pascal).unwrap_or_default();
            let own = format!("{object}{}", pascal(&function.name));
            let mut name = |word| scope.take(&format!("{own}{word}"), word);
            (function, ["Signals", "Promises", "Queries", "Updates"].map(&mut name))
        })
        .collect();
    let names = module.definitions.iter().map(|known| scope.take(&known.name, "Type")).collect();
    let mut out = Python { text: String::new(), names };
    out.definitions(module);
    for (function, names) in &messages {
        let [signals, promises, queries, updates] = names;
        out.messages(signals, "SignalReference", function.signals.as_deref().unwrap_or_default());
        out.messages(
            promises,
            "PromiseReference",
            function.promises.as_deref().unwrap_or_default(),
        );
        out.handlers(queries, "QueryReference", &function.queries);
        out.handlers(updates, "UpdateReference", &function.updates);
    }
    let address = format!("wasm://{}", module.name);
    for (object, functions, name) in &kinds {
        out.object(&address, object, functions, name);
    }
    if !plain.is_empty() {
        out.text.push_str("\n\n");
    }
    for (function, name) in &plain {
        let types = out.function_types(function);
        let address = text(&format!("{address}/{}", function.name));
        out.line("", &format!("{name} = FunctionReference[{types}]({address})"));
        out.docstring(&function.note, "");
    }
    preamble(&out.text) + &out.text
}

/// The imports, and the classes of references that the text uses.
fn preamble(text: &str) -> String {
    let mut out = String::from("from __future__ import annotations\n\n");
    let is_used = |name: &str| {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        text.match_indices(name).any(|(at, _)| {
            !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
        })
    };
    let classes: Vec<_> = CLASSES.iter().filter(|(name, ..)| is_used(name)).collect();
    let own = |name: &&str| match *name {
        "Generic" | "TypeVar" => !classes.is_empty(),
        name => is_used(name),
    };
    let imports = ["Any", "Generic", "Literal", "NotRequired", "TypeAlias", "TypeVar", "TypedDict"];
    let imports: Vec<&str> = imports.into_iter().filter(own).collect();
    if !imports.is_empty() {
        let _ = writeln!(out, "from typing import {}", imports.join(", "));
    }
    if !classes.is_empty() {
        out.push_str("\n_In = TypeVar(\"_In\")\n_Out = TypeVar(\"_Out\")\n");
    }
    for (name, parameters, about, method) in classes {
        let (field, what) = match *name {
            "FunctionReference" => ("address", "Address"),
            _ => ("name", "Name"),
        };
        let _ = write!(
            out,
            "\n\nclass {name}(Generic[{parameters}]):\n    \"\"\"{about}\"\"\"\n\n    \
             def __init__(self, {field}: str) -> None:\n        self.{field} = {field}\n        \
             \"\"\"{what} of what it refers to.\"\"\"\n\n    {method}:\n        \
             \"\"\"Says the types to the type checker; it is not called.\"\"\"\n        \
             raise NotImplementedError\n"
        );
    }
    out
}

struct Python {
    text: String,
    /// The names of the definitions.
    names: Vec<String>,
}

impl Python {
    fn line(&mut self, indent: &str, line: &str) {
        let _ = writeln!(self.text, "{indent}{line}");
    }

    fn comment(&mut self, note: &TypeNote, indent: &str) {
        for line in lines(note) {
            self.line(indent, format!("# {line}").trim_end());
        }
    }

    fn docstring(&mut self, note: &TypeNote, indent: &str) {
        let lines: Vec<String> = lines(note).iter().map(|line| escaped(line)).collect();
        match lines.as_slice() {
            [] => {}
            [line] => self.line(indent, &format!("\"\"\"{line}\"\"\"")),
            [first, more @ ..] => {
                self.line(indent, &format!("\"\"\"{first}"));
                for line in more {
                    self.line(if line.is_empty() { "" } else { indent }, line);
                }
                self.line(indent, "\"\"\"");
            }
        }
    }

    fn function_types(&self, function: &TypedFunction) -> String {
        format!("{}, {}", self.expression(&function.input), self.expression(&function.output))
    }

    fn expression(&self, of: &TypeTree) -> String {
        match of {
            // No value fits either way; `Never` is no type of a field for the packages.
            TypeTree::Any | TypeTree::Never => "Any".to_owned(),
            TypeTree::Null => "None".to_owned(),
            TypeTree::Boolean => "bool".to_owned(),
            TypeTree::Integer { .. } => "int".to_owned(),
            TypeTree::Number => "float".to_owned(),
            TypeTree::Text => "str".to_owned(),
            TypeTree::Literals { values, .. } => {
                let each = values.iter().map(|value| match value {
                    LiteralValue::Text(value) => text(value),
                    LiteralValue::Integer(value) => value.to_string(),
                    LiteralValue::Boolean(true) => "True".to_owned(),
                    LiteralValue::Boolean(false) => "False".to_owned(),
                });
                format!("Literal[{}]", each.collect::<Vec<_>>().join(", "))
            }
            TypeTree::List(item) => format!("list[{}]", self.expression(item)),
            // A list of JSON is no tuple in Python.
            TypeTree::Tuple { items, rest, .. } => {
                let each = items.iter().chain(rest.as_deref()).cloned();
                format!("list[{}]", self.expression(&TypeTree::union_of("", each)))
            }
            TypeTree::Record(value) => format!("dict[str, {}]", self.expression(value)),
            TypeTree::Union { branches, .. } => {
                let mut each: Vec<String> =
                    branches.iter().map(|one| self.expression(one)).collect();
                each.dedup();
                each.join(" | ")
            }
            TypeTree::Named(number) => self.names[*number].clone(),
        }
    }
}

/// The lines of a comment, with the deprecation in words.
fn lines(note: &TypeNote) -> Vec<String> {
    let mut lines = note.lines();
    if note.is_deprecated {
        lines.push("Deprecated.".to_owned());
    }
    lines
}

/// A line of a comment within three quotes.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    match line.strip_suffix('"') {
        Some(start) if !start.ends_with('\\') => format!("{start}\\\""),
        _ => line,
    }
}

/// The name, if it is an identifier; otherwise a similar one.
fn identifier(name: &str) -> String {
    match is_identifier(name) && !name.starts_with('_') {
        true => name.to_owned(),
        false => snake(name),
    }
}

/// A text as a literal: that of JSON is one of Python.
fn text(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}
