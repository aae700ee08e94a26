//! Budgets of executions.

use std::collections::BTreeMap;

use super::View;
use crate::{budget::Budget, delta::Delta, footprint::Footprint, id::PromiseId};

/// Rows by account.
#[derive(Clone, Debug, Default)]
pub(super) struct BudgetRows(BTreeMap<PromiseId, Budget>);

impl BudgetRows {
    pub(super) fn write(&mut self, delta: &Delta) {
        for (account, budget) in &delta.budgets {
            match budget {
                Some(budget) => drop(self.0.insert(account.clone(), budget.clone())),
                None => drop(self.0.remove(account)),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl View {
    /// The budget of this account.
    pub fn budget(&self, account: &PromiseId) -> Option<&Budget> {
        self.lookups.budgets.0.get(account)
    }

    /// All budgets, by account.
    pub fn budgets(&self) -> impl Iterator<Item = (&PromiseId, &Budget)> {
        self.lookups.budgets.0.iter()
    }

    pub fn put_budget(&mut self, account: PromiseId, budget: Budget) {
        self.lookups.budgets.0.insert(account, budget);
    }

    /// Copies the wanted budgets into another view.
    pub(crate) fn load_budgets(&self, wanted: &Footprint, to: &mut View) {
        for account in &wanted.budgets {
            let budget = self.budget(account);
            budget.into_iter().for_each(|budget| to.put_budget(account.clone(), budget.clone()));
        }
    }
}
