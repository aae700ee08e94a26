//! Types and references in Rust, with serde and `segno-client`.

mod definitions;
mod references;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use crate::{
    circles::{DefinitionOrder, numbers_in},
    module::{TypedFunction, TypedModule},
    names::{NameScope, pascal},
    tree::{LiteralValue, TypeNote, TypeTree},
};

/// Words that are no names.
const KEYWORDS: [&str; 53] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "_",
];

/// Names of types that the file uses itself.
const USED: [&str; 19] = [
    "BTreeMap",
    "Box",
    "Clone",
    "Debug",
    "Default",
    "Deserialize",
    "FunctionReference",
    "None",
    "Option",
    "PartialEq",
    "PromiseReference",
    "QueryReference",
    "Result",
    "Serialize",
    "SignalReference",
    "Some",
    "String",
    "UpdateReference",
    "Vec",
];

/// Longest tuple that serde has.
const TUPLE_MAX: usize = 16;

/// The file without its header.
pub(crate) fn written(module: &TypedModule) -> String {
    let mut scope = NameScope::reserving(&USED);
    for keyword in KEYWORDS {
        scope.take(keyword, keyword);
    }
    let kinds: Vec<(&str, Vec<&TypedFunction>, String)> = module
        .objects()
        .into_iter()
        .map(|(object, functions)| (object, functions, scope.take(&pascal(object), "Object")))
        .collect();
    let names = module.definitions.iter().map(|known| scope.take(&known.name, "Type")).collect();
    let mut out = Rust {
        text: String::new(),
        names,
        scope,
        order: DefinitionOrder::new(&module.definitions),
        branches: definitions::branches(module),
        enums: BTreeMap::new(),
        module,
    };
    for number in 0..module.definitions.len() {
        out.definition(number);
    }
    for (object, functions, name) in &kinds {
        out.object(object, functions, name);
    }
    out.functions();
    let used = |name: &&str| out.text.contains(&format!("{name}<"));
    let references = [
        "FunctionReference",
        "PromiseReference",
        "QueryReference",
        "SignalReference",
        "UpdateReference",
    ];
    let references: Vec<&str> = references.into_iter().filter(used).collect();
    let mut head =
        String::from("#![allow(dead_code, reason = \"a program uses some of the functions\")]\n\n");
    if !references.is_empty() {
        let _ = writeln!(head, "use segno_client::{{{}}};", references.join(", "));
    }
    if out.text.contains("#[derive") {
        head.push_str("use serde::{Deserialize, Serialize};\n");
    }
    head + &out.text
}

struct Rust<'a> {
    text: String,
    /// The names of the definitions.
    names: Vec<String>,
    /// The names of all types.
    scope: NameScope,
    order: DefinitionOrder,
    /// The definitions that are types of unions.
    branches: BTreeSet<usize>,
    /// The names of enums that are no definitions, by their type and the definition in which they
    /// stand if that makes a difference.
    enums: BTreeMap<(TypeTree, Option<usize>), String>,
    module: &'a TypedModule,
}

impl Rust<'_> {
    fn line(&mut self, indent: &str, line: &str) {
        let _ = writeln!(self.text, "{indent}{line}");
    }

    fn comment(&mut self, note: &TypeNote, indent: &str) {
        for line in lines(note) {
            self.line(indent, format!("/// {line}").trim_end());
        }
    }

    /// The type within a definition. `is_direct` is true where it is part of the value itself, and
    /// not behind a pointer.
    fn expression(&mut self, of: &TypeTree, within: Option<usize>, is_direct: bool) -> String {
        let (of, is_nullable) = of.without_null();
        if is_nullable {
            return format!("Option<{}>", self.expression(&of, within, is_direct));
        }
        match &of {
            TypeTree::Any | TypeTree::Never => "serde_json::Value".to_owned(),
            TypeTree::Null => "()".to_owned(),
            TypeTree::Boolean => "bool".to_owned(),
            TypeTree::Integer { unsigned: true } => "u64".to_owned(),
            TypeTree::Integer { unsigned: false } => "i64".to_owned(),
            TypeTree::Number => "f64".to_owned(),
            TypeTree::Text => "String".to_owned(),
            TypeTree::Literals { hint, values } => {
                let are = |is: fn(&LiteralValue) -> bool| values.iter().all(is);
                if are(|value| matches!(value, LiteralValue::Boolean(_))) {
                    "bool".to_owned()
                } else if are(|value| matches!(value, LiteralValue::Integer(_))) {
                    "i64".to_owned()
                } else if !are_texts(values) {
                    "serde_json::Value".to_owned()
                } else {
                    self.hoisted(&of, hint, None, |own, name| {
                        own.literals(name, values, &TypeNote::default());
                    })
                }
            }
            TypeTree::List(item) => format!("Vec<{}>", self.expression(item, within, false)),
            TypeTree::Tuple { items, required, rest: None }
                if *required == items.len() && items.len() <= TUPLE_MAX =>
            {
                let each = items.iter().map(|item| self.expression(item, within, is_direct));
                let each: Vec<String> = each.collect();
                let comma = if each.len() == 1 { "," } else { "" };
                format!("({}{comma})", each.join(", "))
            }
            TypeTree::Tuple { .. } => "Vec<serde_json::Value>".to_owned(),
            TypeTree::Record(value) => {
                let value = self.expression(value, within, false);
                format!("std::collections::BTreeMap<String, {value}>")
            }
            TypeTree::Union { hint, branches } => {
                let parts = numbers_in(&of);
                let is_recursive = |within: &usize| {
                    parts.iter().any(|part| self.order.are_in_one_circle(*part, *within))
                };
                let within = within.filter(is_recursive);
                self.hoisted(&of, hint, within, |own, name| {
                    own.union(name, branches, within, &TypeNote::default());
                })
            }
            TypeTree::Named(number) => {
                let name = self.names[*number].clone();
                let is_recursive =
                    within.is_some_and(|within| self.order.are_in_one_circle(*number, within));
                if is_direct && is_recursive { format!("Box<{name}>") } else { name }
            }
        }
    }

    /// The name of an enum, which is written where it is first used.
    fn hoisted(
        &mut self,
        of: &TypeTree,
        hint: &str,
        within: Option<usize>,
        write: impl FnOnce(&mut Self, &str),
    ) -> String {
        let key = (of.clone(), within);
        if let Some(known) = self.enums.get(&key) {
            return known.clone();
        }
        let own = pascal(hint);
        let name = match self.scope.has(&own) {
            true => self.scope.take(&format!("{own}Value"), "Choice"),
            false => self.scope.take(&own, "Choice"),
        };
        self.enums.insert(key, name.clone());
        write(self, &name);
        name
    }
}

fn are_texts(values: &[LiteralValue]) -> bool {
    values.iter().all(|value| matches!(value, LiteralValue::Text(_)))
}

/// The lines of a comment, with the deprecation in words.
fn lines(note: &TypeNote) -> Vec<String> {
    let mut lines = note.lines();
    if note.is_deprecated {
        lines.push("Deprecated.".to_owned());
    }
    lines
}

/// A text as a literal.
fn text(value: &str) -> String {
    format!("{value:?}")
}
