//! The budgets of a test, held as the host does.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{
    bindings::segno::workflow::types as wit,
    budget::{BUDGET_LABEL, CALLS},
    error::Error,
    payload::Payload,
};

/// Maximum number of units that a budget has, or an attempt reports.
const UNITS_MAX: usize = 16;
const MILLION: u64 = 1_000_000;

/// Limit and use of a unit, in millionths.
#[derive(Clone, Copy, Default)]
struct TestAllowance {
    limit: u64,
    spent: u64,
}

impl TestAllowance {
    fn left(self) -> u64 {
        self.limit.saturating_sub(self.spent)
    }

    fn to_json(self) -> serde_json::Value {
        let [limit, spent, remaining] =
            [self.limit, self.spent, self.left()].map(|it| it as f64 / MILLION as f64);
        json!({ "limit": limit, "spent": spent, "remaining": remaining })
    }
}

/// The budgets of all invocations, by id and unit.
#[derive(Default)]
pub(super) struct TestBudgets(BTreeMap<String, BTreeMap<String, TestAllowance>>);

impl TestBudgets {
    /// Gives an invocation a limit of a unit.
    pub(super) fn grant(&mut self, id: &str, unit: &str, limit: u64) {
        let units = self.0.entry(id.to_owned()).or_default();
        units.entry(unit.to_owned()).or_default().limit = limit;
    }

    /// Gives a call the budget that its labels name.
    pub(super) fn grant_by(&mut self, id: &str, labels: &[(String, String)]) {
        let limits = labels.iter().filter(|(label, _)| label == BUDGET_LABEL);
        for limit in limits.flat_map(|(_, limits)| limits.split(',')) {
            let (unit, amount) = limit.split_once('=').unwrap_or((limit, "0"));
            let amount = amount.parse::<f64>().unwrap_or_default() * MILLION as f64;
            self.grant(id, unit, amount.round() as u64);
        }
    }

    /// Counts an attempt of a call, if every unit has something left.
    ///
    /// # Errors
    /// Code 402: a unit has nothing left.
    pub(super) fn begin(&mut self, call: &str) -> Result<(), wit::Failure> {
        for (account, units) in self.of(call) {
            let Some((unit, spent)) = units.iter().find(|(_, it)| it.left() == 0) else { continue };
            let message = format!("the budget of `{account}` is spent: nothing of {unit} is left");
            let units = json!({ unit: spent.to_json() });
            let details = json!({ "account": account, "units": units });
            let error = Error::terminal(Error::BUDGET_SPENT, message).with_details(&details);
            return Err(error.into_failure());
        }
        self.spend(call, CALLS, MILLION);
        Ok(())
    }

    /// Charges what an attempt reports.
    ///
    /// # Errors
    /// Code 400: a host refuses the unit.
    pub(super) fn report(
        &mut self,
        call: &str,
        unit: &str,
        millionths: u64,
    ) -> Result<(), wit::Failure> {
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
        let refused = if !(1..=64).contains(&unit.len()) || !unit.bytes().all(is_plain) {
            "its name has 1 to 64 letters, digits, `-`, `_` and `.`"
        } else if unit == CALLS {
            "it is counted by the host and cannot be reported"
        } else {
            self.spend(call, unit, millionths);
            return Ok(());
        };
        let message = format!("the cost of `{unit}` is refused: {refused}");
        Err(Error::terminal(Error::BAD_INPUT, message).into_failure())
    }

    /// The answer to a call of the built-in function.
    pub(super) fn remaining(&self, call: &str) -> Payload {
        let mut least: BTreeMap<&str, TestAllowance> = BTreeMap::new();
        for (unit, allowance) in self.of(call).flat_map(|(_, units)| units) {
            let known = least.entry(unit).or_insert(*allowance);
            if allowance.left() < known.left() {
                *known = *allowance;
            }
        }
        let units = least.into_iter().map(|(unit, it)| (unit.to_owned(), it.to_json()));
        let units: serde_json::Map<String, serde_json::Value> = units.take(UNITS_MAX).collect();
        Payload::Json(serde_json::Value::from(units).to_string())
    }

    /// The amount of a unit that an invocation with a budget, and all below it, used.
    pub(super) fn spent(&self, id: &str, unit: &str) -> Option<f64> {
        let spent = self.0.get(id)?.get(unit)?.spent;
        Some(spent as f64 / MILLION as f64)
    }

    /// The budgets that a call draws on: its own and those above it.
    fn of(&self, call: &str) -> impl Iterator<Item = (&String, &BTreeMap<String, TestAllowance>)> {
        self.0.iter().rev().filter(move |(account, _)| draws_on(call, account))
    }

    fn spend(&mut self, call: &str, unit: &str, millionths: u64) {
        for (_, units) in self.0.iter_mut().filter(|(account, _)| draws_on(call, account)) {
            if let Some(allowance) = units.get_mut(unit) {
                allowance.spent = allowance.spent.saturating_add(millionths);
            }
        }
    }
}

/// True if a call draws on a budget: that of an execution above it, unless it undoes a step of a
/// saga.
fn draws_on(call: &str, account: &str) -> bool {
    let rest = call.strip_prefix(account);
    rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && !rest.contains("/c/")))
}
