//! What a query says: its text, as a plan over one table. Whatever is not understood is refused: nothing is left out
//! silently, because what is understood is compared, together with the rest, with a query that says nothing more.

use sqlparser::{
    ast::{
        BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
        GroupByExpr, Ident, InTarget, LimitClause, ObjectName, OrderByKind, Query, Select,
        SelectItem, SetExpr, Statement, TableFactor, UnaryOperator, Value as Literal,
    },
    dialect::GenericDialect,
    parser::Parser,
    tokenizer::{Token, Tokenizer},
};

use super::{
    condition::{Condition, Operator},
    plan::{Order, Output, Plan, Source},
    tables::{Column, Table},
    value::{Kind, Value},
};

/// The most words and signs of a query, lists of values left out: what is nested is read by functions that call
/// themselves.
const TOKENS: usize = 1_000;
/// What a query may say.
const SUBSET: &str = "SELECT columns, COUNT, MIN or MAX FROM one table WHERE … GROUP BY … ORDER BY … LIMIT … OFFSET …";

/// Why a query is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is no SQL.
    #[error("the query cannot be read: {0}")]
    Syntax(String),
    /// It is longer than queries are read.
    #[error("the query has more than {TOKENS} words and signs")]
    TooLong,
    /// It says something that is not answered here.
    #[error("{0} is not answered here: use {SUBSET}")]
    Unsupported(String),
    /// There is no such table.
    #[error("there is no table `{0}`; there are {known}", known = Table::names())]
    Table(String),
    /// The table has no such column.
    #[error("the table `{table}` has no column `{column}`; it has {known}")]
    Column {
        /// The table.
        table: &'static str,
        /// The column.
        column: String,
        /// Those that it has.
        known: String,
    },
    /// A column is compared with what it cannot be.
    #[error("`{column}` cannot be compared with {with}: it is {is}")]
    Kind {
        /// The column.
        column: &'static str,
        /// With what.
        with: String,
        /// What it is.
        is: &'static str,
    },
    /// A column is neither grouped by nor counted.
    #[error("`{0}` is neither in GROUP BY nor in COUNT, MIN or MAX")]
    NotGrouped(String),
}

type Parsed<T> = Result<T, Refused>;

fn unsupported<T>(what: impl Into<String>) -> Parsed<T> {
    Err(Refused::Unsupported(what.into()))
}

/// Reads a query.
///
/// # Errors
/// [`Refused`].
pub fn parse(sql: &str) -> Parsed<Plan> {
    let query = query(sql)?;
    let bare = query_of("SELECT a FROM t")?;
    if query.with.is_some() {
        return unsupported("WITH");
    }
    let select = match &*query.body {
        SetExpr::Select(select) => select.as_ref(),
        SetExpr::SetOperation { op, .. } => return unsupported(op.to_string()),
        other => return unsupported(format!("`{other}`")),
    };
    let rest = Query {
        body: bare.body.clone(),
        order_by: None,
        limit_clause: None,
        ..query.as_ref().clone()
    };
    if rest != *bare {
        return unsupported(format!("`{}`", shown(&rest.to_string(), &bare.to_string())));
    }
    let scope = Scope::of(select)?;
    plain(select, &bare)?;
    let mut plan = Plan {
        table: scope.table,
        outputs: Vec::new(),
        condition: select.selection.as_ref().map(|expr| scope.condition(expr)).transpose()?,
        groups: scope.groups(&select.group_by)?,
        is_grouped: false,
        order: Vec::new(),
        limit: None,
        offset: 0,
    };
    for item in &select.projection {
        scope.outputs(item, &mut plan.outputs)?;
    }
    let counts = plan.outputs.iter().any(|output| !matches!(output.source, Source::Column(_)));
    plan.is_grouped = counts || !plan.groups.is_empty();
    if let Some(order_by) = &query.order_by {
        let OrderByKind::Expressions(by) = &order_by.kind else {
            return unsupported("ORDER BY ALL");
        };
        if order_by.interpolate.is_some() || by.iter().any(|by| by.with_fill.is_some()) {
            return unsupported("WITH FILL");
        }
        for by in by {
            let source = scope.ordered(&by.expr, &plan.outputs)?;
            let order = by.to_string().to_ascii_uppercase();
            if order.contains(" USING ") {
                return unsupported("USING in ORDER BY");
            }
            let descends = order.contains(" DESC");
            let nulls_first = match order.contains(" NULLS ") {
                true => order.ends_with("FIRST"),
                false => descends,
            };
            plan.order.push(Order { source, descends, nulls_first });
        }
    }
    if plan.is_grouped {
        let sources = plan.outputs.iter().map(|output| &output.source);
        for source in sources.chain(plan.order.iter().map(|order| &order.source)) {
            if let Source::Column(column) = source
                && !plan.groups.contains(column)
            {
                return Err(Refused::NotGrouped((*column).to_owned()));
            }
        }
    }
    (plan.limit, plan.offset) = limits(query.limit_clause.as_ref())?;
    Ok(plan)
}

