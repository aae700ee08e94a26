//! SQL statements for tables that belong to no composite.

use std::sync::LazyLock;

use crate::sql::{NAMED, NamedTable, OWNED, OwnedTable, STATE, STREAM_CHUNKS, SqlTable};

/// Statements for one table of [`NAMED`].
pub(super) struct NamedStatements {
    pub(super) of: &'static NamedTable,
    /// Selects rows by name.
    pub(super) load: String,
    pub(super) put: String,
    pub(super) delete: String,
}

/// Statements for one table of [`OWNED`].
pub(super) struct OwnedStatements {
    pub(super) of: &'static OwnedTable,
    /// Selects the number and id of each invocation, with its rows, or nulls if it has none.
    pub(super) load: String,
    pub(super) put: String,
    /// Deletes the rows of an invocation, by number.
    pub(super) remove: String,
}

/// Statements for the state of objects.
pub(super) struct StateStatements {
    /// Deletes all state of an object.
    pub(super) clear: String,
    pub(super) delete: String,
    pub(super) put: String,
}

pub(super) static STATE_STATEMENTS: LazyLock<StateStatements> = LazyLock::new(|| {
    let name = STATE.name;
    let keys = STATE.key_names().into_iter().map(|key| format!("{key} = ?"));
    StateStatements {
        clear: format!("DELETE FROM {name} WHERE {} = ?", STATE.first()),
        delete: format!("DELETE FROM {name} WHERE {}", keys.collect::<Vec<_>>().join(" AND ")),
        put: put(&STATE),
    }
});

/// Statements for the data of streams.
pub(super) struct StreamDataStatements {
    /// Selects all data of streams.
    pub(super) load: String,
    /// Deletes all data of a stream.
    pub(super) clear: String,
    pub(super) put: String,
    /// Deletes the data of all streams of an execution, by its id.
    pub(super) remove_data: String,
    /// Deletes all streams of an execution, by its id.
    pub(super) remove: String,
}

pub(super) static STREAM_DATA_STATEMENTS: LazyLock<StreamDataStatements> = LazyLock::new(|| {
    let name = STREAM_CHUNKS.name;
    StreamDataStatements {
        load: format!(
            "SELECT {} FROM json_each(?1) wanted JOIN {name} ON {name}.stream = wanted.value",
            STREAM_CHUNKS.of_table(0)
        ),
        clear: format!("DELETE FROM {name} WHERE stream = ?"),
        put: put(&STREAM_CHUNKS),
        remove_data: format!(
            "DELETE FROM {name} WHERE stream IN (SELECT id FROM streams WHERE owner = ?)"
        ),
        remove: "DELETE FROM streams WHERE owner = ?".to_owned(),
    }
});

pub(super) static NAMED_STATEMENTS: LazyLock<[NamedStatements; NAMED.len()]> =
    LazyLock::new(|| NAMED.each_ref().map(NamedStatements::of));

pub(super) static OWNED_STATEMENTS: LazyLock<[OwnedStatements; OWNED.len()]> =
    LazyLock::new(|| OWNED.each_ref().map(OwnedStatements::of));

impl NamedStatements {
    fn of(named: &'static NamedTable) -> Self {
        let (table, first) = (named.table.name, named.table.first());
        let load = format!(
            "SELECT {} FROM json_each(?1) wanted JOIN {table} ON {table}.{first} = wanted.value",
            named.table.of_table(0)
        );
        let delete = format!("DELETE FROM {table} WHERE {first} = ?");
        Self { of: named, load, put: put(&named.table), delete }
    }
}

impl OwnedStatements {
    fn of(owned: &'static OwnedTable) -> Self {
        let (table, first) = (owned.table.name, owned.table.first());
        let load = format!(
            "SELECT promises.n, promises.id, {} FROM json_each(?1) wanted \
             JOIN promises ON promises.id = wanted.value LEFT JOIN {table} ON {table}.{first} = promises.n",
            owned.table.of_table(1)
        );
        let remove = format!("DELETE FROM {table} WHERE {first} = ?");
        Self { of: owned, load, put: put(&owned.table), remove }
    }
}

/// The statement that writes a row.
fn put(table: &SqlTable) -> String {
    let values = vec!["?"; table.kinds.len()].join(", ");
    format!("{} VALUES ({values}) {}", table.insert(), table.on_conflict())
}

/// All statements, for tests of query plans.
#[cfg(test)]
pub(super) fn statements() -> Vec<&'static str> {
    let named = NAMED_STATEMENTS.iter().flat_map(|of| [&*of.load, &of.put, &of.delete]);
    let owned = OWNED_STATEMENTS.iter().flat_map(|of| [&*of.load, &of.put, &of.remove]);
    let StateStatements { clear, delete, put } = &*STATE_STATEMENTS;
    let state = [clear, delete, put].map(String::as_str);
    let data = &*STREAM_DATA_STATEMENTS;
    let data = [&data.load, &data.clear, &data.put, &data.remove_data, &data.remove];
    named.chain(owned).chain(state).chain(data.map(String::as_str)).collect()
}
