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
    pointer::{decoded, pointed, title},
    remarks::{LITERAL_MAX, described, has_type, remark, remark_all},
    tree::{Definition, DefinitionBody, LiteralValue, TypeNote, TypeTree},
};

/// Longest nesting of schemas that is read; deeper values have the type of any value.
const DEPTH_MAX: usize = 48;
/// Largest number of parts of joined schemas that are read for one module; further ones have the
/// type of any value. Each schema of a document is read once, but joins may multiply.
const JOINED_MAX: usize = 2_000;
/// Reads the schemas of one module.
#[derive(Debug, Default)]
pub(crate) struct SchemaReader {
    /// The definitions so far. One that is being read has no body yet.
    pub(crate) definitions: Vec<Definition>,
    /// Number of parts of joined schemas that were read.
    joined: usize,
}

/// A schema with all that its references point into.
pub(crate) struct SchemaDocument<'a> {
    root: &'a Value,
    /// Numbers of the definitions by the pointer of their references.
    known: BTreeMap<String, usize>,
    /// The comment on the field or definition that is being read.
    pub(crate) note: TypeNote,
    depth: usize,
    /// True within a joined schema.
    is_joined: bool,
}

impl SchemaReader {
    /// Reads the schema of an input, an output or a message. `hint` is its name if it needs one.
    /// The comment has what the type does not say.
    pub(crate) fn read(&mut self, schema: &Value, hint: &str) -> (TypeTree, TypeNote) {
        let known = BTreeMap::new();
        let note = TypeNote::default();
        let mut document = SchemaDocument { root: schema, known, note, depth: 0, is_joined: false };
        let read = self.schema(&mut document, schema, hint);
        (read, described(document.note, schema))
    }

    /// All definitions of the schemas that were read.
    pub(crate) fn into_definitions(self) -> Vec<Definition> {
        self.definitions
    }

    pub(crate) fn schema(
        &mut self,
        document: &mut SchemaDocument<'_>,
        schema: &Value,
        hint: &str,
    ) -> TypeTree {
        let Value::Object(keywords) = schema else {
            return if *schema == Value::Bool(false) { TypeTree::Never } else { TypeTree::Any };
        };
        self.joined += usize::from(document.is_joined);
        if document.depth >= DEPTH_MAX || self.joined > JOINED_MAX {
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
            // The joined schema has no references and no `allOf` at its top.
            let outer = std::mem::replace(&mut document.is_joined, true);
            let read = self.keywords(document, &joined, hint);
            document.is_joined = outer;
            return read;
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
        // Every definition is read once.
        let was_joined = std::mem::replace(&mut document.is_joined, false);
        let read = self.schema(document, schema, &name);
        document.is_joined = was_joined;
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

    pub(crate) fn begin(&mut self, name: &str) -> usize {
        let body = DefinitionBody::Alias(TypeTree::Any);
        self.definitions.push(Definition {
            name: name.to_owned(),
            note: TypeNote::default(),
            body,
        });
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
        self.joined += 1;
        if depth >= DEPTH_MAX || self.joined > JOINED_MAX {
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
