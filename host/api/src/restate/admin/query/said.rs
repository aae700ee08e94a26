//! What a condition says of a column: the texts that it may have, or those that it may not.

use std::collections::BTreeSet;

use sqlparser::ast::{BinaryOperator, Expr, Ident, InTarget, Value as Literal};

/// What is said of the text of a column. Whatever it is, the column has one: where a column without a value is taken
/// as well, nothing is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It is one of these.
    Only(BTreeSet<String>),
    /// It is none of these.
    Not(BTreeSet<String>),
}

impl Said {
    /// What both say.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(left), Self::Only(right)) => Self::Only(&left & &right),
            (Self::Only(only), Self::Not(not)) | (Self::Not(not), Self::Only(only)) => {
                Self::Only(&only - &not)
            }
            (Self::Not(left), Self::Not(right)) => Self::Not(&left | &right),
        }
    }

    /// What one of the two says.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(left), Self::Only(right)) => Self::Only(&left | &right),
            (Self::Only(only), Self::Not(not)) | (Self::Not(not), Self::Only(only)) => {
                Self::Not(&not - &only)
            }
            (Self::Not(left), Self::Not(right)) => Self::Not(&left & &right),
        }
    }
}

/// A column of a table that goes by a name in a query.
#[derive(Debug, Clone, Copy)]
pub struct ColumnOf<'a> {
    /// The name of the table.
    pub table: &'a str,
    /// The name of the column.
    pub column: &'a str,
}

impl ColumnOf<'_> {
    fn is(self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(name) => same(name, self.column),
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [table, name] => same(table, self.table) && same(name, self.column),
                _ => false,
            },
            Expr::Nested(inner) => self.is(inner),
            _ => false,
        }
    }

    /// What a condition says of it; none: nothing that is plain.
    pub fn said_by(self, condition: &Expr) -> Option<Said> {
        match condition {
            Expr::Nested(inner) => self.said_by(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                match (self.said_by(left), self.said_by(right)) {
                    (Some(left), Some(right)) => Some(left.and(right)),
                    (left, right) => left.or(right),
                }
            }
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                Some(self.said_by(left)?.or(self.said_by(right)?))
            }
            Expr::BinaryOp { left, op, right } => {
                let text = match (self.is(left), self.is(right)) {
                    (true, false) => text(right)?,
                    (false, true) => text(left)?,
                    _ => return None,
                };
                match op {
                    BinaryOperator::Eq => Some(Said::Only([text].into())),
                    BinaryOperator::NotEq => Some(Said::Not([text].into())),
                    _ => None,
                }
            }
            Expr::In { expr, target: InTarget::List(list), negated, .. } if self.is(expr) => {
                let texts = list.iter().map(text).collect::<Option<_>>()?;
                Some(if *negated { Said::Not(texts) } else { Said::Only(texts) })
            }
            _ => None,
        }
    }
}

/// Whether a name in a query is this one: case counts in neither.
pub fn same(name: &Ident, known: &str) -> bool {
    name.value.eq_ignore_ascii_case(known)
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => text(inner),
        Expr::Value(value) => match &value.value {
            Literal::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::{dialect::GenericDialect, parser::Parser};

    use super::*;

    fn said(sql: &str) -> Option<Said> {
        let mut parser = Parser::new(&GenericDialect {}).try_with_sql(sql).expect("words");
        let condition = parser.parse_expr().expect("a condition");
        ColumnOf { table: "inv", column: "id" }.said_by(&condition)
    }

    #[test]
    fn a_condition_tells_what_a_column_may_be() {
        let set = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let only = |texts: &[&str]| Some(Said::Only(set(texts)));
        let not = |texts: &[&str]| Some(Said::Not(set(texts)));
        for (sql, expected) in [
            ("id = 'a'", only(&["a"])),
            ("'a' == ID", only(&["a"])),
            ("inv.id = ('a')", only(&["a"])),
            ("other.id = 'a'", None),
            ("id = 7", None),
            ("id = name", None),
            ("id > 'a'", None),
            ("id IN ('a', 'b')", only(&["a", "b"])),
            ("id IN ('a', name)", None),
            ("id NOT IN ('a', 'b')", not(&["a", "b"])),
            ("id != 'a'", not(&["a"])),
            ("NOT id = 'a'", None),
            ("id IS NULL", None),
            ("id = 'a' AND x = 'b'", only(&["a"])),
            ("x = 'b' AND id = 'a'", only(&["a"])),
            ("id = 'a' OR x = 'b'", None),
            ("id = 'a' OR id IS NULL", None),
            ("(id = 'a' OR id = 'b') AND id = 'a'", only(&["a"])),
            ("id = 'a' AND id = 'b'", only(&[])),
            ("id IN ('a', 'b') AND id <> 'a'", only(&["b"])),
            ("id <> 'a' AND id IN ('a', 'b')", only(&["b"])),
            ("id <> 'a' AND id <> 'b'", not(&["a", "b"])),
            ("id <> 'a' OR id <> 'b'", not(&[])),
            ("id NOT IN ('a', 'b') OR id = 'a'", not(&["b"])),
            ("id = 'a' OR id NOT IN ('a', 'b')", not(&["b"])),
        ] {
            assert_eq!(said(sql), expected, "{sql}");
        }
    }
}
