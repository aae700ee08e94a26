use segno::{
    Context,
    graph::plan_of,
    serde_json::{self, Value, json},
    testing::Test,
};
use segno_graph::plan::Plan;

use super::*;

const NORTH: &str = include_str!("../data/north.csv");
const SOUTH: &str = include_str!("../data/south.csv");
const PLAN: &str = include_str!("../plan.toml");

fn sources() -> Sources {
    Sources { north: "/in/north.csv".to_owned(), south: "/in/south.csv".to_owned() }
}

fn test(north: &str, south: &str) -> Test {
    let mut test = Test::new();
    test.file("/in/north.csv", north).file("/in/south.csv", south);
    test
}

fn text(test: &Test, path: &str) -> String {
    String::from_utf8(test.file_content(path).expect(path)).expect("it is a text")
}

#[test]
fn two_lists_become_one_report() {
    let mut test = test(NORTH, SOUTH);
    let report = test.run(prices, &sources()).unwrap().expect("there are prices");
    let expected = Report {
        articles: 5,
        dropped: 2,
        cheapest: ("sock".to_owned(), 300),
        total_cents: 1150 + 850 + 14900 + 990 + 300,
    };
    assert_eq!(report, expected);
    assert_eq!(
        text(&test, "/out/prices.csv"),
        "article,cents\ncoat,14900\nglove,850\nhat,1150\nscarf,990\nsock,300\n"
    );
    let written: Report = serde_json::from_str(&text(&test, "/out/report.json")).unwrap();
    assert_eq!(written, expected);
    assert!(test.logged("1 lines of /in/north.csv have no price"));
    test.replay_check();
}

#[test]
fn without_prices_there_is_no_report() {
    let mut test = test("article,cents\n", "hat,none\n");
    assert_eq!(test.run(prices, &sources()).unwrap(), None);
    assert_eq!(test.file_content("/out/report.json"), None);
    assert!(test.calls(report).is_empty());
}

#[test]
fn a_list_that_is_not_there_fails_the_graph_and_the_other_is_cleaned() {
    let mut test = Test::new();
    test.file("/in/south.csv", SOUTH);
    let error = test.run(prices, &sources()).unwrap_err();
    assert!(error.message().starts_with("node `clean_north` failed: "), "{error}");
    let details: Value = error.details().expect("what failed");
    assert_eq!(details["failed"]["clean_north"]["code"], 404);
    assert_eq!(details["not_run"], json!(["merge", "report"]));
    assert!(test.file_content("/out/south.csv").is_some());
}

#[test]
fn a_busy_disk_is_asked_again() {
    let mut test = test(NORTH, SOUTH);
    let mut attempts = 0;
    test.on(clean, move |(_, file)| {
        attempts += 1;
        match attempts {
            1 => Err(Error::retryable("the disk is busy")),
            _ => Ok(Prices { file, articles: 0, dropped: 0 }),
        }
    });
    test.on(merge, |(left, _)| Ok(left));
    assert_eq!(test.run(prices, &sources()).unwrap(), None);
    assert_eq!(test.elapsed(), Duration::from_secs(1));
}

#[test]
fn the_plan_in_the_file_is_the_one_of_the_graph() {
    let from_file: Plan = toml::from_str(PLAN).unwrap();
    let from_code = Plan::from_json(&plan_of(prices).to_string()).unwrap();
    let [from_file, from_code] =
        [from_file, from_code].map(|plan| plan.check().unwrap().canonical());
    assert_eq!(from_file, from_code);
}

#[test]
fn the_plan_in_the_file_runs() {
    #[segno::workflow]
    async fn run(ctx: Context, (plan, sources): (Value, Sources)) -> Result<Value> {
        ctx.graph(&plan, &sources).await
    }
    let mut test = test(NORTH, SOUTH);
    let outputs = test.run(run, &(toml::from_str(PLAN).unwrap(), sources())).unwrap();
    assert_eq!(outputs["report"]["articles"], 5);
}
