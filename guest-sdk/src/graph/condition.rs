//! Conditions of nodes. `segno-graph` defines their meaning.

use std::ops::{BitAnd, BitOr, Not};

use serde::Serialize;
use serde_json::Value;

use super::source::{ValueOrigin, json};

/// A condition that decides if a node runs: `rows.at::<u64>("/count").above(0) & !quiet.is(true)`.
/// It has a value for any data: a comparison with a missing value or with another type is false.
#[must_use = "a condition does nothing before it is given to `when`"]
pub struct Condition(pub(super) ConditionExpression);

/// A condition and its operands.
pub(super) enum ConditionExpression {
    Test { origin: ValueOrigin, at: String, test: &'static str, value: Value },
    All(Vec<ConditionExpression>),
    Any(Vec<ConditionExpression>),
    Not(Box<ConditionExpression>),
}

/// A number that conditions compare with.
pub trait Number: Serialize {}

macro_rules! numbers {
    ($($type:ty)+) => { $(impl Number for $type {})+ };
}

numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);

impl Condition {
    pub(super) fn test(
        origin: ValueOrigin,
        at: String,
        test: &'static str,
        value: impl Serialize,
    ) -> Self {
        Self(ConditionExpression::Test { origin, at, test, value: json(value) })
    }
}

/// True if both conditions hold.
impl BitAnd for Condition {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(ConditionExpression::All(vec![self.0, other.0]))
    }
}

/// True if at least one of the two conditions holds.
impl BitOr for Condition {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(ConditionExpression::Any(vec![self.0, other.0]))
    }
}

/// True if the condition does not hold.
impl Not for Condition {
    type Output = Self;

    fn not(self) -> Self {
        Self(ConditionExpression::Not(Box::new(self.0)))
    }
}
