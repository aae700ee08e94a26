//! Incremental vacuum: a bounded number of free pages at a time leaves the file.

use super::connection::{Connection, Failed};
use crate::sql::Fields as _;

const FREE_PAGES: &str =
    "SELECT auto_vacuum, freelist_count FROM pragma_auto_vacuum, pragma_freelist_count";
const VACUUM: &str = "PRAGMA incremental_vacuum(256)";
/// What `auto_vacuum` says where pages may be given back.
const INCREMENTAL: i64 = 2;
/// Free pages that stay for the next commits.
const KEPT_FREE: i64 = 64;

/// Removes up to 256 free pages from the file. Returns whether there are more; never, if the
/// database was made without the setting that allows it.
pub(super) fn step(connection: &mut Connection) -> Result<bool, Failed> {
    if free(connection)? <= KEPT_FREE {
        return Ok(false);
    }
    // A page is moved for each row that is asked for.
    connection.read("give room back", VACUUM, [], |_| Ok(()))?;
    Ok(free(connection)? > KEPT_FREE)
}

fn free(connection: &mut Connection) -> Result<i64, Failed> {
    let mut free = 0;
    connection.read("look for free room", FREE_PAGES, [], |row| {
        if row.int(0)? == Some(INCREMENTAL) {
            free = row.int(1)?.unwrap_or_default();
        }
        Ok(())
    })?;
    Ok(free)
}
