//! The tables in a query.

use std::{collections::BTreeSet, ops::ControlFlow};

use sqlparser::ast::{
    Ident, Query, SetExpr, Statement, TableAlias, TableFactor, VisitMut as _, VisitorMut,
};

use super::{refusal::QueryRefusal, table::QueryTable};

/// Returns the tables in a query, with repetitions. Adds aliases to tables of subqueries, under
/// which outer queries refer to their columns.
///
/// # Errors
/// The query names an unknown table, or has an unsupported table expression.
pub(super) fn check(query: &mut Query) -> Result<Vec<QueryTable>, QueryRefusal> {
    let mut given = CommonTableNames::default();
    // The visitor only collects, and never breaks.
    let _ = query.visit(&mut given);
    let mut names = TableNames { given: given.0, tables: Vec::new() };
    match query.visit(&mut names) {
        ControlFlow::Continue(()) => Ok(names.tables),
        ControlFlow::Break(refused) => Err(refused),
    }
}

/// Collects the names of the query's common table expressions (`WITH`).
#[derive(Default)]
struct CommonTableNames(BTreeSet<String>);

impl VisitorMut for CommonTableNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let given = query.with.iter().flat_map(|with| &with.cte_tables);
        self.0.extend(given.map(|table| table.alias.name.value.to_ascii_lowercase()));
        ControlFlow::Continue(())
    }
}

struct TableNames {
    given: BTreeSet<String>,
    tables: Vec<QueryTable>,
}

impl VisitorMut for TableNames {
    type Break = QueryRefusal;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<QueryRefusal> {
        ControlFlow::Break(QueryRefusal::not_a_question(statement))
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<QueryRefusal> {
        match self.factor(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(refused) => ControlFlow::Break(refused),
        }
    }
}

impl TableNames {
    fn factor(&mut self, factor: &mut TableFactor) -> Result<(), QueryRefusal> {
        let whole = factor.to_string();
        match factor {
            TableFactor::NestedJoin { .. } => Ok(()),
            TableFactor::Derived { subquery, alias, .. } => {
                if alias.is_none() {
                    *alias = name_within(subquery).map(named);
                }
                Ok(())
            }
            TableFactor::Table { name, args: None, .. } => {
                let parts: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).collect();
                let known = parts.iter().map(|part| part.value.to_ascii_lowercase());
                let known = known.collect::<Vec<_>>().join(".");
                if !self.given.contains(&known) {
                    let table = QueryTable::named(&known);
                    self.tables.push(table.ok_or_else(|| QueryRefusal::Table(name.to_string()))?);
                }
                Ok(())
            }
            _ => Err(QueryRefusal::Unsupported(format!("`{whole}` in place of a table"))),
        }
    }
}

fn named(name: Ident) -> TableAlias {
    TableAlias { explicit: true, name, columns: Vec::new(), at: None }
}

/// Returns the name of a query's only table; `None` if it has several.
fn name_within(query: &Query) -> Option<Ident> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let [from] = select.from.as_slice() else { return None };
    if !from.joins.is_empty() {
        return None;
    }
    match &from.relation {
        TableFactor::Table { name, alias, .. } => match alias {
            Some(alias) => Some(alias.name.clone()),
            None => name.0.last().and_then(|part| part.as_ident()).cloned(),
        },
        TableFactor::Derived { alias, .. } => alias.as_ref().map(|alias| alias.name.clone()),
        _ => None,
    }
}
