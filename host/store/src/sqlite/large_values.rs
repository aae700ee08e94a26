//! Reads and writes the chunks of large values.

use segno_core::id::{Digest, ObjectId};

use super::connection::{Connection, FailedStatement, NamedStatement};
use crate::{
    order,
    sql::{
        RowFields as _, SqlCell, digest_at,
        large_value::{ChunkSet, ValueOwner, ValueRows, chunk_cells, of_object_prefix},
    },
};

const CHUNK: &str = "SELECT digest, bytes, data FROM value_chunks WHERE digest = ?1";

const IS_STORED: &str = "SELECT EXISTS (SELECT 1 FROM value_chunks WHERE digest = ?1)";

const ANY_USE: &str = "SELECT EXISTS (SELECT 1 FROM value_uses)";

const USED_BY: &str = "SELECT digest FROM value_uses WHERE owner = ?1";

const USED_BETWEEN: &str = "SELECT digest FROM value_uses WHERE owner >= ?1 AND owner < ?2";

static PUT_CHUNKS: NamedStatement = NamedStatement {
    name: "put chunks of values",
    text: "INSERT INTO value_chunks (digest, bytes, data) VALUES (?, ?, ?)",
};

static PUT_USES: NamedStatement = NamedStatement {
    name: "put uses of chunks",
    text: "INSERT INTO value_uses (owner, digest) VALUES (?, ?) ON CONFLICT DO NOTHING",
};

static RELEASE: NamedStatement = NamedStatement {
    name: "release chunks of values",
    text: "DELETE FROM value_uses WHERE owner = ?",
};

static RELEASE_BETWEEN: NamedStatement = NamedStatement {
    name: "release chunks of an object",
    text: "DELETE FROM value_uses WHERE owner >= ? AND owner < ?",
};

static DROP_UNUSED: NamedStatement = NamedStatement {
    name: "delete unused chunks",
    text: "
        DELETE FROM value_chunks
         WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM value_uses WHERE digest = ?1)",
};

/// Reads chunks.
pub(super) fn read(
    connection: &mut Connection,
    wanted: &[Digest],
) -> Result<ChunkSet, FailedStatement> {
    let mut chunks = ChunkSet::default();
    for digest in wanted {
        connection.read("read chunks of values", CHUNK, [digest.0], |row| chunks.add(row))?;
    }
    Ok(chunks)
}

/// Writes chunks that are not stored yet, and their uses, after the released uses.
pub(super) fn write(
    connection: &mut Connection,
    values: &ValueRows,
) -> Result<(), FailedStatement> {
    let mut released = Vec::new();
    if !(values.released.is_empty() && values.released_objects.is_empty())
        && is_true(connection, ANY_USE, [])?
    {
        released = release(connection, &values.released)?;
        for object in &values.released_objects {
            released.extend(release_object(connection, object)?);
        }
    }
    for (digest, content) in &values.chunks {
        if !is_true(connection, IS_STORED, [digest.0])? {
            connection.each(&PUT_CHUNKS, &[chunk_cells(digest, content)])?;
        }
    }
    connection.each(&PUT_USES, &values.uses)?;
    connection.each(&DROP_UNUSED, &released)
}

/// Removes the values of these promises, by number.
pub(super) fn remove(connection: &mut Connection, numbers: &[i64]) -> Result<(), FailedStatement> {
    if !is_true(connection, ANY_USE, [])? {
        return Ok(());
    }
    let owners = |n: &i64| [ValueOwner::Promise(*n), ValueOwner::Journal(*n)];
    let owners: Vec<_> = numbers.iter().flat_map(owners).map(|owner| [owner.into()]).collect();
    let released = release(connection, &owners)?;
    connection.each(&DROP_UNUSED, &released)
}

/// Deletes the uses of these owners. Returns the digests.
fn release(
    connection: &mut Connection,
    owners: &[[SqlCell; 1]],
) -> Result<Vec<[SqlCell; 1]>, FailedStatement> {
    let mut released = Vec::new();
    for owner in owners {
        connection.read(RELEASE.name, USED_BY, rusqlite::params_from_iter(owner), |row| {
            released.push([digest_at(row, 0)?.0.as_slice().into()]);
            Ok(())
        })?;
    }
    connection.each(&RELEASE, owners)?;
    Ok(released)
}

/// Deletes the uses of all entries of an object. Returns the digests.
fn release_object(
    connection: &mut Connection,
    object: &ObjectId,
) -> Result<Vec<[SqlCell; 1]>, FailedStatement> {
    let first = of_object_prefix(object);
    let bounds: [SqlCell; 2] = [first.as_str().into(), order::end_of_prefix(&first).into()];
    let mut released = Vec::new();
    connection.read(
        RELEASE_BETWEEN.name,
        USED_BETWEEN,
        rusqlite::params_from_iter(&bounds),
        |row| {
            released.push([digest_at(row, 0)?.0.as_slice().into()]);
            Ok(())
        },
    )?;
    connection.each(&RELEASE_BETWEEN, &[bounds])?;
    Ok(released)
}

fn is_true(
    connection: &mut Connection,
    text: &str,
    parameters: impl rusqlite::Params,
) -> Result<bool, FailedStatement> {
    let mut found = false;
    connection.read("look for chunks of values", text, parameters, |row| {
        found = row.int(0)? == Some(1);
        Ok(())
    })?;
    Ok(found)
}

/// All statements, for tests of query plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 7] =
    [CHUNK, IS_STORED, USED_BY, USED_BETWEEN, RELEASE.text, RELEASE_BETWEEN.text, DROP_UNUSED.text];
