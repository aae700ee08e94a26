//! Writes values as JSON and refuses numbers that JSON does not have: `serde_json` alone writes
//! `null` for `NaN` and infinities, which the receiver reads as a missing value.

use serde::{
    Serialize, Serializer,
    ser::{
        Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

/// The JSON text of `value`.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, serde_json::Error> {
    let mut json = Vec::with_capacity(128);
    value.serialize(Finite { to: &mut serde_json::Serializer::new(&mut json), field: None })?;
    Ok(String::from_utf8(json).expect("JSON is text"))
}

/// The name of a field or the key of an entry, computed only for an error.
type Name<'a> = &'a dyn Fn() -> String;

/// A serializer that forwards everything except non-finite numbers; an error names the nearest
/// field or key.
struct Finite<'a, S> {
    to: S,
    field: Option<Name<'a>>,
}

/// A value within another.
struct Part<'a, T: ?Sized> {
    value: &'a T,
    field: Option<Name<'a>>,
}

impl<T: Serialize + ?Sized> Serialize for Part<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Finite { to, field: self.field })
    }
}

impl<'a, S> Finite<'a, S> {
    fn part<'b, T: ?Sized>(&self, value: &'b T) -> Part<'b, T>
    where
        'a: 'b,
    {
        Part { value, field: self.field }
    }

    fn check<E: Error>(&self, number: f64) -> Result<(), E> {
        match (number.is_finite(), self.field) {
            (true, _) => Ok(()),
            (false, None) => Err(E::custom(format_args!("{number} is no number of JSON"))),
            (false, Some(field)) => {
                let field = field();
                Err(E::custom(format_args!("`{field}` is {number}, which is no number of JSON")))
            }
        }
    }
}

macro_rules! as_it_is {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.to.$method(value)
        })*
    };
}

impl<'a, S: Serializer> Serializer for Finite<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Finite<'a, S::SerializeSeq>;
    type SerializeTuple = Finite<'a, S::SerializeTuple>;
    type SerializeTupleStruct = Finite<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Finite<'a, S::SerializeTupleVariant>;
    type SerializeMap = Finite<'a, S::SerializeMap>;
    type SerializeStruct = Finite<'a, S::SerializeStruct>;
    type SerializeStructVariant = Finite<'a, S::SerializeStructVariant>;

    as_it_is! {
        serialize_bool(bool) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
        serialize_unit_struct(&'static str)
    }

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        self.check(f64::from(value))?;
        self.to.serialize_f32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        self.check(value)?;
        self.to.serialize_f64(value)
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.to.serialize_none()
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.to.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let part = self.part(value);
        self.to.serialize_some(&part)
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.to.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let part = self.part(value);
        self.to.serialize_newtype_struct(name, &part)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let part = self.part(value);
        self.to.serialize_newtype_variant(name, index, variant, &part)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        Ok(Finite { to: self.to.serialize_seq(len)?, field: self.field })
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        Ok(Finite { to: self.to.serialize_tuple(len)?, field: self.field })
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        Ok(Finite { to: self.to.serialize_tuple_struct(name, len)?, field: self.field })
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        let to = self.to.serialize_tuple_variant(name, index, variant, len)?;
        Ok(Finite { to, field: self.field })
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        Ok(Finite { to: self.to.serialize_map(len)?, field: self.field })
    }

    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        Ok(Finite { to: self.to.serialize_struct(name, len)?, field: self.field })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        let to = self.to.serialize_struct_variant(name, index, variant, len)?;
        Ok(Finite { to, field: self.field })
    }
}

macro_rules! lists {
    ($($interface:ident::$method:ident)*) => {
        $(impl<S: $interface> $interface for Finite<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                let part = self.part(value);
                self.to.$method(&part)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.to.end()
            }
        })*
    };
}

lists! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

macro_rules! structs {
    ($($interface:ident)*) => {
        $(impl<S: $interface> $interface for Finite<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                self.to.serialize_field(name, &Part { value, field: Some(&|| name.to_owned()) })
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.to.end()
            }
        })*
    };
}

structs! { SerializeStruct SerializeStructVariant }

impl<S: SerializeMap> SerializeMap for Finite<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.to.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        let part = self.part(value);
        self.to.serialize_value(&part)
    }

    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), S::Error> {
        let field = || {
            let key = serde_json::to_string(key).unwrap_or_default();
            key.trim_matches('"').to_owned()
        };
        self.to.serialize_entry(key, &Part { value, field: Some(&field) })
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.to.end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{json, value::RawValue};

    use super::*;

    #[derive(Serialize)]
    enum Kind {
        Unit,
        New(f32),
        Pair(u8, f64),
        Fields { price: f64 },
    }

    #[derive(Serialize)]
    struct Order<'a> {
        price: f64,
        rebate: Option<f64>,
        kinds: Vec<Kind>,
        raw: &'a RawValue,
        #[serde(flatten)]
        rest: BTreeMap<String, serde_json::Value>,
    }

    fn order(price: f64, rebate: f64, kind: Kind) -> Result<String, serde_json::Error> {
        let raw = RawValue::from_string("123456789012345678901234567890".into()).expect("a number");
        let rest = BTreeMap::from([("rest".to_owned(), json!([null, 1.5, "é"]))]);
        to_json(&Order {
            price,
            rebate: Some(rebate),
            kinds: vec![Kind::Unit, kind],
            raw: &raw,
            rest,
        })
    }

    #[test]
    fn what_json_has_is_written_as_serde_json_writes_it() {
        let written = order(1.0, -0.5, Kind::Pair(1, 2.5)).expect("JSON");
        let expected = r#"{"price":1.0,"rebate":-0.5,"kinds":["Unit",{"Pair":[1,2.5]}],"raw":123456789012345678901234567890,"rest":[null,1.5,"é"]}"#;
        assert_eq!(written, expected);
        assert_eq!(
            to_json(&(i128::MAX, 'x', (), None::<u8>)).expect("JSON"),
            format!("[{},\"x\",null,null]", i128::MAX)
        );
    }

    #[test]
    fn numbers_that_json_has_not_are_refused_with_their_field() {
        for (refused, said) in [
            (to_json(&f64::NAN), "NaN is no number of JSON"),
            (to_json(&[f32::NEG_INFINITY]), "-inf is no number of JSON"),
            (order(f64::INFINITY, 1.0, Kind::Unit), "`price` is inf, which is no number of JSON"),
            (order(1.0, f64::NAN, Kind::Unit), "`rebate` is NaN, which is no number of JSON"),
            (order(1.0, 1.0, Kind::New(f32::NAN)), "`kinds` is NaN, which is no number of JSON"),
            (
                order(1.0, 1.0, Kind::Pair(1, f64::NAN)),
                "`kinds` is NaN, which is no number of JSON",
            ),
            (
                order(1.0, 1.0, Kind::Fields { price: f64::NAN }),
                "`price` is NaN, which is no number of JSON",
            ),
        ] {
            assert_eq!(refused.expect_err(said).to_string(), said);
        }
    }
}
