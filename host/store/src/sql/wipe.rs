//! Forgetting everything but modules, aliases and hosts: for debugging, where it lies behind a
//! flag.

use super::table::{NAMED, OWNED, PARTS, STATE};

/// The statements, in this order: rows before those they refer to, and tasks before the facts of
/// sagas, which stay as long as these.
pub(crate) fn wipe() -> impl Iterator<Item = String> {
    let owned = OWNED.iter().map(|owned| owned.table.name);
    let named = NAMED.iter().map(|named| named.table.name);
    let tables = PARTS.into_iter().chain(owned).chain(["promises", STATE.name]).chain(named);
    tables.map(|table| format!("DELETE FROM {table}"))
}
