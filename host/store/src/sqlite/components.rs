//! Stores and removes modules.

use segno_core::{id::Digest, time::Timestamp};

use super::connection::{Connection, FailedStatement};
use crate::{
    NewModule,
    sql::{self, Cache, RowFields as _},
};

const PUT: &str = "
    INSERT INTO modules (digest, created_at, description, component, shared, limits, runs, runtime) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING n";

const REMOVE: &str = "
    DELETE FROM modules
     WHERE digest = ?1 AND created_at <= ?2
       AND NOT EXISTS (SELECT 1 FROM aliases WHERE module = modules.n)
       AND NOT EXISTS (SELECT 1 FROM tasks WHERE module = modules.n)
       AND NOT EXISTS (SELECT 1 FROM modules AS other WHERE other.runtime = modules.digest)
    RETURNING n";

/// Stores a component unless it exists.
pub(super) fn put(
    connection: &mut Connection,
    cache: &mut Cache,
    module: NewModule,
) -> Result<(), FailedStatement> {
    let runtime = module.runtime();
    let NewModule { digest, component, description, facts, created_at } = module;
    if cache.modules.contains_key(&digest) {
        return Ok(());
    }
    let mut number = None;
    let [shared, limits, runs] = sql::module_facts_cells(&facts);
    let runtime = runtime.map(|runtime| runtime.0.to_vec());
    let row =
        (&digest.0[..], created_at.0, description, &component[..], shared, limits, runs, runtime);
    connection.read("keep a component", PUT, row, |row| {
        number = row.int(0)?;
        Ok(())
    })?;
    cache.modules.extend(number.map(|number| (digest, number)));
    cache.view.put_module_facts(digest, facts);
    Ok(())
}

/// Removes a module that was uploaded before `before` and that nothing refers to. Returns true if
/// it was removed.
pub(super) fn remove(
    connection: &mut Connection,
    cache: &mut Cache,
    digest: Digest,
    before: Timestamp,
) -> Result<bool, FailedStatement> {
    let mut removed = false;
    connection.read("remove a component", REMOVE, (&digest.0[..], before.0), |_| {
        removed = true;
        Ok(())
    })?;
    if removed {
        cache.modules.remove(&digest);
        cache.view.remove_module(&digest);
    }
    Ok(removed)
}
