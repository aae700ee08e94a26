//! Modules with arbitrary schemas, by seed.

use segno_model::ModuleDescription;
use serde_json::{Map, Value, json};

/// Names that are no identifiers, reserved somewhere, or written alike.
const NAMES: [&str; 24] = [
    "id",
    "class",
    "type",
    "a-b",
    "a_b",
    "aB",
    "",
    "0",
    "é",
    "__proto__",
    "__init__",
    "self",
    "Order",
    "str",
    "None",
    "*/",
    "\"\"\"",
    "'",
    "\\",
    "a\nb",
    "String",
    "Self",
    "new",
    "x y",
];

/// A source of choices that a seed determines.
pub(crate) struct SchemaSource(u64);

impl SchemaSource {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.below(NAMES.len())]
    }

    fn is(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn some<T>(&mut self, most: usize, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    fn value(&mut self) -> Value {
        match self.below(8) {
            0 => Value::Null,
            1 => json!(self.is(2)),
            2 => json!(self.below(9)),
            3 => json!(-1.5),
            4 => json!(u64::MAX),
            5 => json!([1]),
            6 => json!({"a": 1}),
            _ => json!(self.name()),
        }
    }

    fn reference(&mut self) -> Value {
        let to = [
            "#/$defs/A",
            "#/$defs/B",
            "#/$defs/class",
            "#",
            "#/$defs/none",
            "https://example.com/a",
        ];
        json!(to[self.below(to.len())])
    }

    /// A schema, or something that is none.
    pub(crate) fn schema(&mut self, depth: usize) -> Value {
        if depth == 0 || self.is(12) {
            return match self.below(5) {
                0 => json!(true),
                1 => json!(false),
                2 => json!({"$ref": self.reference()}),
                3 => self.value(),
                _ => json!({"type": "string"}),
            };
        }
        let mut schema = Map::new();
        let types = ["string", "integer", "number", "boolean", "null", "array", "object", "text"];
        for _ in 0..=self.below(4) {
            let (keyword, value) = match self.below(22) {
                0 => ("type", json!(types[self.below(types.len())])),
                1 => ("type", json!(self.some(3, |source| types[source.below(types.len())]))),
                2..=5 => {
                    schema.insert("type".into(), json!("object"));
                    let properties =
                        self.some(4, |source| (source.name().to_owned(), source.schema(depth - 1)));
                    ("properties", Value::Object(properties.into_iter().collect()))
                }
                6 => ("required", json!(self.some(3, Self::name))),
                7 => ("additionalProperties", self.schema(depth - 1)),
                8 => ("items", self.schema(depth - 1)),
                9 => ("prefixItems", json!(self.some(3, |source| source.schema(depth - 1)))),
                10 => ("oneOf", json!(self.some(3, |source| source.schema(depth - 1)))),
                11 => ("anyOf", json!(self.some(3, |source| source.schema(depth - 1)))),
                12 => ("allOf", json!(self.some(3, |source| source.schema(depth - 1)))),
                13 => ("enum", json!(self.some(4, Self::value))),
                14 => ("const", self.value()),
                15 => ("$ref", self.reference()),
                16 => ("title", json!(self.name())),
                17 => (
                    "description",
                    json!(format!("{} {}\n{}", self.name(), self.name(), self.name())),
                ),
                18 => ("minItems", json!(self.below(3))),
                19 => ("nullable", json!(true)),
                20 => ("patternProperties", json!({"^a": self.schema(depth - 1)})),
                _ => ("deprecated", json!(true)),
            };
            schema.insert(keyword.to_owned(), value);
        }
        Value::Object(schema)
    }

    fn document(&mut self) -> Value {
        let mut schema = self.schema(4);
        if let Value::Object(keywords) = &mut schema {
            let definitions = ["A", "B", "class"].map(|name| (name.to_owned(), self.schema(3)));
            keywords.insert("$defs".into(), Value::Object(definitions.into_iter().collect()));
        }
        schema
    }

    /// A module with functions, objects and messages.
    pub(crate) fn module(&mut self) -> ModuleDescription {
        let names =
            ["order", "send-mail", "class", "A", "str", "Cart/add", "Cart/new", "delete", "2nd"];
        let functions = names.map(|name| {
            let message = |source: &mut Self, kind| {
                json!({"kind": kind, "name": source.name(), "schema": source.document()})
            };
            let handler = |source: &mut Self, kind| {
                json!({"kind": kind, "name": source.name(), "input_schema": source.document()})
            };
            json!({
                "name": name,
                "kind": "workflow",
                "access": name.contains('/').then_some("exclusive"),
                "summary": self.name(),
                "signals": self.is(2),
                "input_schema": self.document(),
                "output_schema": self.document(),
                "messages": [message(self, "signal"), message(self, "promise")],
                "handlers": [handler(self, "query"), handler(self, "update")],
            })
        });
        let description = json!({"functions": functions, "imports": [], "exports": []});
        serde_json::from_value(description).expect("a description")
    }
}
