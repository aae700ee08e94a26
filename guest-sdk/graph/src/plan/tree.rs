//! Parsed data that keeps duplicate keys.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Number, Value};

/// The key under which `serde_json` passes a number as written, with every digit.
const NUMBER: &str = "$serde_json::private::Number";

#[derive(Clone, Debug)]
pub(super) enum PlanValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<PlanValue>),
    Table(Vec<(String, PlanValue)>),
}

impl PlanValue {
    /// The name of the data's type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The value; of duplicate keys, the last one counts.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(list) => list.iter().map(Self::value).collect(),
            Self::Table(table) => {
                table.iter().map(|(key, tree)| (key.clone(), tree.value())).collect()
            }
        }
    }
}

impl<'de> Deserialize<'de> for PlanValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = PlanValue;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("data")
    }

    fn visit_unit<E>(self) -> Result<PlanValue, E> {
        Ok(PlanValue::Null)
    }

    fn visit_none<E>(self) -> Result<PlanValue, E> {
        Ok(PlanValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<PlanValue, D::Error> {
        PlanValue::deserialize(deserializer)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<PlanValue, E> {
        Ok(PlanValue::Bool(bool))
    }

    fn visit_i64<E>(self, number: i64) -> Result<PlanValue, E> {
        Ok(PlanValue::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<PlanValue, E> {
        Ok(PlanValue::Number(number.into()))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<PlanValue, E> {
        number.to_string().parse().map(PlanValue::Number).map_err(E::custom)
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<PlanValue, E> {
        number.to_string().parse().map(PlanValue::Number).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<PlanValue, E> {
        let finite = Number::from_f64(number);
        finite.map(PlanValue::Number).ok_or_else(|| E::custom("a number is infinite or none"))
    }

    fn visit_str<E>(self, text: &str) -> Result<PlanValue, E> {
        Ok(PlanValue::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<PlanValue, E> {
        Ok(PlanValue::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<PlanValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(PlanValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<PlanValue, A::Error> {
        let mut table = Vec::new();
        while let Some((key, tree)) = entries.next_entry::<String, PlanValue>()? {
            match tree {
                PlanValue::Text(digits) if key == NUMBER => {
                    return digits.parse().map(PlanValue::Number).map_err(A::Error::custom);
                }
                tree => table.push((key, tree)),
            }
        }
        Ok(PlanValue::Table(table))
    }
}
