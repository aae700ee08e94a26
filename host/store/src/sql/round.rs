//! The rows of a round of admissions, which are found by their order and not by their names.
//!
//! Whoever changes a key of a limit, or comes to it, has the row of the limit: once that is held,
//! what is found here stays as it is, but that those who wait may settle.

use segno_core::{
    footprint::{Footprint, SweepPage},
    limit::{LimitName, PartitionId},
};

use super::{Cache, Failure, Fields, Level, table::place};

/// The keys of a limit whose turn is next: the name, how many.
pub(crate) const READY: &str = "
    SELECT partition FROM partitions WHERE limit_name = $1 AND class IS NOT NULL
     ORDER BY class, turn, partition LIMIT $2";

/// Those that are to be looked at next: the name, how many.
pub(crate) const TIMED: &str = "
    SELECT partition FROM partitions WHERE limit_name = $1 AND look_at IS NOT NULL
     ORDER BY look_at, partition LIMIT $2";

/// All of them, a page at a time: after which, before which, how many.
pub(crate) const SWEEP: &str = "
    SELECT partition FROM partitions WHERE partition > $1 AND partition < $2
     ORDER BY partition LIMIT $3";

/// Who came first in a lane: the key, the priority, how many. What [`put`] reads.
pub(crate) const LANE: &str = "
    SELECT promises.n, promises.id, places.partition, places.priority, places.seq, places.state
      FROM places JOIN promises ON promises.n = places.inv
     WHERE places.partition = $1 AND places.priority = $2 AND places.state = 1
     ORDER BY places.seq LIMIT $3";

/// Where a page of all keys of a limit begins and ends, both not included.
pub(crate) fn sweep_bounds(name: &LimitName, page: &SweepPage) -> (String, String) {
    // `@` stands before all keys, and `A` follows it. The empty key is the first.
    let after = page.after.as_ref().map_or_else(|| format!("{name}?"), ToString::to_string);
    (after, format!("{name}A"))
}

/// Puts the place of one who waits.
pub(crate) fn put(cache: &mut Cache, row: &impl Fields) -> Result<(), Failure> {
    let (invocation, place) = place(row, 1)?;
    cache.know(&invocation, row.int(0)?, Level::Number);
    cache.view.put_place(invocation, place);
    Ok(())
}

/// What is asked for of these keys, as far as it is not held.
pub(crate) fn partitions(
    cache: &mut Cache,
    ids: impl IntoIterator<Item = PartitionId>,
) -> Footprint {
    let partitions = ids.into_iter().collect();
    cache.missing(Footprint { partitions, ..Footprint::default() })
}
