//! Budgets, keyed by their accounts.

use segno_core::{budget::Budget, id::PromiseId, unreadable::Subject};

use super::{ColumnKind::Text, ConflictRule, NamedTable, SqlTable};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{damaged, id, needed},
};

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "budgets",
        columns: "account, units",
        kinds: &[Text, Text],
        key: 1,
        again: ConflictRule::Replaces,
    },
    load: "load budgets",
    put: "put budgets",
    wanted: |rows| rows.budgets.iter().map(PromiseId::as_str).collect(),
    want: |account, rows| {
        rows.budgets.insert(account.into());
    },
    subject: |account| Subject::Promise(account.into()),
    read: |row, view| budget(&row).map(|(account, budget)| view.put_budget(account, budget)),
    written: |delta| {
        let written = delta.budgets.iter();
        written.filter_map(|(account, budget)| Some(cells(account, budget.as_ref()?))).collect()
    },
    deleted: |delta| {
        let gone = delta.budgets.iter().filter(|(_, budget)| budget.is_none());
        gone.map(|(account, _)| vec![account.as_str().into()]).collect()
    },
};

fn cells(account: &PromiseId, budget: &Budget) -> CellRow {
    let units = serde_json::to_string(budget).expect("a budget is JSON");
    vec![account.as_str().into(), units.into()]
}

/// An account and its budget.
pub(crate) fn budget(row: &impl RowFields) -> Result<(PromiseId, Budget), SqlFailure> {
    let units = needed(row.text(1)?, &"budgets", "units")?;
    let budget = serde_json::from_str(&units).map_err(|_| damaged(&"budgets", "units"))?;
    Ok((id(row, 0)?, budget))
}
