//! Invariants of budgets.

use super::{Predicate, Violations};
use crate::snapshot::Snapshot;

pub(super) const PREDICATES: &[Predicate] = &[
    ("an_account_is_an_execution", an_account_is_an_execution),
    ("who_draws_on_an_account_finds_it", who_draws_on_an_account_finds_it),
];

fn an_account_is_an_execution(rows: &Snapshot) -> Violations {
    let is_account = |id| rows.promises.get(id).is_some_and(|promise| promise.is_account());
    let lost = rows.budgets.keys().filter(|account| !is_account(*account));
    lost.map(|account| (vec![account.clone()], "its execution has no account".to_owned())).collect()
}

fn who_draws_on_an_account_finds_it(rows: &Snapshot) -> Violations {
    let mut found = Violations::new();
    for promise in rows.promises.values().filter(|promise| promise.has_budget()) {
        let missing =
            promise.accounts().into_iter().filter(|account| !rows.budgets.contains_key(account));
        found.extend(missing.map(|account| {
            (vec![promise.id().clone()], format!("there is no account `{account}`"))
        }));
    }
    found
}
