//! Translation of a query for the database.

use std::{collections::BTreeSet, ops::ControlFlow};

use segno_core::time::Timestamp;
use sqlparser::{
    ast::{
        Expr, Ident, Query, Select, SelectItem, SetExpr, Statement as Parsed, VisitMut as _,
        VisitorMut,
    },
    dialect::GenericDialect,
    parser::Parser,
    tokenizer::{Token, Tokenizer},
};

use super::{
    dialect::QueryRewriter,
    expression::is_bool,
    names,
    refusal::{QueryRefusal, TOKENS},
    table::QueryTable,
};

/// Stack size in bytes for the recursion over nested expressions.
const STACK: usize = 64 << 20;

/// A query, translated for the database.
#[derive(Debug)]
pub(super) struct TranslatedQuery {
    /// The translated SQL.
    pub sql: String,
    /// The extracted string literals; the first one is `?1`.
    pub texts: Vec<String>,
    /// The tables in the query.
    pub tables: Vec<QueryTable>,
    /// Names of boolean result columns.
    pub bools: BTreeSet<String>,
}

impl TranslatedQuery {
    /// Translates a query executed at `now`, in a thread with a stack large enough for the longest
    /// query.
    ///
    /// # Errors
    /// [`QueryRefusal`].
    pub(super) fn read(sql: &str, now: Timestamp) -> Result<Self, QueryRefusal> {
        std::thread::scope(|scope| {
            let reader = std::thread::Builder::new().stack_size(STACK);
            let reading = reader.spawn_scoped(scope, || Self::read_here(sql, now));
            let reading = reading.map_err(|error| QueryRefusal::Syntax(error.to_string()))?;
            reading.join().map_err(|_| QueryRefusal::Syntax("its reader failed".to_owned()))?
        })
    }

    fn read_here(sql: &str, now: Timestamp) -> Result<Self, QueryRefusal> {
        let mut query = query(sql)?;
        let mut namer = BooleanColumns::default();
        let _ = query.visit(&mut namer);
        name_outputs(&mut query.body);
        let tables = names::check(&mut query)?;
        let mut dialect = QueryRewriter::new(now);
        rewrite(query.as_mut(), &mut dialect)?;
        Ok(Self { sql: query.to_string(), texts: dialect.texts, tables, bools: namer.bools })
    }
}

fn rewrite(
    part: &mut impl sqlparser::ast::VisitMut,
    dialect: &mut QueryRewriter,
) -> Result<(), QueryRefusal> {
    match part.visit(dialect) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refused) => Err(refused),
    }
}

/// Parses the only statement of a text, which must be a query.
fn query(sql: &str) -> Result<Box<Query>, QueryRefusal> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql)
        .tokenize()
        .map_err(|error| QueryRefusal::Syntax(error.to_string()))?;
    let counts = |token: &&Token| {
        !matches!(
            token,
            Token::Whitespace(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_)
        )
    };
    if tokens.iter().filter(counts).count() > TOKENS {
        return Err(QueryRefusal::TooLong);
    }
    let statements = Parser::parse_sql(&GenericDialect {}, sql)
        .map_err(|error| QueryRefusal::Syntax(error.to_string()))?;
    match <[Parsed; 1]>::try_from(statements) {
        Ok([Parsed::Query(query)]) => Ok(query),
        Ok([other]) => Err(QueryRefusal::not_a_question(&other)),
        Err(several) if several.is_empty() => Err(QueryRefusal::Syntax("it is empty".to_owned())),
        Err(_) => Err(QueryRefusal::NoQuestion("more than one statement".to_owned())),
    }
}

/// Collects the names of boolean result columns.
#[derive(Default)]
struct BooleanColumns {
    bools: BTreeSet<String>,
}

impl VisitorMut for BooleanColumns {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) if is_bool(expr) => {
                    self.bools.insert(output_name(expr));
                }
                SelectItem::ExprWithAlias { expr, alias } if is_bool(expr) => {
                    self.bools.insert(alias.value.clone());
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}

/// Gives result columns the names that tools expect, independent of later rewrites.
fn name_outputs(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                if let SelectItem::UnnamedExpr(expr) = item {
                    let alias = Ident::with_quote('`', output_name(expr));
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                }
            }
        }
        SetExpr::SetOperation { left, .. } => name_outputs(left),
        SetExpr::Query(query) => name_outputs(&mut query.body),
        _ => {}
    }
}

/// Returns the name of a result column for an expression without an alias.
fn output_name(expr: &Expr) -> String {
    let bare = |name: &Ident| match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    };
    match expr {
        Expr::Identifier(name) => bare(name),
        Expr::CompoundIdentifier(names) => names.last().map(bare).unwrap_or_default(),
        other => other.to_string().to_ascii_lowercase(),
    }
}
