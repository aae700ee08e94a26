//! Budgets of executions.

use std::collections::BTreeMap;

use segno_core::budget::UnitAmount;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

/// The budgets of an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BudgetView {
    /// The budgets that the execution draws on, the nearest first.
    pub accounts: Vec<BudgetAccount>,
    /// The budgets of executions below it, by id; at most 1,000.
    pub below: Vec<BudgetAccount>,
}

/// The budget of one execution, which everything below that execution draws on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BudgetAccount {
    /// The execution.
    pub id: String,
    /// Limits and use by unit. The host counts `calls`; activities report all others.
    pub units: BTreeMap<String, BudgetUnit>,
}

impl BudgetAccount {
    /// Formats the budget on one line: `tokens 75 of 100, usd 0.075 of 2.5, that of chat-1`.
    pub fn line(&self) -> String {
        let units = self.units.iter();
        let units: Vec<String> = units
            .map(|(unit, BudgetUnit { limit, spent, .. })| format!("{unit} {spent} of {limit}"))
            .collect();
        format!("{}, that of {}", units.join(", "), self.id)
    }
}

/// Limit and use of a unit: decimal numbers with at most six places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BudgetUnit {
    /// The most that may be used.
    #[schema(value_type = f64)]
    pub limit: Number,
    /// The amount used so far. It exceeds the limit by what the calls in flight used.
    #[schema(value_type = f64)]
    pub spent: Number,
    /// The amount left.
    #[schema(value_type = f64)]
    pub remaining: Number,
}

/// The body of `PUT /v1/invocations/{id}/budget`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBudget {
    /// New limits by unit. Units that are not named keep theirs.
    #[schema(value_type = BTreeMap<String, f64>)]
    pub limits: BTreeMap<String, Number>,
}

/// Adds costs to `sum`, by unit.
pub fn add_costs(sum: &mut BTreeMap<String, Number>, costs: &BTreeMap<String, Number>) {
    for (unit, more) in costs {
        let known = sum.get(unit).map(unit_amount).unwrap_or_default();
        sum.insert(unit.clone(), unit_number(known.plus(unit_amount(more))));
    }
}

/// Formats costs on one line: `tokens 75, usd 0.075`.
pub fn costs_in_words(costs: &BTreeMap<String, Number>) -> String {
    let units: Vec<String> =
        costs.iter().map(|(unit, amount)| format!("{unit} {amount}")).collect();
    units.join(", ")
}

/// Reads an amount of a unit. A number that is no amount is 0.
pub fn unit_amount(number: &Number) -> UnitAmount {
    number.to_string().parse().unwrap_or_default()
}

/// Writes an amount of a unit.
pub fn unit_number(amount: UnitAmount) -> Number {
    serde_json::from_str(&amount.to_string()).expect("an amount is a number")
}
