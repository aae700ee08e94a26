//! The tables that a query names, and what it says of their rows.
//!
//! Each place where a table is named is a source of its own, loaded by itself under a name of its own, because each
//! has its own condition. Sources within others come first, so that a condition with a subquery can be asked when
//! the rows of its table come.

use std::{collections::BTreeSet, ops::ControlFlow, sync::Arc};

use segno_engine::services::ids::Called;
use sqlparser::ast::{
    Expr, GroupByExpr, Ident, LimitClause, ObjectName, OrderByKind, OrderBySort, Query, Select,
    SelectItem, SetExpr, Statement, TableAlias, TableFactor, TableWithJoins, Value as Literal,
    VisitMut as _, VisitorMut,
};

use super::{
    said::{ColumnOf, Said, same},
    statement::Refused,
    tables::{Table, service_scheme},
    value::Kind,
};

/// A table where a query names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The table.
    pub table: Table,
    /// What it is called in the database.
    pub name: String,
    /// What it is called in the query.
    pub alias: String,
    said: Vec<(&'static str, Said)>,
    mentioned: Arc<Mentioned>,
}

/// Rows that are enough, whatever rows come after them. Rows come in the order of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enough<T> {
    /// This many.
    pub rows: usize,
    /// Of those for which this holds; none: of all.
    pub condition: Option<T>,
}

/// The names in a query.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mentioned {
    names: BTreeSet<String>,
    /// It asks for all columns of something.
    all: bool,
}

impl Source {
    /// Whether the value of a column is needed.
    pub fn needs(&self, column: &str) -> bool {
        self.mentioned.all || self.mentioned.names.contains(column)
    }

    /// What is said of a column.
    fn said(&self, column: &str) -> Option<&Said> {
        self.said.iter().find(|(of, _)| *of == column).map(|(_, said)| said)
    }

    /// The texts that a column may have; none: any.
    pub fn texts(&self, column: &str) -> Option<Vec<String>> {
        match self.said(column)? {
            Said::Only(texts) => Some(texts.iter().cloned().collect()),
            Said::Not(_) => None,
        }
    }

    /// Whether a column may have this text.
    pub fn may_be(&self, column: &str, text: &str) -> bool {
        match self.said(column) {
            None => true,
            Some(Said::Only(texts)) => texts.contains(text),
            Some(Said::Not(texts)) => !texts.contains(text),
        }
    }

    /// The one text that a column may have; none: several, or any.
    pub fn text(&self, column: &str) -> Option<String> {
        match self.texts(column)?.as_slice() {
            [text] => Some(text.clone()),
            _ => None,
        }
    }

    /// What the names of objects begin with that are asked for; the columns are those of the service and the key.
    pub fn object_prefix(&self, service: &str, key: &str) -> String {
        let Some(service) = self.text(service) else { return service_scheme() };
        let key = self.text(key).unwrap_or_default();
        let called = Called { service: &service, key: Some(&key), handler: "" };
        called.object().map_or_else(service_scheme, |object| object.to_string())
    }
}

/// A source, and how many of its first rows are enough; none: all are needed.
pub type Found = (Source, Option<Enough<Expr>>);

/// Finds the sources of a query, and gives each its own name there.
///
/// # Errors
/// It names a table that is not there, or something else in place of one.
pub fn sources(query: &mut Query) -> Result<Vec<Found>, Refused> {
    let mut names = Names::default();
    let _ = query.visit(&mut names);
    let mut finder =
        Finder { given: names.given, mentioned: Arc::new(names.mentioned), sources: Vec::new() };
    match query.visit(&mut finder) {
        ControlFlow::Continue(()) => Ok(finder.sources),
        ControlFlow::Break(refused) => Err(refused),
    }
}

/// Collects the names in a query.
#[derive(Default)]
struct Names {
    mentioned: Mentioned,
    /// The names that it gives to tables of its own (`WITH`).
    given: BTreeSet<String>,
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_ident(&mut self, name: &mut Ident) -> ControlFlow<()> {
        self.mentioned.names.insert(name.value.to_ascii_lowercase());
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let given = query.with.iter().flat_map(|with| &with.cte_tables);
        self.given.extend(given.map(|table| table.alias.name.value.to_ascii_lowercase()));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.mentioned.all |= select.projection.iter().any(|item| {
            matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
        });
        ControlFlow::Continue(())
    }
}

/// Finds sources, inner ones first.
struct Finder {
    given: BTreeSet<String>,
    mentioned: Arc<Mentioned>,
    sources: Vec<Found>,
}

impl VisitorMut for Finder {
    type Break = Refused;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Refused> {
        ControlFlow::Break(Refused::not_a_question(statement))
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Refused> {
        let before = self.sources.len();
        if let Err(refused) = self.set(&mut query.body) {
            return ControlFlow::Break(refused);
        }
        if let [(source, few)] = &mut self.sources[before..] {
            *few = enough(query, source);
        }
        ControlFlow::Continue(())
    }
}

impl Finder {
    fn set(&mut self, body: &mut SetExpr) -> Result<(), Refused> {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::SetOperation { left, right, .. } => {
                self.set(left)?;
                self.set(right)
            }
            // Visited by itself, or without a table.
            SetExpr::Query(_) | SetExpr::Values(_) => Ok(()),
            other => Err(Refused::Unsupported(format!("`{other}`"))),
        }
    }

