//! Expressions of queries: classification and construction.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, SelectItem, SetExpr, UnaryOperator, Value as Literal,
};

use super::{functions, table::QueryTable};

/// Returns true if an expression is boolean.
pub(super) fn is_bool(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_bool(inner),
        Expr::UnaryOp { op: UnaryOperator::Not, .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::In { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::AnyOp { .. }
        | Expr::Exists { .. } => true,
        Expr::Value(value) => matches!(value.value, Literal::Boolean(_)),
        Expr::Function(function) => {
            function.name.to_string().eq_ignore_ascii_case(functions::STARTS_WITH)
        }
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
        ),
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result);
            results.chain(else_result.as_deref()).all(is_bool)
        }
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match select.projection.as_slice() {
                [SelectItem::UnnamedExpr(expr)] => is_bool(expr),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// Returns true if an expression is recognizably an instant.
pub(super) fn is_time(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(name) => QueryTable::has_time(&name.value),
        Expr::CompoundIdentifier(names) => {
            names.last().is_some_and(|name| QueryTable::has_time(&name.value))
        }
        Expr::Nested(inner) => is_time(inner),
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, .. } => {
            is_time(left)
        }
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_lowercase();
            let of_its_first = || match &function.args {
                FunctionArguments::List(list) => list.args.iter().any(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => is_time(expr),
                    _ => false,
                }),
                FunctionArguments::None | FunctionArguments::Subquery(_) => false,
            };
            match name.as_str() {
                "now" | "current_timestamp" | "to_timestamp" | "date_trunc" => true,
                "min" | "max" | "first_value" | "last_value" | "coalesce" => of_its_first(),
                _ => false,
            }
        }
        Expr::TypedString(_) => true,
        _ => false,
    }
}

/// Builds a string literal.
pub(super) fn text(text: impl Into<String>) -> Expr {
    Expr::Value(Literal::SingleQuotedString(text.into()).into())
}

/// Builds an integer literal.
pub(super) fn number(number: i64) -> Expr {
    let bare = Expr::Value(Literal::Number(number.unsigned_abs().to_string(), false).into());
    match number < 0 {
        true => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(bare) },
        false => bare,
    }
}

/// Takes an expression, and leaves `NULL` in its place.
pub(super) fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Value(Literal::Null.into()))
}

/// Returns the arguments of a function that has exactly two.
pub(super) fn two(function: &Function) -> Option<(Expr, Expr)> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(first)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(second)),
        ] => Some((first.clone(), second.clone())),
        _ => None,
    }
}

/// Builds a function call.
pub(super) fn call(name: &str, arguments: impl IntoIterator<Item = Expr>) -> Expr {
    let arguments = arguments.into_iter().map(FunctionArgExpr::Expr).map(FunctionArg::Unnamed);
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.collect(),
            clauses: Vec::new(),
        }),
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
    })
}
