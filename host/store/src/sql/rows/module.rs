//! Encodes and decodes modules.

use std::fmt;

use segno_core::{id::Digest, object::ModuleFacts};

use super::column::{at, damaged, needed, number};
use crate::{
    ModuleRow,
    sql::{RowFields, SqlFailure},
};

/// A module: `digest, size, created_at, description`, and its aliases as a JSON list.
pub(crate) fn module(row: &impl RowFields) -> Result<ModuleRow, SqlFailure> {
    let digest = digest_at(row, 0)?;
    let aliases = row.text(4)?.and_then(|json| serde_json::from_str(&json).ok());
    Ok(ModuleRow {
        digest,
        size: number(row, 1, &digest, "size")?.cast_unsigned(),
        created_at: needed(at(row, 2)?, &digest, "created_at")?,
        description: needed(row.text(3)?, &digest, "description")?.into_owned(),
        aliases: needed(aliases, &digest, "aliases")?,
    })
}

/// An SQL expression for a module's facts as one JSON text: the shared (read-only) functions of its
/// objects, its limits, and the functions that run once per key.
macro_rules! module_facts_column {
    () => {
        "'{\"shared\":' || shared || ',\"limits\":' || limits || ',\"runs\":' || runs || '}'"
    };
}
pub(crate) use module_facts_column;

/// A module's digest and facts ([`module_facts_column`]), in these columns.
pub(crate) fn module_facts(
    row: &impl RowFields,
    digest: usize,
    facts: usize,
) -> Result<(Digest, ModuleFacts), SqlFailure> {
    let digest = digest_at(row, digest)?;
    let facts = row.text(facts)?.and_then(|json| serde_json::from_str(&json).ok());
    Ok((digest, needed(facts, &digest, "shared, limits, runs")?))
}

/// The columns of a module's facts: `shared`, `limits`, `runs`.
pub(crate) fn module_facts_cells(facts: &ModuleFacts) -> [String; 3] {
    let [shared, runs] = [&facts.shared, &facts.runs]
        .map(|names| serde_json::to_string(names).expect("a list of texts is JSON"));
    [shared, serde_json::to_string(&facts.limits).expect("rules are JSON"), runs]
}

/// A module's digest and a count.
pub(crate) fn counted(row: &impl RowFields) -> Result<(Digest, u64), SqlFailure> {
    let digest = digest_at(row, 0)?;
    Ok((digest, number(row, 1, &digest, "count")?.cast_unsigned()))
}

/// Decodes a stored digest.
pub(super) fn digest(bytes: &[u8], owner: &dyn fmt::Display) -> Result<Digest, SqlFailure> {
    bytes.try_into().map(Digest).map_err(|_| damaged(owner, "digest").into())
}

/// The digest in column `column`.
pub(crate) fn digest_at(row: &impl RowFields, column: usize) -> Result<Digest, SqlFailure> {
    digest(needed(row.blob(column)?, &"modules", "digest")?, &"modules")
}
