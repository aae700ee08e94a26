//! Conditions of nodes. `segno-graph` defines their meaning.

use std::ops::{BitAnd, BitOr, Not};

use serde::Serialize;
use serde_json::Value;

use super::source::{Origin, json};

/// A condition that decides if a node runs: `rows.at::<u64>("/count").above(0) & !quiet.is(true)`.
/// It has a value for any data: a comparison with a missing value or with another type is false.
#[must_use = "a condition does nothing before it is given to `when`"]
pub struct Condition(pub(super) Part);

/// A condition and its operands.
pub(super) enum Part {
    Test { origin: Origin, at: String, test: &'static str, value: Value },
    All(Vec<Part>),
    Any(Vec<Part>),
    Not(Box<Part>),
}

/// A number that conditions compare with.
pub trait Number: Serialize {}

macro_rules! numbers {
    ($($type:ty)+) => { $(impl Number for $type {})+ };
}

numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);

impl Condition {
    pub(super) fn test(
        origin: Origin,
        at: String,
        test: &'static str,
        value: impl Serialize,
    ) -> Self {
        Self(Part::Test { origin, at, test, value: json(value) })
    }
}

/// True if both conditions hold.
impl BitAnd for Condition {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(Part::All(vec![self.0, other.0]))
    }
}

/// True if at least one of the two conditions holds.
impl BitOr for Condition {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(Part::Any(vec![self.0, other.0]))
    }
}

/// True if the condition does not hold.
impl Not for Condition {
    type Output = Self;

    fn not(self) -> Self {
        Self(Part::Not(Box::new(self.0)))
    }
}
