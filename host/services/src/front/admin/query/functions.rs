//! SQL functions that SQLite lacks or defines differently.
//!
//! An instant is text of fixed length; a duration is a number of milliseconds.

use std::str::FromStr;

use rusqlite::{
    Connection, Error, Result,
    functions::{Aggregate, Context, FunctionFlags},
    types::{Value, ValueRef},
};
use segno_core::time::Timestamp;

use super::value::{self, instant};

/// Sum of numbers, or an instant plus a duration.
pub(super) const PLUS: &str = "plus_of";
/// Difference of numbers, an instant minus a duration, or the duration between two instants.
pub(super) const MINUS: &str = "minus_of";
/// First value of a group.
pub(super) const FIRST: &str = "first_of";
/// Last value of a group.
pub(super) const LAST: &str = "last_of";
/// A value as text.
pub(super) const TEXT: &str = "text_of";
/// A value as an integer.
pub(super) const INTEGER: &str = "integer_of";
/// A value as a number.
pub(super) const REAL: &str = "real_of";
/// A text, or seconds since 1970, as an instant.
pub(super) const INSTANT: &str = "instant_of";
/// An instant as seconds since 1970.
pub(super) const EPOCH: &str = "epoch_of";
/// True if a text begins with another.
pub(super) const STARTS_WITH: &str = "starts_with";

/// Adds the functions to a database.
pub(super) fn add(to: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    to.create_scalar_function(PLUS, 2, pure, |context| sum(context, 1))?;
    to.create_scalar_function(MINUS, 2, pure, |context| sum(context, -1))?;
    to.create_scalar_function(TEXT, 1, pure, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Integer(number) => Value::Text(number.to_string()),
            ValueRef::Real(number) => Value::Text(number.to_string()),
            _ => context.get(0)?,
        })
    })?;
    to.create_scalar_function(INTEGER, 1, pure, |context| {
        numeric(context, |number| number, |number| number as i64, "no whole number")
    })?;
    to.create_scalar_function(REAL, 1, pure, |context| {
        numeric(context, |number| number as f64, |number| number, "no number")
    })?;
    to.create_scalar_function(INSTANT, 1, pure, |context| {
        let at = match context.get_raw(0) {
            ValueRef::Null => return Ok(Value::Null),
            ValueRef::Integer(seconds) => seconds.checked_mul(1_000).map(Timestamp),
            ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(instant),
            ValueRef::Real(_) | ValueRef::Blob(_) => None,
        };
        at.map(written).ok_or_else(|| wrong("that is no instant, like '2026-01-31T12:00:00Z'"))
    })?;
    to.create_scalar_function(EPOCH, 1, pure, |context| match number(context.get_raw(0))? {
        NumericOperand::None => Ok(None),
        NumericOperand::Instant(at) => Ok(Some(at.0 as f64 / 1_000.0)),
        NumericOperand::Whole(length_ms) => Ok(Some(length_ms as f64 / 1_000.0)),
        NumericOperand::Real(_) => {
            Err(wrong("EXTRACT(EPOCH …) is of an instant, or of a length of time"))
        }
    })?;
    to.create_scalar_function("date_trunc", 2, pure, |context| {
        let unit: String = context.get(0)?;
        match number(context.get_raw(1))? {
            NumericOperand::None => Ok(Value::Null),
            NumericOperand::Instant(at) => truncated(&unit, at),
            NumericOperand::Whole(_) | NumericOperand::Real(_) => {
                Err(wrong("date_trunc takes an instant"))
            }
        }
    })?;
    to.create_scalar_function(STARTS_WITH, 2, pure, |context| {
        let (text, start): (Option<String>, Option<String>) = (context.get(0)?, context.get(1)?);
        Ok(text.zip(start).map(|(text, start)| text.starts_with(&start)))
    })?;
    to.create_aggregate_function(FIRST, 1, FunctionFlags::SQLITE_UTF8, EdgeValue { first: true })?;
    to.create_aggregate_function(LAST, 1, FunctionFlags::SQLITE_UTF8, EdgeValue { first: false })
}

/// Operand of a sum or a difference.
enum NumericOperand {
    None,
    Whole(i64),
    Real(f64),
    Instant(Timestamp),
}

