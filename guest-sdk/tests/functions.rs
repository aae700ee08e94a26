//! The functions that the attributes generate.

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use segno::{ActivityContext, Context, Function, Item, Result, rand_core::Rng, testing::Test};

/// Adds numbers.
///
/// Not part of the summary.
#[segno::workflow(name = "sum-of", timeout = "1h 30m", signals)]
async fn sum(_ctx: Context, Numbers { numbers, .. }: Numbers) -> Result<i64> {
    Ok(numbers.iter().sum())
}

#[segno::activity(timeout = "2s", retry(initial = "10ms", factor = 1.5, max = "1s", jitter = 0, max_attempts = 3, non_retryable = [503, 504]))]
async fn effect(_ctx: ActivityContext) -> std::result::Result<(), std::num::ParseIntError> {
    Ok(())
}

/// The numbers to add.
#[segno::data]
#[derive(Debug)]
struct Numbers {
    /// The numbers.
    numbers: Vec<i64>,
    #[serde(default)]
    note: Option<String>,
}

segno::module!(sum, effect);

fn defaults_of<A, I: Item<A>>(_: I) -> (&'static str, Option<&'static str>, segno::Defaults) {
    (I::Function::NAME, I::Function::SUMMARY, I::Function::defaults())
}

#[test]
fn the_attributes_say_what_calls_get_by_default() {
    let (name, summary, defaults) = defaults_of(sum);
    assert_eq!((name, summary), ("sum-of", Some("Adds numbers.")));
    assert!(defaults.signals);
    assert_eq!(defaults.timeout.unwrap().as_secs(), 5_400);

    let (name, summary, defaults) = defaults_of(effect);
    assert_eq!((name, summary), ("effect", None));
    let expected = segno::RetryPolicy::exponential()
        .initial(std::time::Duration::from_millis(10))
        .factor(1.5)
        .max(std::time::Duration::from_secs(1))
        .jitter(0.0)
        .max_attempts(3)
        .non_retryable([503, 504]);
    assert_eq!(defaults.retry, Some(expected));
}

#[test]
fn the_module_lists_its_functions_with_their_schemas() {
    let module = segno_module();
    assert_eq!(module.names().collect::<Vec<_>>(), ["sum-of", "effect"]);
    let (input, output) = module.schemas("sum-of").unwrap();
    let input: serde_json::Value = serde_json::from_str(&input).unwrap();
    assert_eq!(input["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(input["properties"]["numbers"]["description"], "The numbers.");
    assert_eq!(input["required"], serde_json::json!(["numbers"]));
    assert!(output.contains("int64"));
    assert!(module.schemas("nobody").is_none());
}

#[test]
fn a_function_can_be_awaited_directly() {
    #[segno::workflow]
    async fn outer(ctx: Context) -> Result<i64> {
        sum(ctx.clone(), Numbers { numbers: vec![1, 2], note: None }).await
    }
    assert_eq!(Test::new().run(outer, &()).unwrap(), 3);
}

#[test]
fn random_numbers_follow_from_the_seed() {
    #[segno::workflow]
    async fn drawing(ctx: Context) -> Result<(u64, u32, f64, String)> {
        let mut random = ctx.random();
        let below = random.below(10);
        assert!(below < 10 && random.below(0) == 0);
        Ok((below, random.next_u32(), random.f64(), random.uuid()))
    }
    let draw = |seed| {
        let mut test = Test::new();
        test.seed(seed);
        test.run(drawing, &()).unwrap()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let uuid = draw(3).3;
    assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
}
