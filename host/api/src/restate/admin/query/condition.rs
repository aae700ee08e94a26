//! What is asked of a row (`WHERE`), with three answers: yes, no, and unknown where something compares with nothing.

use std::{cmp::Ordering, collections::BTreeSet};

use super::{row::Row, value::Value};

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Operator {
    /// The same where the sides have changed places.
    pub fn turned(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
        }
    }

    fn takes(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// What is asked of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// All of them (`AND`).
    All(Vec<Condition>),
    /// One of them (`OR`).
    Any(Vec<Condition>),
    /// Not this.
    Not(Box<Condition>),
    /// A column compares so with a value.
    Compares(&'static str, Operator, Value),
    /// A column has one of these values.
    In(&'static str, Vec<Value>),
    /// The text of a column has this form: `%` is any text, `_` any character.
    Like(&'static str, String),
    /// A column has no value.
    IsNull(&'static str),
}

impl Condition {
    /// Whether it holds; none: that is unknown.
    pub fn holds(&self, row: &Row) -> Option<bool> {
        match self {
            Self::All(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part.holds(row)).collect();
                match parts.contains(&Some(false)) {
                    true => Some(false),
                    false => (!parts.contains(&None)).then_some(true),
                }
            }
            Self::Any(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part.holds(row)).collect();
                match parts.contains(&Some(true)) {
                    true => Some(true),
                    false => (!parts.contains(&None)).then_some(false),
                }
            }
            Self::Not(part) => part.holds(row).map(|holds| !holds),
            Self::Compares(column, operator, value) => {
                row.get(column).compared(value).map(|order| operator.takes(order))
            }
            Self::In(column, values) => {
                let found: Vec<_> =
                    values.iter().map(|value| row.get(column).compared(value)).collect();
                match found.contains(&Some(Ordering::Equal)) {
                    true => Some(true),
                    false => (!found.contains(&None)).then_some(false),
                }
            }
            Self::Like(column, pattern) => {
                row.get(column).as_text().map(|text| is_like(text, pattern))
            }
            Self::IsNull(column) => Some(row.get(column).is_null()),
        }
    }

    /// The texts that a column may have where this holds; none: it says nothing of that.
    pub fn texts(&self, of: &str) -> Option<BTreeSet<String>> {
        let text = |value: &Value| value.as_text().map(str::to_owned);
        match self {
            Self::Compares(column, Operator::Equal, value) if *column == of => {
                Some(text(value).into_iter().collect())
            }
            Self::In(column, values) if *column == of => {
                Some(values.iter().filter_map(text).collect())
            }
            Self::All(parts) => {
                let said = parts.iter().filter_map(|part| part.texts(of));
                said.reduce(|left, right| &left & &right)
            }
            Self::Any(parts) => {
                let said: Option<Vec<_>> = parts.iter().map(|part| part.texts(of)).collect();
                Some(said?.into_iter().flatten().collect())
            }
            Self::Not(_) | Self::Compares(..) | Self::In(..) | Self::Like(..) | Self::IsNull(_) => {
                None
            }
        }
    }

    /// The columns that it looks at.
    pub fn columns(&self) -> BTreeSet<&'static str> {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().flat_map(|part| part.columns()).collect()
            }
            Self::Not(part) => part.columns(),
            Self::Compares(column, ..)
            | Self::In(column, _)
            | Self::Like(column, _)
            | Self::IsNull(column) => [*column].into(),
        }
    }
}

/// Whether text has the form of a pattern. Where it does not fit, the last `%` takes one character more.
fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut of, mut any) = (0, 0, None);
    while at < text.len() {
        match pattern.get(of) {
            Some('%') => {
                any = Some((at, of));
                of += 1;
            }
            Some('\\') if pattern.get(of + 1) == Some(&text[at]) => (at, of) = (at + 1, of + 2),
            Some('_') => (at, of) = (at + 1, of + 1),
            Some(same) if *same == text[at] && *same != '\\' => (at, of) = (at + 1, of + 1),
            _ => match any {
                Some((from, percent)) => {
                    any = Some((from + 1, percent));
                    (at, of) = (from + 1, percent + 1);
                }
                None => return false,
            },
        }
    }
    pattern[of..].iter().all(|rest| *rest == '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_they_do_in_databases() {
        for (text, pattern, fits) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "_b_", true),
            ("abc", "%x%", false),
            ("aXbXc", "a%b%c", true),
            ("aaab", "%ab", true),
            ("é", "_", true),
            ("50%", "50\\%", true),
            ("50x", "50\\%", false),
            ("ABC", "abc", false),
        ] {
            assert_eq!(is_like(text, pattern), fits, "{text} {pattern}");
        }
    }

    #[test]
    fn what_is_compared_with_nothing_is_unknown() {
        let mut row = Row::default();
        row.set("a", Value::Number(1));
        let is = |column, value| Condition::Compares(column, Operator::Equal, value);
        let (yes, no, unknown) =
            (is("a", Value::Number(1)), is("a", Value::Number(2)), is("b", Value::Number(1)));
        let not = |condition: &Condition| Condition::Not(Box::new(condition.clone()));
        let all = |parts: &[&Condition]| Condition::All(parts.iter().copied().cloned().collect());
        let any = |parts: &[&Condition]| Condition::Any(parts.iter().copied().cloned().collect());
        for (condition, holds) in [
            (yes.clone(), Some(true)),
            (no.clone(), Some(false)),
            (unknown.clone(), None),
            (not(&unknown), None),
            (all(&[&yes, &unknown]), None),
            (all(&[&no, &unknown]), Some(false)),
            (any(&[&yes, &unknown]), Some(true)),
            (any(&[&no, &unknown]), None),
            (Condition::In("a", vec![Value::Number(2), Value::Null]), None),
            (Condition::In("a", vec![Value::Number(1), Value::Null]), Some(true)),
            (Condition::Like("b", "%".to_owned()), None),
            (Condition::IsNull("b"), Some(true)),
            (Condition::IsNull("a"), Some(false)),
        ] {
            assert_eq!(condition.holds(&row), holds, "{condition:?}");
        }
    }

    #[test]
    fn a_condition_tells_what_a_column_may_be() {
        let is = |column, text: &str| {
            Condition::Compares(column, Operator::Equal, Value::Text(text.to_owned()))
        };
        let set = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
        let any = Condition::Any(vec![is("a", "x"), is("a", "y")]);
        assert_eq!(any.texts("a"), set(&["x", "y"]));
        assert_eq!(Condition::Any(vec![is("a", "x"), is("b", "y")]).texts("a"), None);
        let all = Condition::All(vec![any, is("a", "x"), is("b", "z")]);
        assert_eq!((all.texts("a"), all.texts("c")), (set(&["x"]), None));
        assert_eq!(Condition::Not(Box::new(is("a", "x"))).texts("a"), None);
        let other = Condition::Compares("a", Operator::NotEqual, Value::Text("x".to_owned()));
        assert_eq!(other.texts("a"), None);
    }
}
