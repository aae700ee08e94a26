//! Limits on concurrency and rate, as a module declares them.

extern crate segno_sdk as segno;

use std::time::Duration;

use segno::{
    __private::limits::{Bounds, Debounce, FunctionLimits, Order, Priority, Rate, Singleton},
    ActivityContext, Context, Result, State,
    testing::Test,
};

#[segno::workflow(limit(
    key = "customer.id",
    concurrency = 5,
    rate = "10/s",
    burst = 20,
    total_concurrency = 100,
    total_rate = "100/m",
    priority = "urgency",
    priority_order = "weighted",
))]
async fn order(ctx: Context) -> Result<()> {
    ctx.sleep(Duration::from_secs(1)).await
}

#[segno::workflow]
async fn unlimited(ctx: Context, count: usize) -> Result<()> {
    let all = (0..count).map(|_| ctx.call(send_mail, &()));
    segno::try_join_all(all).await?;
    segno::try_join_all((0..count).map(|_| ctx.call(order, &()))).await.map(|_| ())
}

/// Sends one mail.
#[segno::activity(name = "send-mail", limit(rate = "1/10s"), timeout = "1m")]
async fn send_mail(_ctx: ActivityContext) -> Result<()> {
    Ok(())
}

#[segno::object]
struct Index {
    built: State<u64>,
}

#[segno::object]
impl Index {
    #[exclusive(limit(key = "name", debounce = "5s", debounce_longest = "1m"))]
    async fn build(&mut self, _ctx: Context) -> Result<()> {
        self.built.set(&1)
    }

    #[shared(limit(singleton = "replace"))]
    async fn look(&self, _ctx: Context) -> Result<Option<u64>> {
        self.built.get().await
    }
}

segno::module!(order, unlimited, send_mail, Index);

fn nothing(function: &str) -> FunctionLimits {
    let none = Bounds { concurrency: None, rate: None };
    FunctionLimits {
        function: function.to_owned(),
        key: None,
        per_key: none,
        total: none,
        priority: None,
        singleton: None,
        debounce: None,
    }
}

#[test]
fn a_module_describes_the_limits_of_its_functions() {
    let rate = |count, period_ms, burst| Some(Rate { count, period_ms, burst });
    let debounce = Debounce { period_ms: 5_000, longest_ms: Some(60_000) };
    let expected = [
        FunctionLimits {
            key: Some("customer.id".to_owned()),
            per_key: Bounds { concurrency: Some(5), rate: rate(10, 1_000, 20) },
            total: Bounds { concurrency: Some(100), rate: rate(100, 60_000, 100) },
            priority: Some(Priority { path: "urgency".to_owned(), order: Order::Weighted }),
            ..nothing("order")
        },
        FunctionLimits {
            per_key: Bounds { concurrency: None, rate: rate(1, 10_000, 1) },
            ..nothing("send-mail")
        },
        FunctionLimits {
            key: Some("name".to_owned()),
            debounce: Some(debounce),
            ..nothing("Index/build")
        },
        FunctionLimits { singleton: Some(Singleton::Replace), ..nothing("Index/look") },
    ];
    assert_eq!(segno_module().describe_limits(), expected);
}

#[test]
fn a_limit_has_no_effect_in_a_native_test() {
    let mut test = Test::new();
    test.run(unlimited, &20).unwrap();
    assert_eq!(test.elapsed(), Duration::from_secs(1));
}
