//! A test reports functions that are missing in the list of a module.

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use segno::{ActivityContext, Context, Result, testing::Test};

#[segno::workflow]
async fn calls(ctx: Context, which: String) -> Result<u64> {
    match which.as_str() {
        "listed" => ctx.call(listed, &1).await,
        "forgotten" => ctx.call(forgotten, &1).await,
        "deeper" => ctx.call(between, &()).await,
        "sent" => ctx.send(forgotten, &1).await.map(|_| 0),
        "elsewhere" => ctx.call_named("wasm://shop/price", &1).await,
        name => ctx.call_named(name, &1).await,
    }
}

#[segno::workflow]
async fn between(ctx: Context) -> Result<u64> {
    ctx.call(forgotten, &2).await
}

#[segno::activity]
async fn listed(_ctx: ActivityContext, number: u64) -> Result<u64> {
    Ok(number)
}

#[segno::activity]
async fn forgotten(_ctx: ActivityContext, number: u64) -> Result<u64> {
    Ok(number)
}

/// A function of a test, which no component has.
#[segno::workflow]
async fn outside(ctx: Context) -> Result<u64> {
    ctx.call(forgotten, &3).await
}

segno::module!(calls, between, listed);

fn run(which: &str) -> Result<u64> {
    let mut test = Test::new();
    test.on_named("wasm://shop/price", |number: u64| Ok(number + 1));
    test.on_named("misspelt", |number: u64| Ok(number));
    test.run(calls, &which.to_owned())
}

#[test]
fn what_is_listed_or_elsewhere_is_called() {
    assert_eq!(run("listed").unwrap(), 1);
    assert_eq!(run("elsewhere").unwrap(), 2);
}

#[test]
#[should_panic(
    expected = "`calls` calls `forgotten`, which is not in the list of the module: a host would answer 404. Add it: `segno::module!(calls, between, listed, forgotten);`"
)]
fn a_call_of_a_function_that_was_forgotten_fails_the_test() {
    drop(run("forgotten"));
}

#[test]
#[should_panic(expected = "`between` calls `forgotten`")]
fn so_does_one_by_a_function_that_is_called() {
    drop(run("deeper"));
}

#[test]
#[should_panic(expected = "`calls` sends `forgotten`")]
fn so_does_a_send() {
    drop(run("sent"));
}

#[test]
#[should_panic(expected = "`calls` calls `misspelt`")]
fn so_does_a_name_that_a_stand_in_answers() {
    drop(run("misspelt"));
}

#[test]
fn a_workflow_that_is_in_no_list_may_call_anything() {
    assert_eq!(Test::new().run(outside, &()).unwrap(), 3);
}
