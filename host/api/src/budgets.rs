//! Budgets of executions: reading them, raising them.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use segno_core::{
    budget::{self, Allowance, Budget, Costs},
    command::Command,
    id::PromiseId,
    promise::Promise,
    reply::Reply,
    tags,
    value::{Tags, Text},
};
use segno_store::Store;
use serde_json::Number;

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    model::{BudgetAccount, BudgetUnit, BudgetView, SetBudget, unit_number},
    refusals::Refusals,
    state::{refused, unexpected},
};

/// Reads the budgets that an execution draws on, and those of the executions below it.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/budget", tag = "invocations",
    operation_id = "budget",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = BudgetView), Refusals),
)]
pub(crate) async fn budget(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<BudgetView>, ApiError> {
    let id = api.stored_id(id).await?;
    view(&api, &id).await.map(Json)
}

/// Sets limits of an execution's own budget. The other units keep theirs, and what is used stays
/// used: 402 ends when the limit is above it.
#[utoipa::path(
    put, path = "/v1/invocations/{id}/budget", tag = "invocations",
    operation_id = "set_budget", request_body = SetBudget,
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = BudgetView), Refusals),
)]
pub(crate) async fn set_budget(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(asked, _room): JsonBody<SetBudget>,
) -> Result<Json<BudgetView>, ApiError> {
    let id = api.stored_id(id).await?;
    let limits = limits("limits", &asked.limits)?;
    match api.execute(Command::BudgetSet { account: id.clone(), limits }).await? {
        Reply::Done => view(&api, &id).await.map(Json),
        Reply::Refused(refusal) => Err(refused(&id, refusal)),
        other => Err(unexpected(&other)),
    }
}

/// Adds the budget that a request gives an execution to the tags of its promise.
pub(crate) fn give(asked: &BTreeMap<String, Number>, tags: &mut Tags) -> Result<(), ApiError> {
    if !asked.is_empty() {
        tags.insert(tags::BUDGET.to_owned(), limits("budget", asked)?.to_string());
    }
    Ok(())
}

/// Returns the budget that an earlier request gave, to show or repeat it. The core refuses a tag that
/// is no budget, so a stored one can be read.
pub(crate) fn given(tags: &Tags) -> BTreeMap<String, Number> {
    let given: Costs = tags.get(tags::BUDGET).and_then(|it| it.parse().ok()).unwrap_or_default();
    numbers(&given)
}

/// Limits of a budget, as a request has them.
fn limits(field: &'static str, asked: &BTreeMap<String, Number>) -> Result<Costs, ApiError> {
    let mut limits = Costs::default();
    for (unit, amount) in asked {
        let added = amount.to_string().parse().map_err(budget::CostsError::from);
        let added = added.and_then(|amount| limits.add(unit, amount));
        added.map_err(|error| ApiError::BadField {
            field,
            reason: format!("is refused: {error}"),
        })?;
    }
    if limits.is_empty() {
        let reason =
            "names no unit: write one with its limit, as in {\"tokens\": 100000}".to_owned();
        return Err(ApiError::BadField { field, reason });
    }
    Ok(limits)
}

async fn view(api: &Api, id: &PromiseId) -> Result<BudgetView, ApiError> {
    let promise = api.invocation(id).await?.promise;
    let store = api.look().await?;
    let accounts = accounts(&*store, &promise).await?;
    let below = store.read().budgets_below(id).await?;
    let below = below.iter().map(|(account, budget)| shown(account, budget)).collect();
    Ok(BudgetView { accounts, below })
}

/// Reads the budgets that an execution draws on.
pub(crate) async fn accounts(
    store: &dyn Store,
    promise: &Promise,
) -> Result<Vec<BudgetAccount>, ApiError> {
    let mut accounts = Vec::new();
    for account in promise.accounts() {
        let found = store.read().budget(&account).await?;
        accounts.extend(found.map(|budget| shown(&account, &budget)));
    }
    Ok(accounts)
}

/// Costs as numbers of JSON.
pub(crate) fn numbers(costs: &Costs) -> BTreeMap<String, Number> {
    costs.iter().map(|(unit, amount)| (unit.to_string(), unit_number(amount))).collect()
}

fn shown(account: &PromiseId, budget: &Budget) -> BudgetAccount {
    BudgetAccount { id: account.to_string(), units: units(&budget.units) }
}

fn units(units: &BTreeMap<Text, Allowance>) -> BTreeMap<String, BudgetUnit> {
    let unit = |allowance: &Allowance| BudgetUnit {
        limit: unit_number(allowance.limit),
        spent: unit_number(allowance.spent),
        remaining: unit_number(allowance.remaining()),
    };
    units.iter().map(|(name, allowance)| (name.to_string(), unit(allowance))).collect()
}
