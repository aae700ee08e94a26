//! Budgets of executions.

use std::collections::BTreeMap;

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
