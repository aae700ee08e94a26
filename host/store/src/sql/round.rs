//! Finds the rows of an admission round, which are selected by queue order, not by name.
//!
//! Every transaction that changes a key of a limit or enqueues at it holds the lock on the limit's
//! row. While that lock is held, the rows found here do not change, except that waiting executions
//! may settle.

use segno_core::{
    footprint::{Footprint, SweepPage},
    limit::{LimitName, PartitionId},
};

use super::{Cache, CacheLevel, RowFields, SqlFailure, table::place};

/// The keys of a limit to serve next. Parameters: name, maximum.
pub(crate) const READY: &str = "
    SELECT partition FROM partitions WHERE limit_name = $1 AND class IS NOT NULL
     ORDER BY class, turn, partition LIMIT $2";

/// The keys of a limit to examine next. Parameters: name, maximum.
pub(crate) const TIMED: &str = "
    SELECT partition FROM partitions WHERE limit_name = $1 AND look_at IS NOT NULL
     ORDER BY look_at, partition LIMIT $2";

/// A page of all keys of a limit. Parameters: exclusive lower bound, exclusive upper bound,
/// maximum.
pub(crate) const SWEEP: &str = "
    SELECT partition FROM partitions WHERE partition > $1 AND partition < $2
     ORDER BY partition LIMIT $3";

/// The first waiting executions of a lane, in the columns that [`put`] reads. Parameters: key,
/// priority, maximum.
pub(crate) const LANE: &str = "
    SELECT promises.n, promises.id, places.partition, places.priority, places.seq, places.state
      FROM places JOIN promises ON promises.n = places.inv
     WHERE places.partition = $1 AND places.priority = $2 AND places.state = 1
     ORDER BY places.seq LIMIT $3";

/// Exclusive bounds of a page over all keys of a limit.
pub(crate) fn sweep_bounds(name: &LimitName, page: &SweepPage) -> (String, String) {
    // `@` sorts before all keys, and `A` after them. The empty key comes first.
    let after = page.after.as_ref().map_or_else(|| format!("{name}?"), ToString::to_string);
    (after, format!("{name}A"))
}

/// Adds the queue position of a waiting execution.
pub(crate) fn put(cache: &mut Cache, row: &impl RowFields) -> Result<(), SqlFailure> {
    let (invocation, place) = place(row, 1)?;
    cache.know(&invocation, row.int(0)?, CacheLevel::Number);
    cache.view.put_place(invocation, place);
    Ok(())
}

/// The part of these keys that is not cached.
pub(crate) fn partitions(
    cache: &mut Cache,
    ids: impl IntoIterator<Item = PartitionId>,
) -> Footprint {
    let partitions = ids.into_iter().collect();
    cache.missing(Footprint { partitions, ..Footprint::default() })
}
