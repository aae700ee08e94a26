//! Types of lists and objects.

use serde_json::{Map, Value};

use crate::{
    names::pascal,
    reader::{SchemaDocument, SchemaReader},
    remarks::{described, described_by, remark},
    tree::{DefinitionBody, TypeTree, TypedField},
};

impl SchemaReader {
    /// The type of a list.
    pub(crate) fn list(
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
            items: items
                .map(|(at, item)| self.schema(document, item, &format!("{hint}{}", at + 1)))
                .collect(),
            required: count("minItems").unwrap_or(0).min(first.len()),
            rest: match rest.unwrap_or(TypeTree::Any) {
                TypeTree::Never => None,
                rest => Some(Box::new(rest)),
            },
        }
    }

    /// The type of an object.
    pub(crate) fn object(
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
            fields.push(TypedField {
                name: key.clone(),
                is_required: is_required(key),
                value,
                note,
            });
        }
        let rest = self.rest(document, keywords, &name);
        remark(&mut document.note, keywords);
        if let Some(required) = required {
            let unnamed =
                |one: &&Value| one.as_str().is_some_and(|one| !properties.contains_key(one));
            let unnamed: Vec<&Value> = required.iter().filter(unnamed).collect();
            if !unnamed.is_empty() {
                document.note.schema.push(format!(
                    "{{\"required\":{}}}",
                    Value::from_iter(unnamed.into_iter().cloned())
                ));
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
