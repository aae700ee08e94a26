//! Types from JSON schemas.
//!
//! The type of a schema has every value that the schema has. Keywords that no type can say, such as
//! `pattern`, are kept as the comment of the nearest field or definition. Without `type`,
//! `properties` means an object and `items` a list, as authors mean it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    merge::{self, ANNOTATIONS},
    names::pascal,
    tree::{Definition, DefinitionBody, LiteralValue, TypeNote, TypeTree, TypedField},
};

/// Longest nesting of schemas that is read; deeper values have the type of any value.
const DEPTH_MAX: usize = 48;
/// Largest number of schemas that are read for one module; further values have the type of any
/// value. Joined schemas may multiply.
const SCHEMAS_MAX: usize = 10_000;
/// Whole numbers that every language has as literals.
const LITERAL_MAX: i64 = (1 << 53) - 1;

/// Keywords that types say.
const EXPRESSED: [&str; 17] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "allOf",
    "anyOf",
    "oneOf",
    "const",
    "enum",
    "nullable",
    "$ref",
    "discriminator",
    "unevaluatedProperties",
    "propertyNames",
];

/// Reads the schemas of one module.
#[derive(Debug, Default)]
pub(crate) struct SchemaReader {
    /// The definitions so far. One that is being read has no body yet.
    definitions: Vec<Definition>,
    schemas: usize,
}

/// A schema with all that its references point into.
struct SchemaDocument<'a> {
    root: &'a Value,
    /// Numbers of the definitions by the pointer of their references.
    known: BTreeMap<String, usize>,
    /// The comment on the field or definition that is being read.
    note: TypeNote,
    depth: usize,
}

impl SchemaReader {
    /// Reads the schema of an input, an output or a message. `hint` is its name if it needs one.
    /// The comment has what the type does not say.
    pub(crate) fn read(&mut self, schema: &Value, hint: &str) -> (TypeTree, TypeNote) {
        let known = BTreeMap::new();
        let mut document = SchemaDocument { root: schema, known, note: TypeNote::default(), depth: 0 };
        let read = self.schema(&mut document, schema, hint);
        (read, described(document.note, schema))
    }

    /// All definitions of the schemas that were read.
    pub(crate) fn into_definitions(self) -> Vec<Definition> {
        self.definitions
    }

    fn schema(&mut self, document: &mut SchemaDocument<'_>, schema: &Value, hint: &str) -> TypeTree {
        let Value::Object(keywords) = schema else {
            return if *schema == Value::Bool(false) { TypeTree::Never } else { TypeTree::Any };
        };
        self.schemas += 1;
        if document.depth >= DEPTH_MAX || self.schemas > SCHEMAS_MAX {
            return TypeTree::Any;
        }
        document.depth += 1;
        let read = self.keywords(document, keywords, hint);
        document.depth -= 1;
        match keywords.get("nullable") {
            Some(Value::Bool(true)) => TypeTree::union_of(hint, [read, TypeTree::Null]),
            _ => read,
        }
    }

