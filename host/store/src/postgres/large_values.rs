//! Writes the chunks of large values, and removes those that nothing uses any more.
//!
//! A transaction that uses a chunk locks its row, so that no other one removes it meanwhile. A
//! chunk that lost a use is looked at after the commit, in a transaction of its own, which locks
//! its row exclusively: a use that another transaction has added is then visible, or that one waits
//! and stores the chunk again. Rows are locked in the order of their digests. If a host dies before
//! that transaction, a sweep finds the chunk.

use std::{borrow::Cow, collections::BTreeSet};

use segno_core::id::Digest;
use sqlx::{Executor as _, PgConnection, Row as _, postgres::PgRow};

use super::{
    config::SessionSettings,
    failure::FailedStatement,
    fields::escape,
    statement::query,
    statement_builder::{StatementBuilder, StatementPart},
    transaction::SessionTransaction,
};
use crate::{
    order,
    sql::{
        ColumnKind::{Blob, Int, Text},
        SqlCell,
        large_value::{ValueOwner, ValueRows, chunk_cells, of_object_prefix},
    },
};

const LOCK_STORED: &str =
    "SELECT digest FROM value_chunks WHERE digest = ANY($1::bytea[]) ORDER BY digest FOR KEY SHARE";

const LOCK_RELEASED: &str =
    "SELECT digest FROM value_chunks WHERE digest = ANY($1::bytea[]) ORDER BY digest FOR UPDATE";

const RELEASE: &str = "DELETE FROM value_uses WHERE owner = ANY($1::text[]) RETURNING digest";

const RELEASE_BETWEEN: &str =
    "DELETE FROM value_uses WHERE owner >= $1 AND owner < $2 RETURNING digest";

const DROP_UNUSED: &str = "
    DELETE FROM value_chunks
     WHERE digest = ANY($1::bytea[])
       AND NOT EXISTS (SELECT FROM value_uses WHERE value_uses.digest = value_chunks.digest)";

/// Examines a page. The foreign key keeps a chunk that another transaction uses at this moment.
const SWEEP: &str = "
    DELETE FROM value_chunks
     WHERE digest IN (
           SELECT digest FROM (SELECT digest FROM value_chunks WHERE digest >= $1
                                ORDER BY digest LIMIT 10000) AS page
            WHERE NOT EXISTS (SELECT FROM value_uses WHERE value_uses.digest = page.digest))";

/// Another transaction may have stored the same chunk meanwhile; the update locks its row.
const PUT_CHUNKS: StatementPart = StatementPart {
    columns: &[Blob, Int, Blob],
    before: Cow::Borrowed("INSERT INTO value_chunks (digest, bytes, data) SELECT * FROM"),
    after: Cow::Borrowed("ON CONFLICT (digest) DO UPDATE SET bytes = excluded.bytes"),
};

pub(super) const PUT_USES: StatementPart = StatementPart {
    columns: &[Text, Blob],
    before: Cow::Borrowed("INSERT INTO value_uses (owner, digest) SELECT * FROM"),
    after: Cow::Borrowed("ON CONFLICT DO NOTHING"),
};

/// Stores the chunks that are not stored yet, and locks the others. Returns the number of
/// statements.
pub(super) async fn put(
    connection: &mut PgConnection,
    values: &ValueRows,
) -> Result<usize, FailedStatement> {
    if values.chunks.is_empty() {
        return Ok(0);
    }
    let digests: Vec<_> = values.chunks.keys().map(|digest| digest.0.to_vec()).collect();
    let name = "look for chunks of values";
    let query = query(connection, LOCK_STORED).bind(digests);
    let stored = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
    let stored: BTreeSet<Vec<u8>> = digests_of(&stored, name)?.into_iter().collect();
    let new = values.chunks.iter().filter(|(digest, _)| !stored.contains(&digest.0[..]));
    let new: Vec<_> = new.map(|(digest, content)| chunk_cells(digest, content)).collect();
    if new.is_empty() {
        return Ok(1);
    }
    let mut insert = StatementBuilder::default();
    insert.push(&PUT_CHUNKS, new);
    insert.run(connection, "put chunks of values").await?;
    Ok(2)
}