/// The one statement of a text, if it asks for something.
fn query(sql: &str) -> Parsed<Box<Query>> {
    let syntax = |error: String| Refused::Syntax(error);
    let tokens = Tokenizer::new(&GenericDialect {}, sql)
        .tokenize()
        .map_err(|error| syntax(error.to_string()))?;
    let counts = |token: &&Token| {
        !matches!(
            token,
            Token::Whitespace(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_)
        )
    };
    if tokens.iter().filter(counts).count() > TOKENS {
        return Err(Refused::TooLong);
    }
    query_of(sql)
}

fn query_of(sql: &str) -> Parsed<Box<Query>> {
    let statements = Parser::parse_sql(&GenericDialect {}, sql)
        .map_err(|error| Refused::Syntax(error.to_string()))?;
    match <[Statement; 1]>::try_from(statements) {
        Ok([Statement::Query(query)]) => Ok(query),
        Ok([other]) => {
            let text = other.to_string();
            unsupported(text.split_whitespace().next().unwrap_or("this").to_owned())
        }
        Err(several) if several.is_empty() => Err(Refused::Syntax("it is empty".to_owned())),
        Err(_) => unsupported("more than one statement"),
    }
}

/// Refuses what a selection says beside what is read of it.
fn plain(select: &Select, bare: &Query) -> Parsed<()> {
    let SetExpr::Select(bare) = &*bare.body else { unreachable!("it is a selection") };
    for (is_there, what) in [
        (select.distinct.is_some(), "DISTINCT"),
        (select.having.is_some(), "HAVING"),
        (select.qualify.is_some(), "QUALIFY"),
    ] {
        if is_there {
            return unsupported(what);
        }
    }
    let rest = Select {
        projection: bare.projection.clone(),
        from: bare.from.clone(),
        selection: None,
        group_by: bare.group_by.clone(),
        ..select.clone()
    };
    match rest == **bare {
        true => Ok(()),
        false => unsupported(format!("`{}`", shown(&rest.to_string(), &bare.to_string()))),
    }
}

/// What stands in a text beyond a shorter one.
fn shown(text: &str, bare: &str) -> String {
    let begin = text.chars().zip(bare.chars()).take_while(|(left, right)| left == right).count();
    text.chars().skip(begin).take(80).collect::<String>().trim().to_owned()
}

fn limits(clause: Option<&LimitClause>) -> Parsed<(Option<usize>, usize)> {
    let number = |expr: &Expr| match expr {
        Expr::Value(value) => match &value.value {
            Literal::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    };
    let read = |expr: &Expr| match number(expr) {
        Some(number) => Ok(number),
        None => unsupported(format!("`{expr}` as LIMIT or OFFSET")),
    };
    match clause {
        None => Ok((None, 0)),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
            if !limit_by.is_empty() {
                return unsupported("LIMIT … BY");
            }
            let limit = limit.as_ref().map(read).transpose()?;
            let offset = offset.as_ref().map(|offset| read(&offset.value)).transpose()?;
            Ok((limit, offset.unwrap_or_default()))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
            Ok((Some(read(limit)?), read(offset)?))
        }
    }
}

/// The table whose columns are named, and its names.
struct Scope {
    table: Table,
    alias: Option<String>,
}

impl Scope {
    fn of(select: &Select) -> Parsed<Self> {
        let [from] = select.from.as_slice() else {
            return unsupported(match select.from.len() {
                0 => "a query without a table",
                _ => "more than one table",
            });
        };
        if !from.joins.is_empty() {
            return unsupported("JOIN");
        }
        let TableFactor::Table { name, alias, .. } = &from.relation else {
            return unsupported(format!("`{}` as a table", from.relation));
        };
        let bare = ObjectName(name.0.clone());
        let mut rest = from.relation.clone();
        if let TableFactor::Table { alias, .. } = &mut rest {
            *alias = None;
        }
        if rest.to_string() != bare.to_string() {
            return unsupported(format!("`{}` as a table", from.relation));
        }
        let alias = match alias {
            Some(alias) if alias.name.to_string() == alias.to_string().replacen("AS ", "", 1) => {
                Some(named(&alias.name))
            }
            Some(alias) => return unsupported(format!("`{alias}` as a name of a table")),
            None => None,
        };
        let named = name.0.last().and_then(|part| part.as_ident()).map(named).unwrap_or_default();
        let table = Table::named(&named).filter(|_| name.0.len() == 1);
        let table = table.ok_or_else(|| Refused::Table(name.to_string()))?;
        Ok(Self { table, alias })
    }

