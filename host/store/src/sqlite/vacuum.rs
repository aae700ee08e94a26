//! Incremental vacuum: removes free pages from the file in bounded steps.

use super::connection::{Connection, FailedStatement};
use crate::sql::RowFields as _;

const FREE_PAGES: &str =
    "SELECT auto_vacuum, freelist_count FROM pragma_auto_vacuum, pragma_freelist_count";
const VACUUM: &str = "PRAGMA incremental_vacuum(256)";
/// The value of `auto_vacuum` that allows incremental vacuum.
const INCREMENTAL: i64 = 2;
/// Number of free pages kept for the next commits.
const KEPT_FREE: i64 = 64;

/// Removes up to 256 free pages from the file. Returns true if there are more; always false if the
/// database was created without incremental vacuum.
pub(super) fn step(connection: &mut Connection) -> Result<bool, FailedStatement> {
    if free(connection)? <= KEPT_FREE {
        return Ok(false);
    }
    // Every row that is read moves one page.
    connection.read("give room back", VACUUM, [], |_| Ok(()))?;
    Ok(free(connection)? > KEPT_FREE)
}

fn free(connection: &mut Connection) -> Result<i64, FailedStatement> {
    let mut free = 0;
    connection.read("look for free room", FREE_PAGES, [], |row| {
        if row.int(0)? == Some(INCREMENTAL) {
            free = row.int(1)?.unwrap_or_default();
        }
        Ok(())
    })?;
    Ok(free)
}
