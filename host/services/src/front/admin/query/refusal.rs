//! Refusals of queries.

use sqlparser::ast::Statement;

use super::table::QueryTable;

/// Maximum number of tokens in a query, excluding lists of values: nested expressions are handled
/// recursively.
pub(super) const TOKENS: usize = 1_500;

/// The reason why a query is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum QueryRefusal {
    /// The text is not valid SQL.
    #[error("the query cannot be read: {0}")]
    Syntax(String),
    /// The query is too long.
    #[error("the query has more than {TOKENS} words and signs")]
    TooLong,
    /// The query contains an unsupported construct.
    #[error("{0} is not answered here: the page /docs/restate.html of the host says what is")]
    Unsupported(String),
    /// The statement is not a query.
    #[error("{0} is not answered here: a query is one SELECT, which may begin with WITH")]
    NoQuestion(String),
    /// The table does not exist.
    #[error("there is no table `{0}`; there are {known}", known = QueryTable::names())]
    Table(String),
    /// A text is not an instant.
    #[error("{0} is no instant, like '2026-01-31T12:00:00Z'")]
    Instant(String),
    /// A text is not a duration.
    #[error("{0} is no length of time, like INTERVAL '5 minutes'")]
    Length(String),
}

impl QueryRefusal {
    /// Refuses a statement that is not a query.
    pub(super) fn not_a_question(statement: &Statement) -> Self {
        let text = statement.to_string();
        Self::NoQuestion(text.split_whitespace().next().unwrap_or("this").to_owned())
    }
}
