//! Translation of queries to SQLite's dialect.
//!
//! Tools write for another database, in PostgreSQL's dialect. The translation preserves the
//! meaning; constructs that SQLite interprets differently or cannot express are refused. String
//! literals are extracted and bound as parameters, so that nothing in them is parsed as SQL.

use std::ops::ControlFlow;

use segno_core::time::Timestamp;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, Expr, ExtractSyntax, Function, Ident,
    InTarget, ObjectName, OrderByExpr, OrderBySort, Query, SelectItem, SetExpr, TableFactor,
    Value as Literal, ValueWithSpan, VisitorMut,
};

use super::{
    expression::{call, is_time, number, take, text, two},
    functions,
    refusal::QueryRefusal,
    value::{instant, written},
};

/// Maximum number of values of a `NOT IN` that is rewritten.
const NOT_IN: usize = 16;

/// Columns that are not null in any row of any table that has them.
const NEVER_NOTHING: [&str; 2] = ["created_at", "id"];

/// Rewrites a query.
pub(super) struct QueryRewriter {
    now: Timestamp,
    /// The extracted string literals; the first one is `?1`.
    pub texts: Vec<String>,
    /// For each enclosing query: true if it reads one table, and its columns keep their names.
    orders_plainly: Vec<bool>,
}

impl QueryRewriter {
    /// Rewrites a query executed at `now`.
    pub(super) fn new(now: Timestamp) -> Self {
        Self { now, texts: Vec::new(), orders_plainly: Vec::new() }
    }

