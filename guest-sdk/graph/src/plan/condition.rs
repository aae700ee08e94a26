//! Conditions on nodes. A condition has a value for any data: a comparison with a missing value or
//! with another type is false.

use std::{cmp::Ordering, collections::BTreeSet};

use serde_json::{Number, Value};

/// A condition that decides if a node runs or is skipped.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A test of one value.
    Value {
        /// The node whose output is tested, or `input`.
        from: Box<str>,
        /// A JSON pointer into that output; empty for the whole.
        at: Box<str>,
        /// The test.
        test: ConditionTest,
    },
    /// True if each condition holds.
    All(Vec<Condition>),
    /// True if at least one condition holds.
    Any(Vec<Condition>),
    /// True if the condition does not hold.
    Not(Box<Condition>),
}

/// A test of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionTest {
    /// Equal to this. A missing value counts as null, and 1 equals 1.0.
    Is(Value),
    /// Not equal to this.
    IsNot(Value),
    /// A number greater than this.
    Above(Number),
    /// A number less than this.
    Below(Number),
    /// A number not less than this.
    AtLeast(Number),
    /// A number not greater than this.
    AtMost(Number),
    /// Present (true) or missing (false). A null value is present; the output of a skipped node is
    /// missing.
    Exists(bool),
}

impl Condition {
    /// Evaluates the condition. `source` returns a part of an output, by node name and JSON
    /// pointer.
    pub fn holds<'a>(&self, source: &impl Fn(&str, &str) -> Option<&'a Value>) -> bool {
        match self {
            Self::Value { from, at, test } => test.holds(source(from, at)),
            Self::All(all) => all.iter().all(|one| one.holds(source)),
            Self::Any(any) => any.iter().any(|one| one.holds(source)),
            Self::Not(one) => !one.holds(source),
        }
    }

    /// Adds the parts of outputs that the condition reads: node names with JSON pointers.
    pub fn sources<'c>(&'c self, found: &mut BTreeSet<(&'c str, &'c str)>) {
        match self {
            Self::Value { from, at, .. } => drop(found.insert((from, at))),
            Self::All(several) | Self::Any(several) => {
                several.iter().for_each(|one| one.sources(found));
            }
            Self::Not(one) => one.sources(found),
        }
    }
}

impl ConditionTest {
    fn holds(&self, found: Option<&Value>) -> bool {
        let order = |number| compare(found?.as_number()?, number);
        match self {
            Self::Is(value) => equal(found.unwrap_or(&Value::Null), value),
            Self::IsNot(value) => !equal(found.unwrap_or(&Value::Null), value),
            Self::Above(number) => order(number).is_some_and(Ordering::is_gt),
            Self::Below(number) => order(number).is_some_and(Ordering::is_lt),
            Self::AtLeast(number) => order(number).is_some_and(Ordering::is_ge),
            Self::AtMost(number) => order(number).is_some_and(Ordering::is_le),
            Self::Exists(exists) => found.is_some() == *exists,
        }
    }
}

/// Equality that compares numbers by value, independent of their notation.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare(left, right).is_some_and(Ordering::is_eq)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(one, other)| equal(one, other))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(key, one)| right.get(key).is_some_and(|other| equal(one, other));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}

/// Compares whole numbers exactly, others as floating-point numbers.
fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

#[cfg(test)]
mod tests {
    use ConditionTest::{Above, AtLeast, AtMost, Below, Exists, Is, IsNot};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_test_is_true_or_false_of_any_value_and_of_none() {
        let number = |value: Value| value.as_number().cloned().expect("a number");
        let (two, big) = (number(json!(2)), number(json!(u64::MAX)));
        let nearly = json!(u64::MAX - 1);
        for (test, holds, fails) in [
            (Is(json!(2)), vec![json!(2), json!(2.0)], vec![json!(3), json!("2"), json!(null)]),
            (Is(json!([{"a": 1}])), vec![json!([{"a": 1.0}])], vec![json!([]), json!([{"b": 1}])]),
            (IsNot(json!(2)), vec![json!(3), json!("2"), json!(null)], vec![json!(2), json!(2.0)]),
            (Above(two.clone()), vec![json!(2.5)], vec![json!(2), json!("3"), json!([3])]),
            (Below(two.clone()), vec![json!(-1)], vec![json!(2), json!(null), json!(true)]),
            (AtLeast(two.clone()), vec![json!(2)], vec![json!(1.9), json!("2")]),
            (AtMost(two), vec![json!(2.0)], vec![json!(2.1), json!(null)]),
            (AtLeast(big.clone()), vec![json!(u64::MAX)], vec![nearly.clone()]),
            (Below(big), vec![nearly], vec![json!(u64::MAX)]),
            (Exists(true), vec![json!(null), json!(0)], vec![]),
            (Exists(false), vec![], vec![json!(null), json!(0)]),
        ] {
            for value in holds {
                assert!(test.holds(Some(&value)), "{test:?} of {value}");
            }
            for value in fails {
                assert!(!test.holds(Some(&value)), "{test:?} of {value}");
            }
        }
        let none = [(Is(json!(null)), true), (IsNot(json!(1)), true), (Exists(false), true)];
        let more = [(Is(json!(1)), false), (Exists(true), false)];
        for (test, holds) in none.into_iter().chain(more) {
            assert_eq!(test.holds(None), holds, "{test:?} of nothing");
        }
    }

    #[test]
    fn conditions_are_joined() {
        let one = json!(1);
        let is = |value| Condition::Value { from: "a".into(), at: "".into(), test: Is(value) };
        let (yes, no) = (is(json!(1)), is(json!(2)));
        let both = || vec![yes.clone(), no.clone()];
        for (condition, holds) in [
            (Condition::All(both()), false),
            (Condition::All(vec![yes.clone(); 2]), true),
            (Condition::Any(both()), true),
            (Condition::Any(vec![no.clone(); 2]), false),
            (Condition::Not(Box::new(yes.clone())), false),
            (Condition::Not(Box::new(no.clone())), true),
        ] {
            let source = |name: &str, at: &str| one.pointer(at).filter(|_| name == "a");
            assert_eq!(condition.holds(&source), holds, "{condition:?}");
        }
    }
}
