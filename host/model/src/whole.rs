//! Whole numbers in requests. JSON has only one number type, so `7.0` is accepted as `7`. Stored
//! numbers are signed, so the maximum is that of a signed 64-bit integer.

use serde::{Deserialize, Deserializer, de};
use serde_json::{Number, Value};

/// The bound below which every whole number is an exact float.
const EXACT: f64 = 9_007_199_254_740_992.0;

struct WholeNumber(i64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(from)?;
        if let Some(number) = given.as_i64() {
            return Ok(Self(number));
        }
        if let Some(number) = given.as_u64() {
            return Err(de::Error::custom(format!("{number} is larger than {}", i64::MAX)));
        }
        let whole = given.as_f64().and_then(exact);
        whole.map(Self).ok_or_else(|| {
            de::Error::custom(format!("invalid value: {given}, expected a whole number"))
        })
    }
}

/// Converts a whole number written as a float; `None` if it is not exact.
fn exact(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Parses a signed number.
pub(crate) fn signed<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    Ok(WholeNumber::deserialize(from)?.0)
}

/// Parses a number that is not negative.
pub(crate) fn unsigned<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let number = signed(from)?;
    u64::try_from(number).map_err(|_| de::Error::custom(format!("{number} is negative")))
}

/// Parses an optional signed number.
pub(crate) fn opt_i64<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(Option::<WholeNumber>::deserialize(from)?.map(|given| given.0))
}

/// Parses an optional number that is not negative.
pub(crate) fn opt_u64<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let number = opt_i64(from)?;
    let unsigned = |number: i64| {
        u64::try_from(number).map_err(|_| de::Error::custom(format!("{number} is negative")))
    };
    number.map(unsigned).transpose()
}

/// Rewrites whole numbers written as floats, such as `7.0`, as integers, throughout a value.
pub(crate) fn numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|_| number.is_f64()).and_then(exact);
            if let Some(whole) = whole {
                *number = Number::from(whole);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(numbers),
        Value::Object(fields) => fields.values_mut().for_each(numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Both {
        #[serde(deserialize_with = "signed")]
        at: i64,
        #[serde(default, deserialize_with = "opt_u64")]
        length: Option<u64>,
    }

    #[test]
    fn a_whole_number_is_one_however_it_is_written() {
        let read = |text: &str| serde_json::from_str::<Both>(text);
        for (text, at, length) in [
            (r#"{"at": -7}"#, -7, None),
            (r#"{"at": 7.0, "length": null}"#, 7, None),
            (r#"{"at": 1e3, "length": 2648.0}"#, 1_000, Some(2_648)),
            (r#"{"at": 0, "length": 9223372036854775807}"#, 0, Some(i64::MAX as u64)),
        ] {
            let both = read(text).expect(text);
            assert_eq!((both.at, both.length), (at, length), "{text}");
        }
        for (text, says) in [
            (r#"{"at": 0.5}"#, "expected a whole number"),
            (r#"{"at": 1e300}"#, "expected a whole number"),
            (r#"{"at": 0, "length": 9223372036854775808}"#, "larger than 9223372036854775807"),
            (r#"{"at": 0, "length": -1}"#, "-1 is negative"),
            (r#"{"at": "7"}"#, "expected a whole number"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