    fn keywords(
        &mut self,
        document: &mut SchemaDocument<'_>,
        keywords: &Map<String, Value>,
        hint: &str,
    ) -> TypeTree {
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            if !has_type(keywords, &["$ref"]) {
                remark(&mut document.note, keywords);
                return self.reference(document, reference, hint);
            }
        } else if let Some(Value::Array(all)) = keywords.get("allOf")
            && let [only] = all.as_slice()
            && !has_type(keywords, &["allOf"])
        {
            remark(&mut document.note, keywords);
            return self.schema(document, only, hint);
        }
        if keywords.contains_key("$ref") || keywords.contains_key("allOf") {
            let mut joined = Map::new();
            self.join(document, &mut joined, keywords, 0);
            // What was joined has no references and no `allOf` at its top any more.
            return self.keywords(document, &joined, hint);
        }
        for union in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = keywords.get(union) {
                let mut others = keywords.clone();
                others.remove(union);
                return self.union(document, &others, branches, hint);
            }
        }
        if let Some(constant) = keywords.get("const") {
            remark(&mut document.note, keywords);
            return literals(std::slice::from_ref(constant), hint);
        }
        if let Some(Value::Array(values)) = keywords.get("enum") {
            remark(&mut document.note, keywords);
            return literals(values, hint);
        }
        match keywords.get("type") {
            Some(Value::String(name)) => self.typed(document, keywords, name, hint),
            Some(Value::Array(names)) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                let each = names.iter().map(|name| self.typed(document, keywords, name, hint));
                let each: Vec<TypeTree> = each.collect();
                TypeTree::union_of(hint, each)
            }
            _ if keywords.contains_key("properties") => {
                self.typed(document, keywords, "object", hint)
            }
            _ if keywords.contains_key("items") || keywords.contains_key("prefixItems") => {
                self.typed(document, keywords, "array", hint)
            }
            _ => {
                remark(&mut document.note, keywords);
                TypeTree::Any
            }
        }
    }

    /// The definition to which a reference points.
    fn reference(
        &mut self,
        document: &mut SchemaDocument<'_>,
        reference: &str,
        hint: &str,
    ) -> TypeTree {
        if let Some(&known) = document.known.get(reference) {
            return TypeTree::Named(known);
        }
        let Some(schema) = pointed(document.root, reference) else {
            document.note.schema.push(format!("{{\"$ref\":{}}}", Value::from(reference)));
            return TypeTree::Any;
        };
        let last = reference.rsplit('/').next().filter(|last| *last != "#").unwrap_or_default();
        let name = [pascal(&decoded(last)), title(schema), pascal(hint)];
        let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let number = self.begin(&name);
        document.known.insert(reference.to_owned(), number);
        let outer = std::mem::take(&mut document.note);
        let read = self.schema(document, schema, &name);
        let mut note = described(std::mem::replace(&mut document.note, outer), schema);
        self.definitions[number].body = match read {
            // An object that nothing else refers to is the definition itself.
            TypeTree::Named(own) if !document.known.values().any(|&known| known == own) => {
                note.schema.extend(self.definitions[own].note.schema.clone());
                self.definitions[own].body.clone()
            }
            // A definition that is nothing but itself.
            TypeTree::Named(own) if own == number => DefinitionBody::Alias(TypeTree::Any),
            read => DefinitionBody::Alias(read),
        };
        self.definitions[number].note = note;
        TypeTree::Named(number)
    }

    fn begin(&mut self, name: &str) -> usize {
        let body = DefinitionBody::Alias(TypeTree::Any);
        self.definitions.push(Definition { name: name.to_owned(), note: TypeNote::default(), body });
        self.definitions.len() - 1
    }

    /// Adds all keywords that hold together with `keywords` to `joined`.
    fn join(
        &mut self,
        document: &mut SchemaDocument<'_>,
        joined: &mut Map<String, Value>,
        keywords: &Map<String, Value>,
        depth: usize,
    ) {
        self.schemas += 1;
        if depth >= DEPTH_MAX || self.schemas > SCHEMAS_MAX {
            return;
        }
        let mut own = keywords.clone();
        let (reference, all) = (own.remove("$ref"), own.remove("allOf"));
        let left_out = merge::join(joined, &own);
        remark_all(&mut document.note, &left_out);
        let root = document.root;
        let target = reference.as_ref().and_then(Value::as_str).and_then(|to| pointed(root, to));
        let all = all.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for more in target.into_iter().chain(all) {
            if let Value::Object(more) = more {
                self.join(document, joined, more, depth + 1);
            }
        }
    }

    fn union(
        &mut self,
        document: &mut SchemaDocument<'_>,
        others: &Map<String, Value>,
        branches: &[Value],
        hint: &str,
    ) -> TypeTree {
        let is_shared = has_type(others, &["type"]);
        let mut types = Vec::new();
        let mut is_any = branches.is_empty();
        for (at, branch) in branches.iter().enumerate() {
            let name = branch_name(document.root, branch, hint, at + 1);
            let mut joined = others.clone();
            joined.retain(|keyword, _| !ANNOTATIONS.contains(&keyword.as_str()));
            let branch = match branch {
                Value::Object(branch) if is_shared => {
                    let all = Map::from_iter([(
                        "allOf".to_owned(),
                        Value::Array(vec![Value::Object(joined), Value::Object(branch.clone())]),
                    )]);
                    &Value::Object(all)
                }
                Value::Bool(true) if is_shared => &Value::Object(joined),
                branch => branch,
            };
            let read = self.schema(document, branch, &name);
            is_any |= read == TypeTree::Any;
            types.push(read);
        }
        if !is_shared {
            remark(&mut document.note, others);
        }
        match is_any {
            // The type beside the branches still holds.
            true if others.contains_key("type") && !is_shared => {
                self.keywords(document, others, hint)
            }
            true => TypeTree::Any,
            false => TypeTree::union_of(hint, types),
        }
    }

    fn typed(
        &mut self,
        document: &mut SchemaDocument<'_>,
        keywords: &Map<String, Value>,
        name: &str,
        hint: &str,
    ) -> TypeTree {
        if !matches!(name, "object" | "array") {
            remark(&mut document.note, keywords);
        }
        match name {
            "null" => TypeTree::Null,
            "boolean" => TypeTree::Boolean,
            "integer" => {
                let least = keywords.get("minimum").or(keywords.get("exclusiveMinimum"));
                TypeTree::Integer { unsigned: least.and_then(Value::as_u64).is_some() }
            }
            "number" => TypeTree::Number,
            "string" => TypeTree::Text,
            "array" => self.list(document, keywords, hint),
            "object" => self.object(document, keywords, hint),
            _ => TypeTree::Any,
        }
    }

    fn list(
        &mut self,
        document: &mut SchemaDocument<'_>,
        keywords: &Map<String, Value>,
        hint: &str,
    ) -> TypeTree {
        let own = |keyword: &str| keywords.get(keyword);
        // Before draft 2020-12, `items` had what is `prefixItems` today.
        let (first, rest) = match (own("prefixItems"), own("items")) {
            (Some(Value::Array(first)), rest) => (first.as_slice(), rest),
            (_, Some(Value::Array(first))) => (first.as_slice(), own("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        let mut rest = rest.map(|rest| self.schema(document, rest, &format!("{hint}Item")));
        if first.is_empty() {
            remark(&mut document.note, keywords);
            return TypeTree::List(Box::new(rest.unwrap_or(TypeTree::Any)));
        }
        let mut others = keywords.clone();
        others.remove("minItems");
        let count = |keyword| own(keyword).and_then(Value::as_u64).map(|count| count as usize);
        if count("maxItems").is_some_and(|most| most <= first.len()) {
            others.remove("maxItems");
            rest = Some(TypeTree::Never);
        }
        remark(&mut document.note, &others);
        let items = first.iter().enumerate();
        TypeTree::Tuple {
            items: items.map(|(at, item)| self.schema(document, item, &format!("{hint}{}", at + 1))).collect(),
            required: count("minItems").unwrap_or(0).min(first.len()),
            rest: match rest.unwrap_or(TypeTree::Any) {
                TypeTree::Never => None,
                rest => Some(Box::new(rest)),
            },
        }
    }

    fn object(
        &mut self,
        document: &mut SchemaDocument<'_>,
        keywords: &Map<String, Value>,
        hint: &str,
    ) -> TypeTree {
        let properties = keywords.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
            remark(&mut document.note, keywords);
            let rest = self.rest(document, keywords, hint);
            return TypeTree::Record(Box::new(rest.unwrap_or(TypeTree::Any)));
        };
        let own = pascal(keywords.get("title").and_then(Value::as_str).unwrap_or_default());
        let name = if own.is_empty() { pascal(hint) } else { own };
        let number = self.begin(&name);
        let outer = std::mem::take(&mut document.note);
        let required = keywords.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|required| required.iter().any(|one| one.as_str() == Some(name)))
        };
        let mut fields = Vec::new();
        for (key, schema) in properties {
            let value = self.schema(document, schema, &format!("{name}{}", pascal(key)));
            let note = described(std::mem::take(&mut document.note), schema);
            fields.push(TypedField { name: key.clone(), is_required: is_required(key), value, note });
        }
        let rest = self.rest(document, keywords, &name);
        remark(&mut document.note, keywords);
        if let Some(required) = required {
            let unnamed = |one: &&Value| one.as_str().is_some_and(|one| !properties.contains_key(one));
            let unnamed: Vec<&Value> = required.iter().filter(unnamed).collect();
            if !unnamed.is_empty() {
                document.note.schema.push(format!("{{\"required\":{}}}", Value::from_iter(unnamed.into_iter().cloned())));
            }
        }
        let note = std::mem::replace(&mut document.note, outer);
        let is_closed = rest == Some(TypeTree::Never);
        let rest = rest.filter(|_| !is_closed);
        // A definition with a name of its own has the description; a field has its own otherwise.
        self.definitions[number].note = described_by(note, keywords);
        self.definitions[number].body = DefinitionBody::Object { fields, rest, is_closed };
        TypeTree::Named(number)
    }

    /// The type of the values of all keys without a field; `None` if the schema does not say it.
    fn rest(
        &mut self,
        document: &mut SchemaDocument<'_>,
        keywords: &Map<String, Value>,
        hint: &str,
    ) -> Option<TypeTree> {
        let name = format!("{hint}Value");
        let others = keywords.get("additionalProperties").or(keywords.get("unevaluatedProperties"));
        let others = others.map(|others| self.schema(document, others, &name));
        let Some(Value::Object(patterns)) = keywords.get("patternProperties") else {
            return others;
        };
        let each = patterns.values().map(|schema| self.schema(document, schema, &name));
        let each: Vec<TypeTree> = each.collect();
        Some(TypeTree::union_of(&name, each.into_iter().chain([others.unwrap_or(TypeTree::Any)])))
    }
}

