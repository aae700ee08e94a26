//! Graphs: runs that end well, and a run of which a node fails.

use segno::{
    ActivityContext, Context, Error, Result, RetryPolicy,
    graph::{Graph, Input, Output, value},
    serde_json::{Value, json},
};

use crate::{HOUR, millis};

#[segno::activity]
pub async fn weigh(_ctx: ActivityContext, text: String) -> Result<usize> {
    Ok(text.len())
}

#[segno::activity]
pub async fn join(_ctx: ActivityContext, (left, right): (usize, usize)) -> Result<usize> {
    Ok(left + right)
}

#[segno::workflow(name = "second-try")]
pub async fn second_try(ctx: Context, weight: usize) -> Result<usize> {
    let doubled = ctx.run("double", move || weight * 2).await?;
    if ctx.id().ends_with("/0") {
        return Err(Error::with_code(503, "not at once"));
    }
    Ok(doubled)
}

#[segno::graph]
pub fn weights(graph: &Graph, text: Input<String>) -> Output<usize> {
    graph.call("join", join, (graph.call("left", weigh, text), value(1)))
}

#[segno::graph(name = "graph-run")]
pub fn graph_run(
    graph: &Graph,
    text: Input<String>,
) -> (Output<usize>, Output<Option<usize>>, Output<Option<usize>>) {
    graph.max_parallel(4);
    let first = graph.call("first", weights, text);
    let second = graph.call("second", weigh, text);
    let joined = graph.call("join", join, (first, second));
    let retry = RetryPolicy::exponential().initial(millis(50)).max_attempts(3);
    let tried = graph.call("try", second_try, joined).retry(retry);
    let approved: Output<bool> = graph.promise("approve", joined);
    let released: Output<String> = graph.signal("release", "release").timeout(HOUR);
    let rested = graph.sleep("rest", millis(20)).after(released);
    let light = graph.call("light", weigh, "light");
    let light = light.when(joined.below(3) | approved.is(false));
    let heavy = graph.call("heavy", weigh, "heavy").after(rested);
    let heavy = heavy.when(joined.at_least(3) & approved.is(true));
    (tried, light, heavy)
}

#[segno::data]
pub struct Refused {
    drink: String,
}

#[segno::activity]
pub async fn refuse(_ctx: ActivityContext, drink: String) -> Result<String> {
    Err(Error::terminal(409, format!("no {drink}")).with_details(&Refused { drink }))
}

#[segno::activity]
pub async fn accept(_ctx: ActivityContext, drink: String) -> Result<String> {
    Ok(drink)
}

#[segno::graph]
pub fn breaks(graph: &Graph) -> (Output<String>, Output<String>) {
    let fine = graph.call("fine", accept, "tea");
    let after = graph.call("after", accept, graph.call("wrong", refuse, "milk"));
    let rested = graph.sleep("rest", millis(50)).after(fine);
    (after, graph.call("end", accept, "sugar").after(after + rested))
}

/// The code, the message and the details of a failure.
fn failed<T>(result: Result<T>) -> Option<(u32, String, Option<Value>)> {
    let error = result.err()?;
    Some((error.code(), error.message().to_owned(), error.details()))
}

#[segno::workflow(name = "graph-failure")]
pub async fn graph_failure(ctx: Context) -> Result<Vec<Option<(u32, String, Option<Value>)>>> {
    let wrong = json!({ "nodes": { "a": { "call": "accept", "needs": ["b"] } } });
    let slow = json!({
        "nodes": { "slow": { "sleep": "1d" }, "wrong": { "call": "refuse", "input": "salt" } },
        "on_failure": "fail-fast",
    });
    Ok(vec![
        failed(ctx.call(breaks, &()).await),
        failed(ctx.graph::<_, _, Value>(&wrong, &()).await),
        failed(ctx.graph::<_, _, Value>(&slow, &()).await),
    ])
}
