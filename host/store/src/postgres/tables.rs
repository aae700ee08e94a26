//! SQL statements for tables that belong to no composite.

use std::sync::LazyLock;

#[cfg(test)]
use super::columns;
use super::statement_builder::StatementPart;
use crate::sql::{
    ColumnKind, NAMED, NamedTable, OWNED, OwnedTable, STATE, STREAM_CHUNKS, SqlTable,
};

/// Statements for one table of [`NAMED`].
pub(super) struct NamedStatements {
    pub(super) of: &'static NamedTable,
    /// Locks rows by name, in name order, before any promise. A row that does not exist yet cannot
    /// be locked: the second transaction to insert it is refused by the key, and decides again.
    pub(super) lock: String,
    /// Like `lock`, for rows that no other transaction has locked.
    pub(super) try_lock: String,
    /// Inserts rows that did not exist; fails if another transaction inserted one first.
    pub(super) insert: StatementPart,
    /// Writes locked rows.
    pub(super) put: StatementPart,
    pub(super) delete: StatementPart,
}

/// Statements for one table of [`OWNED`].
pub(super) struct OwnedStatements {
    pub(super) of: &'static OwnedTable,
    /// Selects the number and id of each invocation, with its rows, or nulls if it has none.
    pub(super) load: String,
    pub(super) put: StatementPart,
    /// Deletes the rows of invocations, by number.
    pub(super) remove: String,
}

/// Statements for the state of objects.
pub(super) struct StateStatements {
    /// Deletes all state of these objects. A separate statement, because parts of one statement do
    /// not see each other's changes.
    pub(super) clear: String,
    pub(super) delete: StatementPart,
    pub(super) put: StatementPart,
}

pub(super) static STATE_STATEMENTS: LazyLock<StateStatements> = LazyLock::new(|| {
    let (name, keys) = (STATE.name, STATE.key_names());
    let same = keys.iter().map(|key| format!("{name}.{key} = given.{key}"));
    let same = same.collect::<Vec<_>>().join(" AND ");
    StateStatements {
        clear: format!("DELETE FROM {name} WHERE {} = ANY($1::text[])", STATE.first()),
        delete: StatementPart {
            columns: &[ColumnKind::Text, ColumnKind::Text],
            before: format!("DELETE FROM {name} USING").into(),
            after: format!("AS given ({}) WHERE {same}", keys.join(", ")).into(),
        },
        put: insert(&STATE, STATE.on_conflict()),
    }
});

/// Statements for the data of streams.
pub(super) struct StreamDataStatements {
    /// Selects all data of streams.
    pub(super) load: String,
    /// Deletes all data of streams.
    pub(super) clear: String,
    pub(super) put: StatementPart,
    /// Deletes the data of all streams of executions, by their ids.
    pub(super) remove_data: String,
    /// Deletes all streams of executions, by their ids.
    pub(super) remove: String,
}

pub(super) static STREAM_DATA_STATEMENTS: LazyLock<StreamDataStatements> = LazyLock::new(|| {
    let (name, columns) = (STREAM_CHUNKS.name, STREAM_CHUNKS.columns);
    StreamDataStatements {
        load: format!("SELECT {columns} FROM {name} WHERE stream = ANY($1::text[])"),
        clear: format!("DELETE FROM {name} WHERE stream = ANY($1::text[])"),
        put: insert(&STREAM_CHUNKS, String::new()),
        remove_data: format!(
            "DELETE FROM {name} WHERE stream IN (SELECT id FROM streams WHERE owner = ANY($1::text[]))"
        ),
        remove: "DELETE FROM streams WHERE owner = ANY($1::text[])".to_owned(),
    }
});

pub(super) static NAMED_STATEMENTS: LazyLock<[NamedStatements; NAMED.len()]> =
    LazyLock::new(|| NAMED.each_ref().map(NamedStatements::of));

pub(super) static OWNED_STATEMENTS: LazyLock<[OwnedStatements; OWNED.len()]> =
    LazyLock::new(|| OWNED.each_ref().map(OwnedStatements::of));

impl NamedStatements {
    fn of(named: &'static NamedTable) -> Self {
        let (table, first) = (named.table.name, named.table.first());
        let columns = named.table.columns;
        let lock = format!(
            "SELECT {columns} FROM {table} WHERE {first} = ANY($1::text[]) ORDER BY {first} FOR UPDATE"
        );
        Self {
            of: named,
            try_lock: format!("{lock} SKIP LOCKED"),
            lock,
            insert: insert(&named.table, String::new()),
            put: insert(&named.table, named.table.on_conflict()),
            delete: StatementPart {
                columns: &[ColumnKind::Text],
                before: format!("DELETE FROM {table} USING").into(),
                after: format!("AS given ({first}) WHERE {table}.{first} = given.{first}").into(),
            },
        }
    }

    /// The `UNION` part that looks again for names that were not found. `what` is the kind in the
    /// first column, `$parameter` holds the names, `nulls` is the number of columns after the name.
    pub(super) fn again(&self, what: i64, parameter: usize, nulls: usize) -> String {
        let (table, first) = (self.of.table.name, self.of.table.first());
        let nulls = ", NULL".repeat(nulls);
        format!(
            " UNION ALL SELECT {what}, {first}{nulls} FROM {table} WHERE {first} = ANY(${parameter}::text[])"
        )
    }
}

impl OwnedStatements {
    fn of(owned: &'static OwnedTable) -> Self {
        let (table, first) = (owned.table.name, owned.table.first());
        let rest = owned.table.of_table(1);
        Self {
            of: owned,
            load: format!(
                "SELECT promises.n, promises.id, {rest} FROM promises LEFT JOIN {table} ON {table}.{first} = promises.n \
                 WHERE promises.id = ANY($1::text[])"
            ),
            put: insert(&owned.table, owned.table.on_conflict()),
            remove: format!("DELETE FROM {table} WHERE {first} = ANY($1::bigint[])"),
        }
    }
}

fn insert(table: &SqlTable, after: String) -> StatementPart {
    let before = format!("{} SELECT * FROM", table.insert());
    StatementPart { columns: table.kinds, before: before.into(), after: after.into() }
}

/// All statements with a search condition, for the tests of query plans.
#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    let deletes = |part: &StatementPart| {
        let given = columns::parameters(part.columns, 1);
        format!("{} UNNEST({given}) {}", part.before, part.after)
    };
    let named = NAMED_STATEMENTS
        .iter()
        .flat_map(|of| [of.lock.clone(), of.try_lock.clone(), deletes(&of.delete)]);
    let owned = OWNED_STATEMENTS.iter().flat_map(|of| [of.load.clone(), of.remove.clone()]);
    let state = &*STATE_STATEMENTS;
    let state = [state.clear.clone(), deletes(&state.delete)];
    let data = &*STREAM_DATA_STATEMENTS;
    let data = [&data.load, &data.clear, &data.remove_data, &data.remove].map(String::clone);
    named.chain(owned).chain(state).chain(data).collect()
}