/// The name of one type of a union: its title, the name to which it refers, or the value of its
/// first field that has only one.
fn branch_name(root: &Value, branch: &Value, hint: &str, number: usize) -> String {
    let reference = branch.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|to| pointed(root, to)).unwrap_or(branch);
    let properties = target.get("properties").and_then(Value::as_object);
    let constant = properties.into_iter().flat_map(Map::values).find_map(|property| {
        let values = property.get("enum").and_then(Value::as_array);
        let only = values.and_then(|values| values.first().filter(|_| values.len() == 1));
        property.get("const").or(only).and_then(Value::as_str)
    });
    // Tags of Rust's enums: an object with one field.
    let only = properties.filter(|properties| properties.len() == 1);
    let only = only.and_then(|properties| properties.keys().next()).map(String::as_str);
    let own = [title(target), pascal(constant.or(only).unwrap_or_default())];
    match own.into_iter().find(|own| !own.is_empty()) {
        Some(own) => format!("{hint}{own}"),
        None => format!("{hint}{number}"),
    }
}

/// The type of some values.
fn literals(values: &[Value], hint: &str) -> TypeTree {
    let of = |value: &Value| {
        let one = |value| TypeTree::Literals { hint: hint.to_owned(), values: vec![value] };
        match value {
            Value::Null => TypeTree::Null,
            Value::Bool(value) => one(LiteralValue::Boolean(*value)),
            Value::String(text) => one(LiteralValue::Text(text.clone())),
            Value::Number(number) => match number.as_i64() {
                Some(whole) if whole.abs() <= LITERAL_MAX => one(LiteralValue::Integer(whole)),
                _ => TypeTree::Number,
            },
            Value::Array(_) => TypeTree::List(Box::new(TypeTree::Any)),
            Value::Object(_) => TypeTree::Record(Box::new(TypeTree::Any)),
        }
    };
    TypeTree::union_of(hint, values.iter().map(of))
}