    fn rewritten(&self, expr: &mut Expr) -> Result<(), QueryRefusal> {
        match expr {
            Expr::Interval(interval) => {
                let said = interval.to_string();
                let text = match &*interval.value {
                    Expr::Value(value) => value.value.clone().into_string(),
                    _ => None,
                };
                let unit = interval.leading_field.as_ref().map(DateTimeField::to_string);
                let length = text.and_then(|text| length_ms(&text, unit.as_deref()));
                *expr = number(length.ok_or(QueryRefusal::Length(said))?);
            }
            Expr::TypedString(typed) => {
                let said = typed.to_string();
                let text = match &typed.data_type {
                    DataType::Timestamp(..) | DataType::Date => {
                        typed.value.value.clone().into_string()
                    }
                    _ => None,
                };
                *expr =
                    text.as_deref().and_then(instant_text).ok_or(QueryRefusal::Instant(said))?;
            }
            Expr::Cast { kind, expr: inner, data_type, format: None } => {
                let may_fail = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
                let function = cast(&data_type.to_string(), may_fail)?;
                *expr = call(function, [take(inner)]);
            }
            Expr::AtTimeZone { timestamp, time_zone } => match &**time_zone {
                Expr::Value(zone) if is_utc(&zone.value) => {
                    *expr = take(timestamp);
                    self.rewritten(expr)?;
                }
                other => return Err(QueryRefusal::Unsupported(format!("the time zone {other}"))),
            },
            Expr::Extract { field, syntax: ExtractSyntax::From, expr: of } => match field {
                DateTimeField::Epoch => *expr = call(functions::EPOCH, [take(of)]),
                other => return Err(QueryRefusal::Unsupported(format!("`EXTRACT({other} …)`"))),
            },
            Expr::Substring { expr: of, substring_from: Some(from), substring_for, .. } => {
                let mut arguments = vec![take(of), take(from)];
                arguments.extend(substring_for.as_mut().map(|length| take(length)));
                *expr = call("substr", arguments);
            }
            Expr::Trim { expr: of, trim_where: None, trim_what: None, trim_characters: None } => {
                *expr = call("trim", [take(of)]);
            }
            Expr::ILike { negated, any: false, expr: of, pattern, escape_char } => {
                *expr = Expr::Like {
                    negated: *negated,
                    any: false,
                    expr: Box::new(call("lower", [take(of)])),
                    pattern: Box::new(call("lower", [take(pattern)])),
                    escape_char: escape_char.take().or_else(backslash),
                };
            }
            Expr::Like { escape_char: escape_char @ None, any: false, .. } => {
                *escape_char = backslash();
            }
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => {
                let said = right.to_string();
                let Expr::Subquery(query) = &**right else {
                    return Err(QueryRefusal::Unsupported(format!("`ANY({said})`")));
                };
                let target = InTarget::Subquery(query.clone());
                *expr = Expr::In { expr: left.clone(), target, negated: false, global: false };
            }
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::Plus => *expr = call(functions::PLUS, [take(left), take(right)]),
                BinaryOperator::Minus => *expr = call(functions::MINUS, [take(left), take(right)]),
                BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq => {
                    if is_time(left) {
                        at_instant(right)?;
                    } else if is_time(right) {
                        at_instant(left)?;
                    }
                }
                BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
                | BinaryOperator::StringConcat
                | BinaryOperator::Arrow
                | BinaryOperator::LongArrow => {}
                other => return Err(QueryRefusal::Unsupported(format!("the operator `{other}`"))),
            },
            Expr::Between { expr: of, low, high, .. } if is_time(of) => {
                at_instant(low)?;
                at_instant(high)?;
            }
            Expr::In { expr: of, target: InTarget::List(list), .. } if is_time(of) => {
                list.iter_mut().try_for_each(at_instant)?;
            }
            // SQLite's planner passes `<>` to virtual tables, but not `NOT IN`.
            Expr::In { expr: of, target: InTarget::List(list), negated: true, .. }
                if column_name(of).is_some() && (1..=NOT_IN).contains(&list.len()) =>
            {
                let each = std::mem::take(list).into_iter().map(|other| Expr::BinaryOp {
                    left: of.clone(),
                    op: BinaryOperator::NotEq,
                    right: Box::new(other),
                });
                let both = each.reduce(|left, right| Expr::BinaryOp {
                    left: Box::new(left),
                    op: BinaryOperator::And,
                    right: Box::new(right),
                });
                if let Some(both) = both {
                    *expr = Expr::Nested(Box::new(both));
                }
            }
            Expr::Function(function) => {
                if let Some(other) = self.function(function)? {
                    *expr = other;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the replacement of a function that SQLite lacks, if any; may also rename the
    /// function.
    fn function(&self, function: &mut Function) -> Result<Option<Expr>, QueryRefusal> {
        let name = function.name.to_string().to_ascii_lowercase();
        let renamed = match name.as_str() {
            "now" | "current_timestamp" => return Ok(Some(text(written(self.now)))),
            // In SQLite these functions are window functions only.
            "first_value" if function.over.is_none() => functions::FIRST,
            "last_value" if function.over.is_none() => functions::LAST,
            "char_length" | "character_length" => "length",
            "to_timestamp" => functions::INSTANT,
            "arrow_cast" => {
                let said = function.to_string();
                let (value, of) = two(function).ok_or(QueryRefusal::Unsupported(said))?;
                let of = match of {
                    Expr::Value(of) => of.value.into_string(),
                    _ => None,
                };
                let function = cast(&of.unwrap_or_default(), false)?;
                return Ok(Some(call(function, [value])));
            }
            _ => return Ok(None),
        };
        function.name = ObjectName::from(vec![Ident::new(renamed)]);
        Ok(None)
    }
}

impl VisitorMut for QueryRewriter {
    type Break = QueryRefusal;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<QueryRefusal> {
        self.orders_plainly.push(is_plain(&query.body));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<QueryRefusal> {
        self.orders_plainly.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<QueryRefusal> {
        broken(self.rewritten(expr))
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<QueryRefusal> {
        match &value.value {
            Literal::SingleQuotedString(text) => {
                let known = self.texts.iter().position(|known| known == text);
                let place = known.unwrap_or_else(|| {
                    self.texts.push(text.clone());
                    self.texts.len() - 1
                });
                value.value = Literal::Placeholder(format!("?{}", place + 1));
                ControlFlow::Continue(())
            }
            Literal::Number(..) | Literal::Boolean(_) | Literal::Null => ControlFlow::Continue(()),
            other => ControlFlow::Break(QueryRefusal::Unsupported(format!(
                "`{other}` in place of a value"
            ))),
        }
    }

    fn pre_visit_ident(&mut self, name: &mut Ident) -> ControlFlow<QueryRefusal> {
        // Other identifiers may be keywords in SQLite (`index`), and double-quoted ones may be
        // taken for strings.
        name.quote_style = Some('`');
        ControlFlow::Continue(())
    }

    fn pre_visit_order_by_expr(&mut self, by: &mut OrderByExpr) -> ControlFlow<QueryRefusal> {
        if self.orders_plainly.last() == Some(&true) && never_nothing(&by.expr) {
            // The table itself produces this order if it is requested in this form.
            return ControlFlow::Continue(());
        }
        let descends = match by.options.sort {
            None | Some(OrderBySort::Asc) => false,
            Some(OrderBySort::Desc) => true,
            Some(OrderBySort::Using(_)) => {
                return ControlFlow::Break(QueryRefusal::Unsupported(
                    "USING in ORDER BY".to_owned(),
                ));
            }
        };
        // Nulls sort last there, but first in SQLite.
        by.options.nulls_first.get_or_insert(descends);
        ControlFlow::Continue(())
    }
}

/// Returns true if a query reads one table, and its columns keep their names.
fn is_plain(body: &SetExpr) -> bool {
    let SetExpr::Select(select) = body else { return false };
    let is_of_one_table = match select.from.as_slice() {
        [from] => from.joins.is_empty() && matches!(from.relation, TableFactor::Table { .. }),
        _ => false,
    };
    is_of_one_table
        && select.projection.iter().all(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => {
                !NEVER_NOTHING.contains(&alias.value.as_str())
                    || column_name(expr) == Some(alias.value.as_str())
            }
            _ => true,
        })
}

/// Returns true if an expression is a column that is never null.
fn never_nothing(expr: &Expr) -> bool {
    column_name(expr).is_some_and(|name| NEVER_NOTHING.contains(&name))
}

fn column_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.as_str()),
        _ => None,
    }
}

/// Normalizes a string literal that is compared with an instant.
fn at_instant(expr: &mut Expr) -> Result<(), QueryRefusal> {
    match expr {
        Expr::Nested(inner) => at_instant(inner),
        Expr::Value(ValueWithSpan { value: Literal::SingleQuotedString(said), .. }) => {
            *expr = instant_text(said).ok_or_else(|| QueryRefusal::Instant(format!("'{said}'")))?;
            Ok(())
        }
        Expr::Value(ValueWithSpan { value: Literal::Null, .. }) => Ok(()),
        Expr::Value(other) => Err(QueryRefusal::Instant(other.to_string())),
        _ => Ok(()),
    }
}

/// Returns the function that converts a value to this type.
fn cast(data_type: &str, may_fail: bool) -> Result<&'static str, QueryRefusal> {
    let bare: String = data_type
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric())
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    match (bare.as_str(), may_fail) {
        (
            "text" | "string" | "varchar" | "char" | "character" | "utf8" | "largeutf8"
            | "utf8view",
            _,
        ) => Ok(functions::TEXT),
        (
            "int" | "integer" | "bigint" | "smallint" | "tinyint" | "int8" | "int16" | "int32"
            | "int64" | "uint8" | "uint16" | "uint32" | "uint64",
            false,
        ) => Ok(functions::INTEGER),
        ("float" | "double" | "real" | "float32" | "float64" | "decimal" | "numeric", false) => {
            Ok(functions::REAL)
        }
        ("timestamp" | "timestamptz" | "datetime", false) => Ok(functions::INSTANT),
        _ if may_fail => Err(QueryRefusal::Unsupported(format!("`TRY_CAST(… AS {data_type})`"))),
        _ => Err(QueryRefusal::Unsupported(format!("`CAST(… AS {data_type})`"))),
    }
}

/// Parses a duration, in milliseconds.
fn length_ms(text: &str, unit: Option<&str>) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest.trim()),
        None => (1, text.as_str()),
    };
    let said = match unit {
        Some(unit) => format!("{text} {}", unit.to_ascii_lowercase()),
        None => text.to_owned(),
    };
    let length = humantime::parse_duration(&said).ok()?;
    i64::try_from(length.as_millis()).ok().map(|length| sign * length)
}

fn instant_text(said: &str) -> Option<Expr> {
    instant(said).map(|at| text(written(at)))
}

fn is_utc(zone: &Literal) -> bool {
    matches!(zone, Literal::SingleQuotedString(zone) if ["utc", "+00:00", "z"].contains(&zone.to_ascii_lowercase().as_str()))
}

fn backslash() -> Option<Box<Expr>> {
    Some(Box::new(text("\\")))
}

fn broken(done: Result<(), QueryRefusal>) -> ControlFlow<QueryRefusal> {
    match done {
        Ok(()) => ControlFlow::Continue(()),
        Err(refused) => ControlFlow::Break(refused),
    }
}
