//! The statements about resources and the facts of sagas.

use super::connection::Statement;

/// Resources, by names.
pub(super) const RESOURCES: &str = "
    SELECT name, token, value_headers, resources.value
      FROM json_each(?1) wanted JOIN resources ON resources.name = wanted.value";

/// Leases on resources, by names.
pub(super) const LEASES: &str = "
    SELECT name, token, holder, until_at
      FROM json_each(?1) wanted JOIN resource_leases ON resource_leases.name = wanted.value";

/// The facts of invocations, by ids; a row without a fact for one that has none.
pub(super) const FACTS: &str = "
    SELECT promises.n, promises.id, saga, seq, fact, promise, compensate, unknown, at
      FROM json_each(?1) wanted JOIN promises ON promises.id = wanted.value
      LEFT JOIN compensations ON compensations.inv = promises.n";

pub(super) static PUT_RESOURCES: Statement = Statement {
    name: "put resources",
    text: "
        INSERT INTO resources (name, token, value_headers, value) VALUES (?, ?, ?, ?)
        ON CONFLICT (name) DO UPDATE
           SET token = excluded.token, value_headers = excluded.value_headers, value = excluded.value
         WHERE resources.token < excluded.token",
};

pub(super) static PUT_LEASES: Statement = Statement {
    name: "put leases on resources",
    text: "
        INSERT INTO resource_leases (name, token, holder, until_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (name) DO UPDATE
           SET token = excluded.token, holder = excluded.holder, until_at = excluded.until_at
         WHERE resource_leases.token < excluded.token",
};

pub(super) static APPEND_FACTS: Statement = Statement {
    name: "append facts",
    text: "
        INSERT INTO compensations (inv, saga, seq, fact, promise, compensate, unknown, at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
};

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 3] = [RESOURCES, LEASES, FACTS];
