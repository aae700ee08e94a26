//! Deletes everything except modules, aliases and hosts: for debugging, behind a flag.

use super::table::{NAMED, OWNED, PARTS, STATE, STREAM_CHUNKS};

/// The statements in execution order: rows before the rows they reference, and tasks before the
/// facts of sagas, which must not be deleted before their tasks.
pub(crate) fn wipe() -> impl Iterator<Item = String> {
    let owned = OWNED.iter().map(|owned| owned.table.name);
    let named = NAMED.iter().map(|named| named.table.name);
    let others = ["promises", STATE.name, STREAM_CHUNKS.name, "value_uses", "value_chunks"];
    let tables = PARTS.into_iter().chain(owned).chain(others).chain(named);
    tables.map(|table| format!("DELETE FROM {table}"))
}
