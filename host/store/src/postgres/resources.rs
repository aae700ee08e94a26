//! The statements about resources and the facts of sagas: loading. How they are written stands with
//! the rest of a batch.

/// Resources by names, locked after schedules and before promises. A row that is not there yet
/// cannot be locked: who comes second with it is refused by its key, and decides again.
pub(super) const LOCK_RESOURCES: &str = "
    SELECT name, token, value_headers, value FROM resources
     WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE";

/// The leases on them, after them.
pub(super) const LOCK_LEASES: &str = "
    SELECT name, token, holder, until_at FROM resource_leases
     WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE";

/// The facts of invocations, by ids; a row without a fact for one that has none. They are only ever
/// added: who comes second with one is refused by its key.
pub(super) const FACTS: &str = "
    SELECT promises.n, promises.id, saga, seq, fact, promise, compensate, unknown, at
      FROM promises LEFT JOIN compensations ON compensations.inv = promises.n
     WHERE promises.id = ANY($1::text[])";