/// Deletes the uses that `values` releases. Returns the digests, and the number of statements.
pub(super) async fn release(
    connection: &mut PgConnection,
    values: &ValueRows,
) -> Result<(Vec<Vec<u8>>, usize), FailedStatement> {
    let name = "release chunks of values";
    let (mut released, mut statements) = (Vec::new(), 0);
    if !values.released.is_empty() {
        let owners = values.released.iter().map(|[owner]| owner);
        released = release_owners(connection, owners).await?;
        statements += 1;
    }
    for object in &values.released_objects {
        let first = escape(&of_object_prefix(object)).into_owned();
        let query = query(connection, RELEASE_BETWEEN);
        let query = query.bind(first.clone()).bind(order::end_of_prefix(&first));
        let found = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        released.extend(digests_of(&found, name)?);
        statements += 1;
    }
    Ok((released, statements))
}

/// Deletes the uses of the values of these promises, by number. Returns the digests.
pub(super) async fn remove(
    connection: &mut PgConnection,
    numbers: &[i64],
) -> Result<Vec<Vec<u8>>, FailedStatement> {
    let owners = |n: &i64| [ValueOwner::Promise(*n), ValueOwner::Journal(*n)];
    let owners: Vec<SqlCell> = numbers.iter().flat_map(owners).map(SqlCell::from).collect();
    release_owners(connection, &owners).await
}

/// Deletes those of these chunks that nothing uses, in a transaction of its own.
pub(super) async fn drop_unused(
    connection: &mut PgConnection,
    settings: &SessionSettings,
    mut released: Vec<Vec<u8>>,
) -> Result<(), FailedStatement> {
    released.sort_unstable();
    released.dedup();
    let begun = SessionTransaction::begin(connection, settings).await;
    let mut transaction = begun.map_err(FailedStatement::of("BEGIN"))?;
    // Two statements: the second one sees what was committed while the first one waited.
    for (name, text) in
        [("lock released chunks", LOCK_RELEASED), ("delete unused chunks", DROP_UNUSED)]
    {
        let query = query(&transaction, text).bind(&released);
        transaction.execute(query).await.map_err(FailedStatement::of(name))?;
    }
    transaction.commit().await.map_err(FailedStatement::of("COMMIT"))
}

/// Deletes unused chunks among those that follow `digest`: what a host that died had to delete.
pub(super) async fn sweep(
    connection: &mut PgConnection,
    digest: Digest,
) -> Result<(), FailedStatement> {
    let query = query(connection, SWEEP).bind(digest.0.to_vec());
    connection.execute(query).await.map(drop).map_err(FailedStatement::of("sweep chunks"))
}

async fn release_owners<'a>(
    connection: &mut PgConnection,
    owners: impl IntoIterator<Item = &'a SqlCell>,
) -> Result<Vec<Vec<u8>>, FailedStatement> {
    let name = "release chunks of values";
    let owner = |cell: &SqlCell| match cell {
        SqlCell::Text(owner) => Some(escape(owner).into_owned()),
        SqlCell::Null | SqlCell::Int(_) | SqlCell::Blob(_) => None,
    };
    let owners: Vec<String> = owners.into_iter().filter_map(owner).collect();
    let query = query(connection, RELEASE).bind(owners);
    let found = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
    digests_of(&found, name)
}

fn digests_of(found: &[PgRow], name: &'static str) -> Result<Vec<Vec<u8>>, FailedStatement> {
    let digests = found.iter().map(|row| row.try_get(0));
    digests.collect::<Result<_, sqlx::Error>>().map_err(FailedStatement::of(name))
}

/// The statements with a search condition, for the tests of query plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 6] =
    [LOCK_STORED, LOCK_RELEASED, RELEASE, RELEASE_BETWEEN, DROP_UNUSED, SWEEP];
