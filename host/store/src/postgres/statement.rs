//! Statements with parameters.
//!
//! A session of one's own prepares each statement once. A session that a pooler lends for one
//! transaction ([`super::pooler`]) does not keep statements: there they have no name, and are
//! planned each time. Such transactions are known to the driver; those of an own session are not.

use sqlx::{
    Connection as _, PgConnection, Postgres, SqlSafeStr, postgres::PgArguments, query::Query,
};

/// A statement for `connection`.
pub(super) fn query<'q>(
    connection: &PgConnection,
    text: impl SqlSafeStr,
) -> Query<'q, Postgres, PgArguments> {
    sqlx::query(text).persistent(!connection.is_in_transaction())
}

/// A statement for `connection`, with its arguments.
pub(super) fn query_with<'q>(
    connection: &PgConnection,
    text: impl SqlSafeStr,
    arguments: PgArguments,
) -> Query<'q, Postgres, PgArguments> {
    sqlx::query_with(text, arguments).persistent(!connection.is_in_transaction())
}
