//! Spends budgets, for the suites.

use std::time::Duration;

use segno::{
    ActivityContext, Context, Error, RemainingBudget, Result, join_all, serde_json::Value,
};

/// One call of a model.
#[segno::data]
pub struct Thought {
    /// Tokens that an attempt costs.
    tokens: u64,
    /// Number of attempts that fail, from the first on.
    #[serde(default)]
    fails: u32,
}

/// Several calls of a model.
#[segno::data]
pub struct Plan {
    /// Number of calls.
    calls: u32,
    /// Tokens of each.
    tokens: u64,
    /// Milliseconds between two calls.
    #[serde(default)]
    pause_ms: u64,
}

/// A part of the work with a budget of its own.
#[segno::data]
pub struct Order {
    /// Tokens that the part may use.
    limit: u64,
    plan: Plan,
}

/// The calls that were made, and the error that ended them.
#[segno::data]
pub struct Spending {
    done: u32,
    code: Option<u32>,
    details: Option<Value>,
}

/// Costs tokens, and fails as often as its input says.
#[segno::activity(retry(initial = "10ms", factor = 1, jitter = 0))]
pub async fn think(ctx: ActivityContext, thought: Thought) -> Result<u64> {
    ctx.cost("tokens", thought.tokens)?;
    ctx.cost("usd", thought.tokens as f64 * 0.001)?;
    match ctx.attempt() <= thought.fails {
        true => Err(Error::retryable("the model is overloaded")),
        false => Ok(thought.tokens),
    }
}

/// Calls the model until all is done or a budget is spent.
#[segno::workflow]
pub async fn spend(ctx: Context, plan: Plan) -> Result<Spending> {
    let mut spending = Spending { done: 0, code: None, details: None };
    while spending.done < plan.calls {
        let thought = Thought { tokens: plan.tokens, fails: 0 };
        if let Err(error) = ctx.call(think, &thought).await {
            return Ok(Spending { code: Some(error.code()), details: error.details(), ..spending });
        }
        spending.done += 1;
        if plan.pause_ms > 0 {
            ctx.sleep(Duration::from_millis(plan.pause_ms)).await?;
        }
    }
    Ok(spending)
}

/// Calls the model all at once, and counts the calls that were answered.
#[segno::workflow]
pub async fn spread(ctx: Context, plan: Plan) -> Result<Spending> {
    let thought = Thought { tokens: plan.tokens, fails: 0 };
    let calls = (0..plan.calls).map(|_| ctx.call(think, &thought));
    let answers = join_all(calls).await;
    let failed = answers.iter().find_map(|answer| answer.as_ref().err());
    let (code, details) = (failed.map(Error::code), failed.and_then(Error::details));
    let done = answers.iter().filter(|answer| answer.is_ok()).count() as u32;
    Ok(Spending { done, code, details })
}

/// Calls the model with attempts that fail.
#[segno::workflow]
pub async fn insist(ctx: Context, thought: Thought) -> Result<u64> {
    ctx.call(think, &thought).await
}

/// Lets a part of the work be done with a budget of its own, and says what is left of its own.
#[segno::workflow]
pub async fn delegate(ctx: Context, order: Order) -> Result<(Spending, Option<f64>)> {
    let done = ctx.call(spend, &order.plan).budget("tokens", order.limit).await?;
    let left: RemainingBudget = ctx.budget().await?;
    Ok((done, left.remaining("tokens")))
}

segno::module!(think, spend, spread, insist, delegate);
