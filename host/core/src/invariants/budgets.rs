//! Invariants of budgets.

use super::{Predicate, Violations};
use crate::snapshot::Snapshot;

pub(super) const PREDICATES: &[Predicate] = &[
    ("an_account_is_an_execution", an_account_is_an_execution),
    ("an_account_has_a_budget", an_account_has_a_budget),
];

fn an_account_is_an_execution(rows: &Snapshot) -> Violations {
    let is_account = |id| rows.promises.get(id).is_some_and(|promise| promise.is_account());
    let lost = rows.budgets.keys().filter(|account| !is_account(*account));
    lost.map(|account| (vec![account.clone()], "its execution has no account".to_owned())).collect()
}

fn an_account_has_a_budget(rows: &Snapshot) -> Violations {
    let accounts = rows.promises.values().filter(|promise| promise.is_account());
    let empty = accounts.filter(|promise| !rows.budgets.contains_key(promise.id()));
    empty.map(|promise| (vec![promise.id().clone()], "it has no budget".to_owned())).collect()
}
