//! Workflows that continue as new, in tests.

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use std::time::Duration;

use segno::{Context, Result, testing::Test};

/// Adds numbers; every generation reads two. The input: how many generations follow, and the sum.
#[segno::workflow(signals(add: u32))]
async fn adds(ctx: Context, input: (u32, u32)) -> Result<u32> {
    let (left, mut sum) = input;
    for _ in 0..2 {
        sum += ctx.signal::<u32>("add").await?;
    }
    match left {
        0 => Ok(sum),
        left => ctx.continue_as_new(&(left - 1, sum)),
    }
}

#[segno::workflow]
async fn calls(ctx: Context, count: u32) -> Result<u32> {
    ctx.call(counts, &count).await
}

#[segno::workflow]
async fn counts(ctx: Context, count: u32) -> Result<u32> {
    ctx.sleep(Duration::from_secs(1)).await?;
    match count {
        3 => Ok(count),
        count => ctx.continue_with_same_code(&(count + 1)),
    }
}

#[segno::workflow(promises(go: bool))]
async fn waits(ctx: Context, is_second: bool) -> Result<bool> {
    match is_second {
        true => ctx.named_promise::<bool>("go").await,
        false => ctx.continue_as_new(&true),
    }
}

#[test]
fn the_next_generation_receives_the_signals_that_were_not_read() {
    let mut test = Test::new();
    for number in 1..=6_u32 {
        test.signal("add", &number).after(Duration::from_secs(u64::from(number / 4)));
    }
    assert_eq!(test.run(adds, &(2, 0)).unwrap(), 21);
    test.replay_check();
    let records = |id: &str| test.journal(id);
    let kinds = |id: &str| -> Vec<String> {
        let shown = |record: &serde_json::Value| {
            let kind = record["command"].as_str().or_else(|| record["kind"].as_str());
            kind.unwrap_or_default().to_owned()
        };
        records(id).iter().map(shown).collect()
    };
    let first = ["started", "signal", "signal", "continue-as-new", "finished"];
    assert_eq!(kinds("test/g/1"), first);
    assert_eq!(kinds("test"), ["started", "signal", "signal", "finished"]);
    assert_eq!(records("test"), records("test/g/3"));
}

#[test]
fn a_caller_waits_for_the_last_generation() {
    let mut test = Test::new();
    assert_eq!(test.run(calls, &1).unwrap(), 3);
    assert_eq!(test.elapsed(), Duration::from_secs(3));
    test.replay_check();
}

#[test]
fn a_cancellation_reaches_the_newest_generation() {
    let mut test = Test::new();
    test.cancel_after(Duration::from_millis(1_500));
    assert!(test.run(counts, &1).unwrap_err().is_cancelled());
    assert_eq!(test.journal("test").last().unwrap()["outcome"]["failure"]["code"], 499);
}

#[test]
fn a_promise_is_settled_by_its_name_in_any_generation() {
    let mut test = Test::new();
    test.promise("go").resolve(&true);
    assert!(test.run(waits, &false).unwrap());
}