    fn column(&self, name: &str) -> Parsed<&'static Column> {
        let columns = self.table.columns();
        columns.iter().find(|column| column.name == name).ok_or_else(|| Refused::Column {
            table: self.table.name(),
            column: name.to_owned(),
            known: columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// The column that an expression names; none: it is something else.
    fn named(&self, expr: &Expr) -> Parsed<Option<&'static Column>> {
        match expr {
            Expr::Identifier(name) => self.column(&named(name)).map(Some),
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [table, name] if self.is_called(table) => self.column(&named(name)).map(Some),
                _ => Err(Refused::Column {
                    table: self.table.name(),
                    column: expr.to_string(),
                    known: "none of another table".to_owned(),
                }),
            },
            Expr::Nested(inner) => self.named(inner),
            _ => Ok(None),
        }
    }

    fn is_called(&self, name: &Ident) -> bool {
        let name = named(name);
        self.alias.as_ref().map_or(self.table.name() == name, |alias| *alias == name)
    }

    /// The column that an expression has to be.
    fn the_column(&self, expr: &Expr) -> Parsed<&'static Column> {
        match self.named(expr)? {
            Some(column) => Ok(column),
            None => unsupported(format!("`{expr}` in place of a column")),
        }
    }

    fn outputs(&self, item: &SelectItem, outputs: &mut Vec<Output>) -> Parsed<()> {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let source = self.source(expr)?;
                let name = match &source {
                    Source::Column(column) => (*column).to_owned(),
                    _ => expr.to_string().to_ascii_lowercase(),
                };
                outputs.push(Output { name, source });
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                outputs.push(Output { name: named(alias), source: self.source(expr)? });
            }
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                let text = item.to_string();
                let is_ours = text == "*"
                    || text.strip_suffix(".*").is_some_and(|name| self.is_called(&name.into()));
                if !is_ours {
                    return unsupported(format!("`{text}`"));
                }
                outputs.extend(self.table.columns().iter().map(|column| Output {
                    name: column.name.to_owned(),
                    source: Source::Column(column.name),
                }));
            }
            SelectItem::ExprWithAliases { .. } => return unsupported(format!("`{item}`")),
        }
        Ok(())
    }

    fn source(&self, expr: &Expr) -> Parsed<Source> {
        match (self.named(expr)?, expr) {
            (Some(column), _) => Ok(Source::Column(column.name)),
            (None, Expr::Function(function)) => self.function(function),
            (None, other) => unsupported(format!("`{other}`")),
        }
    }

    fn function(&self, function: &Function) -> Parsed<Source> {
        let name = function.name.to_string().to_ascii_uppercase();
        let FunctionArguments::List(list) = &function.args else {
            return unsupported(format!("`{function}`"));
        };
        let [argument] = list.args.as_slice() else {
            return unsupported(format!("`{function}`"));
        };
        if function.to_string() != format!("{}({argument})", function.name) {
            return unsupported(format!("`{function}`"));
        }
        let argument = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => None,
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => match expr {
                Expr::Value(value) if matches!(value.value, Literal::Number(..)) => None,
                expr => Some(self.the_column(expr)?.name),
            },
            _ => return unsupported(format!("`{function}`")),
        };
        match (name.as_str(), argument) {
            ("COUNT", column) => Ok(Source::Count(column)),
            ("MIN", Some(column)) => Ok(Source::Least(column)),
            ("MAX", Some(column)) => Ok(Source::Greatest(column)),
            _ => unsupported(format!("`{function}`")),
        }
    }

    fn groups(&self, group_by: &GroupByExpr) -> Parsed<Vec<&'static str>> {
        match group_by {
            GroupByExpr::Expressions(by, modifiers) if modifiers.is_empty() => {
                by.iter().map(|expr| self.the_column(expr).map(|column| column.name)).collect()
            }
            other => unsupported(format!("`{other}`")),
        }
    }

    /// What is ordered by: something that is selected under this name, or a column.
    fn ordered(&self, expr: &Expr, outputs: &[Output]) -> Parsed<Source> {
        if let Expr::Identifier(name) = expr {
            let name = named(name);
            if let Some(output) = outputs.iter().find(|output| output.name == name) {
                return Ok(output.source.clone());
            }
        }
        self.source(expr)
    }

    fn condition(&self, expr: &Expr) -> Parsed<Condition> {
        match expr {
            Expr::Nested(inner) => self.condition(inner),
            Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
                let parts: Vec<Condition> = chain(expr, op)
                    .into_iter()
                    .map(|part| self.condition(part))
                    .collect::<Parsed<_>>()?;
                Ok(match op {
                    BinaryOperator::And => Condition::All(parts),
                    _ => Condition::Any(parts),
                })
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                Ok(Condition::Not(Box::new(self.condition(expr)?)))
            }
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right),
            Expr::In { expr, target: InTarget::List(list), negated, global: false } => {
                let column = self.the_column(expr)?;
                let values: Parsed<_> = list.iter().map(|value| value_of(column, value)).collect();
                Ok(negate(Condition::In(column.name, values?), *negated))
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                let column = self.the_column(expr)?;
                let pattern = match literal(pattern) {
                    Some(Value::Text(pattern)) if column.kind == Kind::Text => pattern,
                    _ => {
                        return unsupported(format!(
                            "`{column} LIKE {pattern}`",
                            column = column.name
                        ));
                    }
                };
                Ok(negate(Condition::Like(column.name, pattern), *negated))
            }
            Expr::IsNull(expr) => Ok(Condition::IsNull(self.the_column(expr)?.name)),
            Expr::IsNotNull(expr) => {
                Ok(negate(Condition::IsNull(self.the_column(expr)?.name), true))
            }
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                let column = self.the_column(expr)?;
                let yes = Value::Bool(true).coerced(column.kind);
                let yes = yes.ok_or_else(|| mismatch(column, "TRUE"))?;
                Ok(Condition::Compares(column.name, Operator::Equal, yes))
            }
            other => unsupported(format!("`{other}` in WHERE")),
        }
    }

    fn comparison(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Parsed<Condition> {
        let operator = match op {
            BinaryOperator::Eq => Operator::Equal,
            BinaryOperator::NotEq => Operator::NotEqual,
            BinaryOperator::Lt => Operator::Less,
            BinaryOperator::LtEq => Operator::AtMost,
            BinaryOperator::Gt => Operator::Greater,
            BinaryOperator::GtEq => Operator::AtLeast,
            other => return unsupported(format!("the operator `{other}`")),
        };
        let (column, operator, value) = match (literal(left), literal(right)) {
            (None, Some(_)) => (self.the_column(left)?, operator, right),
            (Some(_), None) => (self.the_column(right)?, operator.turned(), left),
            _ => {
                return unsupported(format!(
                    "`{left} {op} {right}`: a column is compared with a value; that"
                ));
            }
        };
        Ok(Condition::Compares(column.name, operator, value_of(column, value)?))
    }
}

