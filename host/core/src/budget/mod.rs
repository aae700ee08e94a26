//! Budgets of executions: how much everything below an execution may use of some units, and how
//! much it has used.
//!
//! An execution that is created with a budget is an *account*. It and everything below it draw on
//! the account, and on the accounts above it. The unit `calls` is counted by the engine: one for
//! each attempt of an activity. Any other unit is reported by the activities ([`Costs`]), and
//! charged with the end of the attempt that reports it.
//!
//! An attempt of an external worker, or of a service, begins with a claim. It goes on after a
//! suspension, and ends with the claim otherwise.
//!
//! An attempt begins only while every unit of its accounts has something left. So an account
//! exceeds its limit by no more than the attempts that were in flight used.

mod amount;
mod costs;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    id::PromiseId,
    promise::{Promise, Settlement},
    tags,
    value::{Tags, Text, Value},
};

pub use self::{
    amount::{UnitAmount, UnitAmountError},
    costs::{COST_UNITS_MAX, Costs, CostsError, UNIT_LENGTH_MAX},
};

/// The unit that the engine counts: attempts of activities and HTTP requests.
pub const CALLS: &str = "calls";
/// Maximum number of accounts that an execution draws on.
pub const ACCOUNTS_MAX: usize = 8;

/// Budget of one account, by unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Budget {
    pub units: BTreeMap<Text, Allowance>,
}

/// Limit and use of one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    pub limit: UnitAmount,
    pub spent: UnitAmount,
}

/// An account whose budget has nothing left of a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the budget of `{account}` is spent: {} of {} {unit} are used; `segno budget set {account} {unit}=…` raises it",
    .allowance.spent, .allowance.limit
)]
pub struct SpentBudget {
    pub account: PromiseId,
    pub unit: Text,
    pub allowance: Allowance,
}

impl SpentBudget {
    /// Failure code of a call that is refused.
    pub const CODE: u32 = 402;

    /// The account and the unit, as JSON: `{"account", "units"}`.
    pub fn details(&self) -> String {
        let units = to_json(&[(self.unit.clone(), self.allowance)].into());
        format!(r#"{{"account":{},"units":{units}}}"#, json!(self.account.as_str()))
    }

    /// The value of a call that is refused, in the form of promises.
    pub fn value(&self) -> Value {
        let (code, message, details) = (Self::CODE, json!(self.to_string()), self.details());
        let failure = format!(
            r#"{{"__type":"error","code":{code},"message":{message},"details":{details}}}"#
        );
        Value::of(failure.into_bytes())
    }
}

impl Allowance {
    pub fn remaining(&self) -> UnitAmount {
        self.limit.minus(self.spent)
    }
}

impl Budget {
    /// A budget of which nothing is used.
    pub fn new(limits: &Costs) -> Self {
        let mut budget = Self::default();
        budget.set(limits);
        budget
    }

    /// Replaces the limits of these units, and adds those that it did not have.
    pub fn set(&mut self, limits: &Costs) {
        for (unit, limit) in limits.iter() {
            self.units.entry(unit.clone()).or_default().limit = limit;
        }
    }

    /// Adds to the use of the units that the budget has.
    pub fn spend(&mut self, costs: &Costs) {
        for (unit, amount) in costs.iter() {
            if let Some(allowance) = self.units.get_mut(unit) {
                allowance.spent = allowance.spent.plus(amount);
            }
        }
    }

    /// The first unit of which nothing is left.
    pub fn spent_unit(&self) -> Option<(&Text, Allowance)> {
        let mut units = self.units.iter().map(|(unit, allowance)| (unit, *allowance));
        units.find(|(_, allowance)| allowance.remaining() == UnitAmount::ZERO)
    }
}

/// For each unit, the allowance of the account that has the least left.
pub fn least<'a>(budgets: impl IntoIterator<Item = &'a Budget>) -> BTreeMap<Text, Allowance> {
    let mut least: BTreeMap<Text, Allowance> = BTreeMap::new();
    for (unit, allowance) in budgets.into_iter().flat_map(|budget| &budget.units) {
        let known = least.entry(unit.clone()).or_insert(*allowance);
        if allowance.remaining() < known.remaining() {
            *known = *allowance;
        }
    }
    least
}

/// Limits and use by unit, as JSON: `{UNIT: {"limit", "spent", "remaining"}}`.
pub fn to_json(units: &BTreeMap<Text, Allowance>) -> String {
    let entries: Vec<String> = units
        .iter()
        .map(|(unit, allowance)| {
            let Allowance { limit, spent } = allowance;
            let remaining = allowance.remaining();
            // The names of units need no escapes, and an amount is written as JSON has it.
            format!(r#""{unit}":{{"limit":{limit},"spent":{spent},"remaining":{remaining}}}"#)
        })
        .collect();
    format!("{{{}}}", entries.join(","))
}

/// The accounts that the tags of an execution name, the nearest first.
pub fn accounts(tags: &Tags) -> Vec<PromiseId> {
    let named = tags.get(tags::ACCOUNTS);
    named.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

impl Promise {
    /// The accounts that the execution draws on, the nearest first.
    pub fn accounts(&self) -> Vec<PromiseId> {
        accounts(&self.spec.tags)
    }

    /// True if the execution draws on a budget.
    pub fn has_budget(&self) -> bool {
        self.spec.tags.contains_key(tags::ACCOUNTS)
    }

    /// True if the execution draws on a budget, or will when it is stored: the engine sets the
    /// accounts then.
    pub fn is_charged(&self) -> bool {
        self.has_budget() || self.spec.tags.contains_key(tags::BUDGET)
    }

    /// True if the execution has a budget of its own.
    pub fn is_account(&self) -> bool {
        self.accounts().first() == Some(self.id())
    }
}

impl Settlement {
    /// The costs that the value reports.
    pub fn costs(&self) -> Costs {
        self.value.as_ref().map(|value| Costs::of(&value.headers)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(text: &str) -> Costs {
        text.parse().expect("costs")
    }

    #[test]
    fn a_budget_counts_the_units_that_it_limits() {
        let mut budget = Budget::new(&costs("calls=2,usd=0.5"));
        budget.spend(&costs("calls=1,usd=0.25,tokens=9"));
        assert_eq!(budget.spent_unit(), None);
        assert_eq!(budget.units.len(), 2);
        budget.spend(&costs("usd=0.3"));
        let (unit, allowance) = budget.spent_unit().expect("it is spent");
        assert_eq!((unit.as_str(), allowance.spent.to_string()), ("usd", "0.55".to_owned()));
        budget.set(&costs("usd=1"));
        assert_eq!(budget.spent_unit(), None);
        assert_eq!(budget.units["usd"].remaining().to_string(), "0.45");
    }

    #[test]
    fn the_least_of_several_budgets_counts() {
        let (mut above, below) =
            (Budget::new(&costs("calls=9,usd=1")), Budget::new(&costs("calls=5")));
        above.spend(&costs("calls=6"));
        let least = least([&below, &above]);
        assert_eq!(least["calls"].remaining().to_string(), "3");
        assert_eq!(least["usd"].remaining().to_string(), "1");
        let json = r#"{"calls":{"limit":9,"spent":6,"remaining":3},"usd":{"limit":1,"spent":0,"remaining":1}}"#;
        assert_eq!(to_json(&least), json);
        serde_json::from_str::<serde_json::Value>(json).expect("JSON");
    }
}