/// Returns true if the schema has a keyword that types say, beside those named.
fn has_type(keywords: &Map<String, Value>, beside: &[&str]) -> bool {
    let says = |keyword: &String| EXPRESSED.contains(&keyword.as_str());
    keywords.keys().any(|keyword| says(keyword) && !beside.contains(&keyword.as_str()) && keyword != "nullable")
}

/// The schema to which a reference within the document points.
fn pointed<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&decoded(reference.strip_prefix('#')?))
}

/// The text without the escapes of URLs.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let escape = text.len() - rest.len();
        let hex = (*first == b'%').then(|| text.get(escape + 1..escape + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The title of a schema as the name of a type, or an empty text.
fn title(schema: &Value) -> String {
    pascal(schema.get("title").and_then(Value::as_str).unwrap_or_default())
}

/// The comment with the description of the schema.
fn described(note: TypeNote, schema: &Value) -> TypeNote {
    match schema {
        Value::Object(keywords) => described_by(note, keywords),
        _ => note,
    }
}

fn described_by(mut note: TypeNote, keywords: &Map<String, Value>) -> TypeNote {
    if let Some(Value::String(text)) = keywords.get("description") {
        note.text.clone_from(text);
    }
    note.is_deprecated |= keywords.get("deprecated") == Some(&Value::Bool(true));
    note
}

/// Adds what types do not say of the schema to the comment.
fn remark(note: &mut TypeNote, keywords: &Map<String, Value>) {
    let is_expressed = |keyword: &str, value: &Value| match keyword {
        // The whole numbers of JavaScript, which zod writes with each one.
        "minimum" | "maximum" => value.as_i64().is_some_and(|bound| bound.abs() == LITERAL_MAX),
        _ => ANNOTATIONS.contains(&keyword) || EXPRESSED.contains(&keyword),
    };
    let left = keywords.iter().filter(|(keyword, value)| !is_expressed(keyword, value));
    remark_all(note, &left.map(|(keyword, value)| (keyword.clone(), value.clone())).collect());
}

fn remark_all(note: &mut TypeNote, keywords: &Map<String, Value>) {
    let text = Value::Object(keywords.clone()).to_string();
    if !keywords.is_empty() && !note.schema.contains(&text) {
        note.schema.push(text);
    }
}
