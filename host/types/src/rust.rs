//! Types and references in Rust, with serde and `segno-client`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use crate::{
    circles::{DefinitionOrder, numbers_in},
    module::{TypedFunction, TypedModule},
    names::{NameScope, pascal, snake},
    tree::{DefinitionBody, LiteralValue, TypeNote, TypeTree, TypedField},
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
    "BTreeMap", "Box", "Clone", "Debug", "Default", "Deserialize", "FunctionReference", "None",
    "Option", "PartialEq", "PromiseReference", "QueryReference", "Result", "Serialize",
    "SignalReference", "Some", "String", "UpdateReference", "Vec",
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
        branches: branches(module),
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
    let references = ["FunctionReference", "PromiseReference", "QueryReference", "SignalReference", "UpdateReference"];
    let references: Vec<&str> = references.into_iter().filter(used).collect();
    let mut head = String::from("#![allow(dead_code, reason = \"a program uses some of the functions\")]\n\n");
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

    fn definition(&mut self, number: usize) {
        let known = &self.module.definitions[number];
        let name = self.names[number].clone();
        match &known.body {
            DefinitionBody::Object { fields, rest, is_closed } => {
                self.structure(number, &name, fields, rest.as_ref(), *is_closed);
            }
            DefinitionBody::Alias(TypeTree::Literals { values, .. }) if are_texts(values) => {
                self.literals(&name, values, &known.note);
            }
            DefinitionBody::Alias(of @ TypeTree::Union { branches, .. }) if !of.without_null().1 => {
                self.union(&name, branches, Some(number), &known.note);
            }
            DefinitionBody::Alias(of) => {
                let is_recursive = self.order.is_in_circle(number);
                let of = self.expression(of, Some(number), true);
                self.text.push('\n');
                self.comment(&known.note, "");
                if is_recursive {
                    self.line("", DERIVES);
                    self.line("", "#[serde(transparent)]");
                    self.line("", &format!("pub struct {name}(pub {of});"));
                } else {
                    self.line("", &format!("pub type {name} = {of};"));
                }
            }
        }
    }

    fn structure(
        &mut self,
        number: usize,
        name: &str,
        fields: &[TypedField],
        rest: Option<&TypeTree>,
        is_closed: bool,
    ) {
        let mut scope = NameScope::reserving(&KEYWORDS);
        let mut lines = Vec::new();
        for field in fields {
            let (of, is_nullable) = field.value.without_null();
            let of = self.expression(&of, Some(number), true);
            let own = scope.take_word(&snake(&field.name), "field");
            let mut attributes = Vec::new();
            if own != field.name {
                attributes.push(format!("rename = {}", text(&field.name)));
            }
            if !field.is_required {
                attributes.push("default".to_owned());
                attributes.push("skip_serializing_if = \"Option::is_none\"".to_owned());
            }
            let is_optional = is_nullable || !field.is_required;
            let of = if is_optional { format!("Option<{of}>") } else { of };
            lines.push((field.note.clone(), attributes, format!("pub {own}: {of},")));
        }
        if let Some(rest) = rest {
            let of = self.expression(rest, Some(number), false);
            let own = scope.take_word("other", "other");
            let note = TypeNote { text: "All other keys.".to_owned(), ..TypeNote::default() };
            let line = format!("pub {own}: std::collections::BTreeMap<String, {of}>,");
            lines.push((note, vec!["flatten".to_owned()], line));
        }
        self.text.push('\n');
        self.comment(&self.module.definitions[number].note, "");
        self.line("", DERIVES);
        if is_closed && self.branches.contains(&number) {
            // Unknown fields tell the types of a union apart.
            self.line("", "#[serde(deny_unknown_fields)]");
        }
        self.line("", &format!("pub struct {name} {{"));
        for (note, attributes, line) in lines {
            self.comment(&note, "    ");
            if !attributes.is_empty() {
                self.line("    ", &format!("#[serde({})]", attributes.join(", ")));
            }
            self.line("    ", &line);
        }
        self.line("", "}");
    }

    fn literals(&mut self, name: &str, values: &[LiteralValue], note: &TypeNote) {
        self.text.push('\n');
        self.comment(note, "");
        self.line("", "#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]");
        self.line("", &format!("pub enum {name} {{"));
        let mut scope = NameScope::reserving(&["Self"]);
        for value in values {
            let LiteralValue::Text(value) = value else { continue };
            let own = scope.take(&pascal(value), "Other");
            if own != *value {
                self.line("    ", &format!("#[serde(rename = {})]", text(value)));
            }
            self.line("    ", &format!("{own},"));
        }
        self.line("", "}");
    }

    /// An enum of several types. serde takes the first one that fits.
    fn union(&mut self, name: &str, branches: &[TypeTree], within: Option<usize>, note: &TypeNote) {
        let mut branches: Vec<&TypeTree> = branches.iter().collect();
        branches.sort_by_key(|branch| self.rank(branch));
        let mut scope = NameScope::reserving(&["Self"]);
        let mut variants = Vec::new();
        for branch in branches {
            let own = match branch {
                TypeTree::Named(number) => {
                    let own = self.names[*number].as_str();
                    let short = own.strip_prefix(name).filter(|short| {
                        short.starts_with(|first: char| first.is_ascii_uppercase())
                    });
                    short.unwrap_or(own).to_owned()
                }
                other => variant(other).to_owned(),
            };
            let own = scope.take(&own, "Other");
            let of = self.expression(branch, within, true);
            variants.push(match branch {
                TypeTree::Null => format!("{own},"),
                _ => format!("{own}({of}),"),
            });
        }
        self.text.push('\n');
        self.comment(note, "");
        self.line("", DERIVES);
        self.line("", "#[serde(untagged)]");
        self.line("", &format!("pub enum {name} {{"));
        for variant in variants {
            self.line("    ", &variant);
        }
        self.line("", "}");
    }

    /// Types that take values of others come behind those.
    fn rank(&self, of: &TypeTree) -> (usize, isize) {
        match of {
            TypeTree::Literals { .. } => (0, 0),
            TypeTree::List(_) => (3, 0),
            TypeTree::Named(number) => match &self.module.definitions[*number].body {
                DefinitionBody::Object { fields, .. } => {
                    let required = fields.iter().filter(|field| field.is_required).count();
                    (4, -(required as isize))
                }
                DefinitionBody::Alias(_) => (5, 0),
            },
            TypeTree::Record(_) => (6, 0),
            TypeTree::Tuple { .. } => (2, 0),
            _ => (1, 0),
        }
    }

    fn object(&mut self, object: &str, functions: &[&TypedFunction], name: &str) {
        let mut scope = NameScope::reserving(&KEYWORDS);
        scope.take("new", "new");
        let mut lines = Vec::new();
        for function in functions {
            let own = scope.take_word(&snake(&function.name), "function");
            let types = self.function_types(function);
            let path = text(&format!("/{}", function.name));
            lines.push((function.note.clone(), own, types, path));
        }
        let kind = text(&format!("wasm://{}/{object}@", self.module.name));
        self.text.push('\n');
        self.line("", &format!("/// The object `{}` with a key.", object.replace('\n', " ")));
        self.line("", "#[derive(Debug, Clone, PartialEq, Eq)]");
        self.line("", &format!("pub struct {name}(String);"));
        self.text.push('\n');
        self.line("", &format!("impl {name} {{"));
        self.line("    ", "/// The object with this key.");
        self.line("    ", "pub fn new(key: impl Into<String>) -> Self {");
        self.line("        ", "Self(key.into())");
        self.line("    ", "}");
        for (note, own, types, path) in lines {
            self.text.push('\n');
            self.comment(&note, "    ");
            self.line("    ", &format!("pub fn {own}(&self) -> FunctionReference<{types}> {{"));
            self.line("        ", &format!("FunctionReference::keyed({kind}, &self.0, {path})"));
            self.line("    ", "}");
        }
        self.line("", "}");
    }

    fn functions(&mut self) {
        let mut scope = NameScope::default();
        let module = self.module;
        for function in module.plain_functions() {
            let name = scope.take(&snake(&function.name).to_uppercase(), "FUNCTION");
            let types = self.function_types(function);
            let address = text(&format!("wasm://{}/{}", module.name, function.name));
            self.constant(&function.note, &name, "FunctionReference", &types, &address);
        }
        for function in &module.functions {
            let object = function.object.as_deref().map(|object| snake(object) + "_");
            let own = object.unwrap_or_default() + &snake(&function.name);
            let mut each = Vec::new();
            for (class, word, messages) in [
                ("SignalReference", "signal", &function.signals),
                ("PromiseReference", "promise", &function.promises),
            ] {
                for message in messages.iter().flatten() {
                    let types = self.expression(&message.value, None, false);
                    each.push((class, word, &message.name, &message.note, types));
                }
            }
            for (class, word, handlers) in [
                ("QueryReference", "query", &function.queries),
                ("UpdateReference", "update", &function.updates),
            ] {
                for handler in handlers {
                    let input = self.expression(&handler.input, None, false);
                    let output = self.expression(&handler.output, None, false);
                    each.push((class, word, &handler.name, &handler.note, format!("{input}, {output}")));
                }
            }
            for (class, word, message, note, types) in each {
                let name = format!("{own}_{}_{word}", snake(message)).to_uppercase();
                let name = scope.take(&name, "MESSAGE");
                self.constant(note, &name, class, &types, &text(message));
            }
        }
    }

    fn constant(&mut self, note: &TypeNote, name: &str, class: &str, types: &str, of: &str) {
        self.text.push('\n');
        self.comment(note, "");
        self.line("", &format!("pub const {name}: {class}<{types}> = {class}::new({of});"));
    }

    fn function_types(&mut self, function: &TypedFunction) -> String {
        let input = self.expression(&function.input, None, false);
        let output = self.expression(&function.output, None, false);
        format!("{input}, {output}")
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

/// The definitions that are types of unions of several types.
fn branches(module: &TypedModule) -> BTreeSet<usize> {
    let definitions = module.definitions.iter().flat_map(|known| known.body.parts());
    let functions = module.functions.iter().flat_map(TypedFunction::types);
    let mut pending: Vec<&TypeTree> = definitions.chain(functions).collect();
    let mut found = BTreeSet::new();
    while let Some(part) = pending.pop() {
        pending.extend(part.parts());
        if let TypeTree::Union { branches, .. } = part
            && branches.iter().filter(|branch| **branch != TypeTree::Null).count() > 1
        {
            found.extend(branches.iter().filter_map(|branch| match branch {
                TypeTree::Named(number) => Some(*number),
                _ => None,
            }));
        }
    }
    found
}

const DERIVES: &str = "#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]";

fn are_texts(values: &[LiteralValue]) -> bool {
    values.iter().all(|value| matches!(value, LiteralValue::Text(_)))
}

/// The name of a variant of an enum.
fn variant(of: &TypeTree) -> &'static str {
    match of {
        TypeTree::Null => "Null",
        TypeTree::Boolean => "Boolean",
        TypeTree::Integer { .. } => "Integer",
        TypeTree::Number => "Number",
        TypeTree::Text => "Text",
        TypeTree::Literals { .. } => "Literal",
        TypeTree::List(_) => "List",
        TypeTree::Tuple { .. } => "Tuple",
        TypeTree::Record(_) => "Record",
        TypeTree::Union { .. } | TypeTree::Named(_) | TypeTree::Any | TypeTree::Never => "Other",
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

/// A text as a literal.
fn text(value: &str) -> String {
    format!("{value:?}")
}