/// The parts of a chain of one operator. A chain leans to the left, and may be long.
fn chain<'a>(mut expr: &'a Expr, of: &BinaryOperator) -> Vec<&'a Expr> {
    let mut parts = Vec::new();
    while let Expr::BinaryOp { left, op, right } = expr
        && op == of
    {
        parts.push(right.as_ref());
        expr = left;
    }
    parts.push(expr);
    parts.reverse();
    parts
}

fn negate(condition: Condition, negated: bool) -> Condition {
    match negated {
        true => Condition::Not(Box::new(condition)),
        false => condition,
    }
}

fn value_of(column: &'static Column, expr: &Expr) -> Parsed<Value> {
    let Some(value) = literal(expr) else {
        return unsupported(format!("`{expr}` in place of a value"));
    };
    value.coerced(column.kind).ok_or_else(|| mismatch(column, &expr.to_string()))
}

fn mismatch(column: &'static Column, with: &str) -> Refused {
    Refused::Kind { column: column.name, with: with.to_owned(), is: column.kind.said() }
}

fn literal(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Nested(inner) => literal(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match literal(expr)? {
            Value::Number(number) => number.checked_neg().map(Value::Number),
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Literal::Number(text, _) => text.parse().ok().map(Value::Number),
            Literal::SingleQuotedString(text) => Some(Value::Text(text.clone())),
            Literal::Boolean(value) => Some(Value::Bool(*value)),
            Literal::Null => Some(Value::Null),
            _ => None,
        },
        _ => None,
    }
}

/// A name as it is known: without quotes, case does not count.
fn named(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}