fn number(value: ValueRef<'_>) -> Result<NumericOperand> {
    match value {
        ValueRef::Null => Ok(NumericOperand::None),
        ValueRef::Integer(number) => Ok(NumericOperand::Whole(number)),
        ValueRef::Real(number) => Ok(NumericOperand::Real(number)),
        ValueRef::Text(text) => {
            let at = std::str::from_utf8(text).ok().and_then(instant);
            at.map(NumericOperand::Instant)
                .ok_or_else(|| wrong("text is neither a number nor an instant: use CAST"))
        }
        ValueRef::Blob(_) => Err(wrong("bytes are no number")),
    }
}

fn sum(context: &Context<'_>, sign: i64) -> Result<Value> {
    let (left, right) = (number(context.get_raw(0))?, number(context.get_raw(1))?);
    let whole = |left: i64, right: i64| {
        let right = right.checked_mul(sign);
        let sum = right.and_then(|right| left.checked_add(right));
        sum.ok_or_else(|| wrong("a number is larger than 64 bits hold"))
    };
    Ok(match (left, right) {
        (NumericOperand::None, _) | (_, NumericOperand::None) => Value::Null,
        (NumericOperand::Whole(left), NumericOperand::Whole(right)) => {
            Value::Integer(whole(left, right)?)
        }
        (NumericOperand::Real(left), NumericOperand::Whole(right)) => {
            Value::Real(left + (sign * right) as f64)
        }
        (NumericOperand::Whole(left), NumericOperand::Real(right)) => {
            Value::Real(left as f64 + sign as f64 * right)
        }
        (NumericOperand::Real(left), NumericOperand::Real(right)) => {
            Value::Real(left + sign as f64 * right)
        }
        (NumericOperand::Instant(at), NumericOperand::Whole(length)) => {
            written(Timestamp(whole(at.0, length)?))
        }
        (NumericOperand::Whole(length), NumericOperand::Instant(at)) if sign > 0 => {
            written(Timestamp(whole(length, at.0)?))
        }
        (NumericOperand::Instant(left), NumericOperand::Instant(right)) if sign < 0 => {
            Value::Integer(whole(left.0, right.0)?)
        }
        (NumericOperand::Instant(_), _) | (_, NumericOperand::Instant(_)) => {
            return Err(wrong("to an instant a length is added, like INTERVAL '1 hour'"));
        }
    })
}

/// Converts a number or a text. `what` describes a text that cannot be converted.
fn numeric<T: FromStr>(
    context: &Context<'_>,
    of_integer: fn(i64) -> T,
    of_real: fn(f64) -> T,
    what: &str,
) -> Result<Option<T>> {
    match context.get_raw(0) {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => Ok(Some(of_integer(number))),
        ValueRef::Real(number) => Ok(Some(of_real(number))),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text).unwrap_or_default();
            let number = text.trim().parse().map(Some);
            number.map_err(|_| wrong(&format!("`{text}` is {what}")))
        }
        ValueRef::Blob(_) => Err(wrong("bytes are no number")),
    }
}

/// Truncates an instant to the second, minute, hour, day, month or year.
fn truncated(unit: &str, at: Timestamp) -> Result<Value> {
    let (kept, rest) = match unit.to_ascii_lowercase().as_str() {
        "second" => (19, ".000Z"),
        "minute" => (16, ":00.000Z"),
        "hour" => (13, ":00:00.000Z"),
        "day" => (10, "T00:00:00.000Z"),
        "month" => (7, "-01T00:00:00.000Z"),
        "year" => (4, "-01-01T00:00:00.000Z"),
        other => {
            let of = "date_trunc has second, minute, hour, day, month and year";
            return Err(wrong(&format!("{of}, and no `{other}`")));
        }
    };
    let text = value::written(at);
    Ok(Value::Text(format!("{}{rest}", &text[..kept])))
}

fn written(at: Timestamp) -> Value {
    Value::Text(value::written(at))
}

fn wrong(what: &str) -> Error {
    Error::UserFunctionError(what.into())
}

/// Aggregate of the first or the last value of a group.
struct EdgeValue {
    first: bool,
}

impl Aggregate<Option<Value>, Value> for EdgeValue {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<Value>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, found: &mut Option<Value>) -> Result<()> {
        if !self.first || found.is_none() {
            *found = Some(context.get(0)?);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, found: Option<Option<Value>>) -> Result<Value> {
        Ok(found.flatten().unwrap_or(Value::Null))
    }
}
