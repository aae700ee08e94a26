//! Structs, enums and aliases in Rust.

use std::collections::BTreeSet;

use super::{KEYWORDS, Rust, are_texts, text};
use crate::{
    module::{TypedFunction, TypedModule},
    names::{NameScope, pascal, snake},
    tree::{DefinitionBody, LiteralValue, TypeNote, TypeTree, TypedField},
};

const DERIVES: &str = "#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]";

impl Rust<'_> {
    pub(super) fn definition(&mut self, number: usize) {
        let known = &self.module.definitions[number];
        let name = self.names[number].clone();
        match &known.body {
            DefinitionBody::Object { fields, rest, is_closed } => {
                self.structure(number, &name, fields, rest.as_ref(), *is_closed);
            }
            DefinitionBody::Alias(TypeTree::Literals { values, .. }) if are_texts(values) => {
                self.literals(&name, values, &known.note);
            }
            DefinitionBody::Alias(of @ TypeTree::Union { branches, .. })
                if !of.without_null().1 =>
            {
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

    pub(super) fn literals(&mut self, name: &str, values: &[LiteralValue], note: &TypeNote) {
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
    pub(super) fn union(
        &mut self,
        name: &str,
        branches: &[TypeTree],
        within: Option<usize>,
        note: &TypeNote,
    ) {
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
}

/// The definitions that are types of unions of several types.
pub(super) fn branches(module: &TypedModule) -> BTreeSet<usize> {
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
