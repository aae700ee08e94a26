//! The tables whose rows belong to shards, and how those of a shard are found and compared.

use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _};

/// Columns of a table in their order.
pub(super) const COLUMNS: &str = "
    SELECT attname::text FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attidentity = '' ORDER BY attnum";

/// How the rows of a table are found that belong to a shard.
#[derive(Clone, Copy)]
pub(super) enum RowOwner {
    /// By the number of a promise in this column.
    Number(&'static str),
    /// By the id of a promise or a stream in this column.
    Id(&'static str),
    /// By the object in this column.
    Object(&'static str),
    /// By the name in this expression.
    Name(&'static str),
    /// By the owner of a value.
    Value,
}

impl RowOwner {
    /// The condition for rows of a shard; `numbers` are those of its promises.
    pub(super) fn owns(self, shard: i32, numbers: &str) -> String {
        match self {
            Self::Number(column) => format!("{column} = ANY({numbers})"),
            Self::Id(column) => format!("shard_of({column}) = {shard}"),
            Self::Object(column) => format!("shard_of_object({column}) = {shard}"),
            Self::Name(column) => format!("shard_of_name({column}) = {shard}"),
            Self::Value => format!(
                "owner IN (SELECT letter || n FROM unnest({numbers}) AS n, unnest('{{p,j}}'::text[]) AS letter
                            UNION ALL
                           SELECT 's' || octet_length(object) || ':' || object || name FROM object_state
                            WHERE shard_of_object(object) = {shard})"
            ),
        }
    }
}

/// All tables whose rows belong to shards, each behind those that it refers to. Rows are removed in
/// the opposite order: facts of sagas and graphs may be removed only after the task that has them.
/// Callbacks are moved by themselves.
pub(super) const TABLES: [(&str, RowOwner); 23] = [
    ("promises", RowOwner::Number("n")),
    ("listeners", RowOwner::Number("awaited")),
    ("outbox", RowOwner::Number("source")),
    ("journal", RowOwner::Number("inv")),
    ("logs", RowOwner::Number("inv")),
    ("signal_keys", RowOwner::Number("inv")),
    ("compensations", RowOwner::Number("inv")),
    ("graph_facts", RowOwner::Number("run")),
    ("graph_nodes", RowOwner::Number("run")),
    ("places", RowOwner::Number("inv")),
    ("streams", RowOwner::Id("id")),
    ("stream_chunks", RowOwner::Id("stream")),
    ("tree_counts", RowOwner::Id("root")),
    ("budgets", RowOwner::Id("account")),
    ("lines", RowOwner::Object("object")),
    ("object_state", RowOwner::Object("object")),
    ("schedules", RowOwner::Name("id")),
    ("resources", RowOwner::Name("name")),
    ("resource_leases", RowOwner::Name("name")),
    ("limits", RowOwner::Name("name")),
    ("partitions", RowOwner::Name("limit_name")),
    ("tasks", RowOwner::Number("n")),
    ("callbacks", RowOwner::Number("awaited")),
];

/// The number of some rows, and a sum over the digests of their texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TableDigest {
    pub(super) rows: u64,
    sum: String,
}

pub(super) async fn digest(
    connection: &mut PgConnection,
    table: &str,
    columns: &str,
    owns: &str,
) -> Result<TableDigest, sqlx::Error> {
    let text = format!(
        "SELECT count(*), coalesce(sum(('x' || left(md5(row_of::text), 15))::bit(60)::bigint::numeric), 0)::text \
           FROM (SELECT ROW({columns}) AS row_of FROM {table} WHERE {owns}) AS rows"
    );
    let row = connection.fetch_one(AssertSqlSafe(text)).await?;
    let rows = row.try_get::<i64, _>(0)?.cast_unsigned();
    Ok(TableDigest { rows, sum: row.try_get(1)? })
}

/// Numbers as a list in SQL.
pub(super) fn list(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("'{{{}}}'::bigint[]", numbers.join(","))
}
