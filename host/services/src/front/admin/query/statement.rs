//! The text of a query, as the database is asked it.

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

use super::{dialect::Dialect, expression::is_bool, names, tables::Table};

/// The most words and signs of a query, lists of values left out: what is nested is read by functions that call
/// themselves.
const TOKENS: usize = 1_500;
/// The stack on which they do.
const STACK: usize = 64 << 20;

/// Why a query is not asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is no SQL.
    #[error("the query cannot be read: {0}")]
    Syntax(String),
    /// It is longer than queries are read.
    #[error("the query has more than {TOKENS} words and signs")]
    TooLong,
    /// It says something that is not answered here.
    #[error("{0} is not answered here: docs/restate.md says what is")]
    Unsupported(String),
    /// It does something else than asking.
    #[error("{0} is not answered here: a query is one SELECT, which may begin with WITH")]
    NoQuestion(String),
    /// There is no such table.
    #[error("there is no table `{0}`; there are {known}", known = Table::names())]
    Table(String),
    /// An instant cannot be read.
    #[error("{0} is no instant, like '2026-01-31T12:00:00Z'")]
    Instant(String),
    /// A length of time cannot be read.
    #[error("{0} is no length of time, like INTERVAL '5 minutes'")]
    Length(String),
}

impl Refused {
    /// A statement is none that asks for something.
    pub fn not_a_question(statement: &Parsed) -> Self {
        let text = statement.to_string();
        Self::NoQuestion(text.split_whitespace().next().unwrap_or("this").to_owned())
    }
}

/// A query, as the database is asked it.
#[derive(Debug)]
pub struct Statement {
    /// What is asked.
    pub sql: String,
    /// The texts in it: the first is `?1`.
    pub texts: Vec<String>,
    /// The tables that it names.
    pub tables: Vec<Table>,
    /// Names of results that are yes or no.
    pub bools: BTreeSet<String>,
}

impl Statement {
    /// Reads a query that is asked now, in a thread with a stack that is large enough for the longest one.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn read(sql: &str, now: Timestamp) -> Result<Self, Refused> {
        std::thread::scope(|scope| {
            let reader = std::thread::Builder::new().stack_size(STACK);
            let reading = reader.spawn_scoped(scope, || Self::read_here(sql, now));
            let reading = reading.map_err(|error| Refused::Syntax(error.to_string()))?;
            reading.join().map_err(|_| Refused::Syntax("its reader failed".to_owned()))?
        })
    }

    fn read_here(sql: &str, now: Timestamp) -> Result<Self, Refused> {
        let mut query = query(sql)?;
        let mut namer = Namer::default();
        let _ = query.visit(&mut namer);
        name_outputs(&mut query.body);
        let tables = names::check(&mut query)?;
        let mut dialect = Dialect::new(now);
        rewrite(query.as_mut(), &mut dialect)?;
        Ok(Self { sql: query.to_string(), texts: dialect.texts, tables, bools: namer.bools })
    }
}

fn rewrite(part: &mut impl sqlparser::ast::VisitMut, dialect: &mut Dialect) -> Result<(), Refused> {
    match part.visit(dialect) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refused) => Err(refused),
    }
}

/// The one statement of a text, if it asks for something.
fn query(sql: &str) -> Result<Box<Query>, Refused> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql)
        .tokenize()
        .map_err(|error| Refused::Syntax(error.to_string()))?;
    let counts = |token: &&Token| {
        !matches!(
            token,
            Token::Whitespace(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_)
        )
    };
    if tokens.iter().filter(counts).count() > TOKENS {
        return Err(Refused::TooLong);
    }
    let statements = Parser::parse_sql(&GenericDialect {}, sql)
        .map_err(|error| Refused::Syntax(error.to_string()))?;
    match <[Parsed; 1]>::try_from(statements) {
        Ok([Parsed::Query(query)]) => Ok(query),
        Ok([other]) => Err(Refused::not_a_question(&other)),
        Err(several) if several.is_empty() => Err(Refused::Syntax("it is empty".to_owned())),
        Err(_) => Err(Refused::NoQuestion("more than one statement".to_owned())),
    }
}

/// Collects the names under which yes or no is answered.
#[derive(Default)]
struct Namer {
    bools: BTreeSet<String>,
}

impl VisitorMut for Namer {
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

/// Gives what is answered the names that tools expect, whatever is rewritten afterwards.
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

/// What is answered of an expression without a name.
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
