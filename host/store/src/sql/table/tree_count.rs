//! Counters of execution trees, keyed by the id of the root.

use segno_core::{id::PromiseId, limit::TokenBucket, tree::TreeCount, unreadable::Subject};

use super::{
    ColumnKind::{Int, Text},
    ConflictRule, NamedTable, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{id, number},
};

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "tree_counts",
        columns: "root, executions, full_at_us, killed",
        kinds: &[Text, Int, Int, Int],
        key: 1,
        again: ConflictRule::Replaces,
    },
    load: "load counts of trees",
    put: "put counts of trees",
    wanted: |rows| rows.tree_counts.iter().map(PromiseId::as_str).collect(),
    want: |root, rows| {
        rows.tree_counts.insert(root.into());
    },
    subject: |root| Subject::Promise(root.into()),
    read: |row, view| tree_count(&row).map(|(root, count)| view.put_tree_count(root, count)),
    written: |delta| {
        let written = delta.tree_counts.iter();
        written.filter_map(|(root, count)| count.map(|count| cells(root, count))).collect()
    },
    deleted: |delta| {
        let gone = delta.tree_counts.iter().filter(|(_, count)| count.is_none());
        gone.map(|(root, _)| vec![root.as_str().into()]).collect()
    },
};

fn cells(root: &PromiseId, count: TreeCount) -> CellRow {
    vec![
        root.as_str().into(),
        count.executions.into(),
        count.births.micros().into(),
        i64::from(count.killed).into(),
    ]
}

pub(crate) fn tree_count(row: &impl RowFields) -> Result<(PromiseId, TreeCount), SqlFailure> {
    let root = id(row, 0)?;
    let count = TreeCount {
        executions: number(row, 1, &root, "executions")?.cast_unsigned(),
        births: TokenBucket::from_micros(number(row, 2, &root, "full_at_us")?),
        killed: number(row, 3, &root, "killed")? != 0,
    };
    Ok((root, count))
}