    fn select(&mut self, select: &mut Select) -> Result<(), Refused> {
        let Select { from, selection, .. } = select;
        from.iter_mut().try_for_each(|from| self.joined(from, selection.as_ref()))
    }

    fn joined(&mut self, from: &mut TableWithJoins, only: Option<&Expr>) -> Result<(), Refused> {
        self.factor(&mut from.relation, only)?;
        from.joins.iter_mut().try_for_each(|join| self.factor(&mut join.relation, only))
    }

    fn factor(&mut self, factor: &mut TableFactor, only: Option<&Expr>) -> Result<(), Refused> {
        match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => self.joined(table_with_joins, only),
            TableFactor::Derived { subquery, alias, .. } => {
                // Elsewhere the columns of the table within go by its name outside as well.
                if alias.is_none() {
                    *alias = name_within(subquery).map(named);
                }
                Ok(())
            }
            TableFactor::Table { .. } => self.table(factor, only),
            other => Err(Refused::Unsupported(format!("`{other}` in place of a table"))),
        }
    }

    fn table(&mut self, factor: &mut TableFactor, only: Option<&Expr>) -> Result<(), Refused> {
        let whole = factor.to_string();
        let TableFactor::Table { name, alias, args, .. } = factor else { return Ok(()) };
        if args.is_some() {
            return Err(Refused::Unsupported(format!("`{whole}` in place of a table")));
        }
        let parts: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        let known = parts.iter().map(|part| part.value.to_ascii_lowercase()).collect::<Vec<_>>();
        if known.len() == 1 && self.given.contains(&known[0]) {
            return Ok(());
        }
        let table = Table::named(&known.join("."));
        let table = table.ok_or_else(|| Refused::Table(name.to_string()))?;
        let called = match alias {
            Some(alias) => alias.name.clone(),
            None => parts.last().map_or_else(|| Ident::new(table.name()), |name| (*name).clone()),
        };
        let columns = table.columns().iter().filter(|column| column.kind == Kind::Text);
        let said = columns.filter_map(|column| {
            let of = ColumnOf { table: &called.value, column: column.name };
            Some((column.name, of.said_by(only?)?))
        });
        let source = Source {
            table,
            name: format!("source_{}", self.sources.len()),
            alias: called.value.clone(),
            said: said.collect(),
            mentioned: Arc::clone(&self.mentioned),
        };
        *name = ObjectName::from(vec![Ident::new(&source.name)]);
        *alias = Some(alias.take().unwrap_or_else(|| named(called)));
        self.sources.push((source, None));
        Ok(())
    }
}

fn named(name: Ident) -> TableAlias {
    TableAlias { explicit: true, name, columns: Vec::new(), at: None }
}

/// What the only table of a query is called.
fn name_within(query: &Query) -> Option<Ident> {
    let SetExpr::Select(select) = &*query.body else { return None };
    match select.from.as_slice() {
        [from] if from.joins.is_empty() => match &from.relation {
            TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => {
                alias.as_ref().map(|alias| alias.name.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

/// How many rows of its only source are enough for a query.
fn enough(query: &Query, source: &Source) -> Option<Enough<Expr>> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let [from] = select.from.as_slice() else { return None };
    let is_alone = matches!(&from.relation, TableFactor::Table { .. }) && from.joins.is_empty();
    let is_plain = is_alone
        && select.distinct.is_none()
        && matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
        && select.having.is_none()
        && select.qualify.is_none()
        && !select.projection.iter().any(gathers);
    let renames = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => {
            source.table.newest_first().is_some_and(|newest| same(alias, newest))
        }
        _ => false,
    };
    if !is_plain || select.projection.iter().any(renames) || !in_order(query, source) {
        return None;
    }
    let (limit, offset) = match query.limit_clause.as_ref()? {
        LimitClause::LimitOffset { limit, offset, limit_by } if limit_by.is_empty() => {
            let offset = offset.as_ref().map_or(Some(0), |offset| count(&offset.value))?;
            (count(limit.as_ref()?)?, offset)
        }
        LimitClause::OffsetCommaLimit { offset, limit } => (count(limit)?, count(offset)?),
        LimitClause::LimitOffset { .. } => return None,
    };
    Some(Enough { rows: limit.saturating_add(offset), condition: select.selection.clone() })
}

/// Whether the first rows of a source are the first ones of an answer.
fn in_order(query: &Query, source: &Source) -> bool {
    let Some(order) = &query.order_by else { return true };
    let OrderByKind::Expressions(by) = &order.kind else { return false };
    match (by.first(), source.table.newest_first()) {
        (Some(first), Some(newest)) => {
            let name = match &first.expr {
                Expr::Identifier(name) => name,
                Expr::CompoundIdentifier(names) if names.len() == 2 => &names[1],
                _ => return false,
            };
            same(name, newest) && first.options.sort == Some(OrderBySort::Desc)
        }
        _ => false,
    }
}

/// Whether something may be made of several rows: every function is taken for one that may.
fn gathers(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            let found = sqlparser::ast::visit_expressions(expr, |expr| match expr {
                Expr::Function(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            found.is_break()
        }
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => false,
        SelectItem::ExprWithAliases { .. } => true,
    }
}

fn count(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Literal::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
