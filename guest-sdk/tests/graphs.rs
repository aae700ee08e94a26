//! Graphs declared with `#[segno::graph]`: their plans and runs.
#![cfg(feature = "graph")]

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use std::time::Duration;

use segno::{
    __private::Listed,
    ActivityContext, Context, Defaults, Error, Function, Item, Module, Result, RetryPolicy,
    graph::{Graph, Input, Order, Output, Request, plan_of, record, value},
    http::Response,
    serde_json::{Value, json},
    testing::Test,
};

const HOUR: Duration = Duration::from_secs(60 * 60);

#[segno::data]
#[derive(Clone, Debug, PartialEq)]
struct Table {
    source: String,
    rows: u64,
}

#[segno::data]
#[derive(Debug, PartialEq)]
struct Sources {
    north: String,
    south: String,
    #[serde(default)]
    quiet: bool,
}

fn sources() -> Sources {
    Sources { north: "north.csv".to_owned(), south: "s.csv".to_owned(), quiet: false }
}

#[segno::activity]
async fn fetch(_ctx: ActivityContext, source: String) -> Result<Table> {
    let rows = source.len() as u64;
    Ok(Table { source, rows })
}

#[segno::activity]
async fn merge(_ctx: ActivityContext, (left, right): (Table, Table)) -> Result<Table> {
    let source = format!("{}+{}", left.source, right.source);
    Ok(Table { source, rows: left.rows + right.rows })
}

#[segno::activity]
async fn total(_ctx: ActivityContext, tables: Vec<Table>) -> Result<u64> {
    Ok(tables.iter().map(|table| table.rows).sum())
}

#[segno::activity]
async fn report(_ctx: ActivityContext, table: Table) -> Result<String> {
    Ok(format!("{} rows of {}", table.rows, table.source))
}

#[segno::activity]
async fn tell(_ctx: ActivityContext, report: Option<String>) -> Result<bool> {
    Ok(report.is_some())
}

/// Fetches two tables, merges them, and reports what there is.
///
/// Not part of the summary.
#[segno::graph(name = "daily-prices", timeout = "8h")]
fn prices(graph: &Graph, sources: Input<Sources>) -> (Output<Option<String>>, Output<bool>) {
    let north = graph.call("fetch_north", fetch, sources.at("/north"));
    let south = graph
        .call("fetch_south", fetch, sources.at("/south"))
        .retry(RetryPolicy::exponential().initial(HOUR).max(2 * HOUR).max_attempts(3))
        .timeout(4 * HOUR);
    let merged = graph.call("merge", merge, (north, south));
    let report = graph
        .call("report", report, merged)
        .when(merged.at("/rows").above(10_u64) & !sources.at("/quiet").is(true));
    let told = graph.call("tell", tell, report);
    graph.max_parallel(8).fail_fast();
    (report, told)
}

fn of<A, I: Item<A>>(_: I) -> (&'static str, Option<&'static str>, Defaults) {
    (I::Function::NAME, I::Function::SUMMARY, I::Function::defaults())
}

fn module_of<A, I: Item<A>>(graph: I) -> Module {
    Module::of([Listed::listings(graph)])
}

#[test]
fn a_graph_is_a_workflow_of_its_name_with_its_schemas() {
    let (name, summary, defaults) = of(prices);
    let says = "Fetches two tables, merges them, and reports what there is.";
    assert_eq!((name, summary), ("daily-prices", Some(says)));
    assert_eq!(defaults.timeout, Some(8 * HOUR));
    let (input, output) = module_of(prices).schemas("daily-prices").unwrap();
    assert!(input.contains("north") && input.contains("quiet"), "{input}");
    assert!(output.contains("null") && output.contains("boolean"), "{output}");
}

#[test]
fn a_graph_makes_a_plan() {
    let place = |from: &str| json!({ "$from": from });
    let part = |from: &str, at: &str| json!({ "$from": from, "at": at });
    let above = json!({ "from": "merge", "at": "/rows", "above": 10 });
    let quiet = json!({ "not": { "from": "input", "at": "/quiet", "is": true } });
    let retry = json!({ "initial": "1h", "factor": 2.0, "max": "2h", "max_attempts": 3 });
    let expected = json!({
        "name": "daily-prices",
        "max_parallel": 8,
        "on_failure": "fail-fast",
        "outputs": ["report", "tell"],
        "nodes": {
            "fetch_north": { "call": "fetch", "input": part("input", "/north") },
            "fetch_south": {
                "call": "fetch",
                "input": part("input", "/south"),
                "retry": retry,
                "timeout": "4h",
            },
            "merge": {
                "call": "merge",
                "needs": ["fetch_north", "fetch_south"],
                "input": [place("fetch_north"), place("fetch_south")],
            },
            "report": {
                "call": "report",
                "needs": ["merge"],
                "input": place("merge"),
                "when": { "all": [above, quiet] },
            },
            "tell": { "call": "tell", "needs": ["report"], "input": place("report") },
        },
    });
    assert_eq!(plan_of(prices), expected);
}

#[test]
fn a_graph_runs_its_functions_and_gives_what_it_returns() {
    let mut test = Test::new();
    let says = "14 rows of north.csv+s.csv".to_owned();
    assert_eq!(test.run(prices, &sources()).unwrap(), (Some(says), true));
    assert_eq!(test.calls(fetch), ["north.csv", "s.csv"]);
    test.replay_check();

    let quiet = Sources { quiet: true, ..sources() };
    assert_eq!(test.run(prices, &quiet).unwrap(), (None, false));
    assert_eq!(test.calls(report), []);
}

#[test]
fn stand_ins_and_policies_are_those_of_calls() {
    let mut test = Test::new();
    test.on(fetch, |source| match source.as_str() {
        "s.csv" => Err(Error::retryable("the line is busy")),
        _ => Ok(Table { source, rows: 1 }),
    });
    let error = test.run(prices, &sources()).unwrap_err();
    assert_eq!(error.message(), "node `fetch_south` failed: the line is busy");
    assert_eq!(test.elapsed(), 3 * HOUR);
    assert_eq!(error.details::<Value>().unwrap()["not_run"], json!(["merge", "report", "tell"]));
}

#[test]
fn a_graph_is_called_by_a_workflow_and_refuses_a_wrong_input() {
    #[segno::workflow]
    async fn nightly(ctx: Context, sources: Sources) -> Result<bool> {
        let (report, told) = ctx.call(prices, &sources).await?;
        Ok(report.is_some() && told)
    }
    let mut test = Test::new();
    assert!(test.run(nightly, &sources()).unwrap());
    test.replay_check();
    assert_eq!(test.run_json(prices, &json!({ "north": "a" })).unwrap_err().code(), 400);
}

/// Every kind of node.
#[segno::graph]
fn kinds(graph: &Graph, page: Input<String>) -> Output<Value> {
    let elsewhere: Output<u64> = graph.call_named("elsewhere", "wasm://shop/count", (page, "eu"));
    let remote: Output<u64> =
        graph.call_remote("remote", "poll://any@packers", "pack", (elsewhere, value(2_u8)));
    let request = Request::post(page).header("accept", "text/html").json([elsewhere, remote]);
    let answer = graph.http("page", request);
    let pause = graph.sleep("pause", 90 * Duration::from_secs(60));
    let shown = record::<Value>().field("of", page).field("status", answer.at::<u16>("/status"));
    let approved: Output<bool> = graph.promise("approve", shown).timeout(9 * HOUR).after(pause);
    let gate = graph.signal::<u64>("gate", "opened").when(approved.is(true) | elsewhere.exists());
    graph.call_named("end", "echo", (gate, approved))
}

#[test]
fn every_kind_of_node_is_written_as_plans_have_it() {
    let nodes = plan_of(kinds)["nodes"].take();
    let place = |from: &str| json!({ "$from": from });
    let expected = json!({
        "elsewhere": { "call": "wasm://shop/count", "input": [place("input"), "eu"] },
        "remote": {
            "call": "poll://any@packers",
            "function": "pack",
            "needs": ["elsewhere"],
            "input": [place("elsewhere"), 2],
        },
        "page": {
            "http": {
                "method": "POST",
                "url": place("input"),
                "headers": { "accept": "text/html", "content-type": "application/json" },
                "body": [place("elsewhere"), place("remote")],
            },
            "needs": ["elsewhere", "remote"],
        },
        "pause": { "sleep": "1h 30m" },
        "approve": {
            "promise": true,
            "input": { "of": place("input"), "status": { "$from": "page", "at": "/status" } },
            "needs": ["page", "pause"],
            "timeout": "9h",
        },
        "gate": {
            "signal": "opened",
            "needs": ["elsewhere", "approve"],
            "when": { "any": [
                { "from": "approve", "is": true },
                { "from": "elsewhere", "exists": true },
            ] },
        },
        "end": { "call": "echo", "needs": ["approve", "gate"], "input": [place("gate"), place("approve")] },
    });
    assert_eq!(nodes, expected);
}

#[test]
fn every_kind_of_node_runs() {
    let mut test = Test::new();
    test.on_named("wasm://shop/count", |(page, zone): (String, String)| {
        assert_eq!((page.as_str(), zone.as_str()), ("http://shop/", "eu"));
        Ok(4)
    });
    test.on_named("poll://any@packers#pack", |(left, right): (u64, u64)| Ok(left + right));
    test.on_http("POST", "http://shop/", |request| {
        assert_eq!(request.json::<[u64; 2]>()?, [4, 6]);
        Ok(Response::new(200, "fine"))
    });
    test.on_named("echo", Ok::<Value, _>);
    test.promise("approve").after(HOUR).resolve(&true);
    test.promise("sig/opened").after(7 * HOUR).resolve(&5);
    let page = "http://shop/".to_owned();
    assert_eq!(test.run(kinds, &page).unwrap(), json!([5, true]));
    assert_eq!(test.elapsed(), 7 * HOUR);
    test.replay_check();
}

/// Two of them, merged.
#[segno::graph]
fn pair(graph: &Graph, sources: Input<Sources>) -> Output<Table> {
    let north = graph.call("north", fetch, sources.at("/north"));
    graph.call("both", merge, (north, graph.call("south", fetch, sources.at("/south"))))
}

/// A graph that only has another.
#[segno::graph]
fn wrapped(graph: &Graph, sources: Input<Sources>) -> Output<Option<Table>> {
    graph.graph("pair", pair, sources).when(sources.at("/quiet").is(false))
}

#[segno::graph]
fn nested(graph: &Graph, sources: Input<Sources>) -> (Output<Option<Table>>, Output<u64>) {
    let wrapped = graph.graph("wrapped", wrapped, sources);
    let pair = graph.graph("pair", pair, sources).when(wrapped.at("/rows").above(10_u64));
    (pair, graph.call("total", total, vec![wrapped.at("")]))
}

#[test]
fn a_graph_in_a_graph_has_the_value_that_it_returns() {
    let plan = plan_of(nested);
    let when = json!({ "from": "wrapped", "at": "/pair/both/rows", "above": 10 });
    assert_eq!(plan["nodes"]["pair"]["when"], when);
    assert_eq!(plan["nodes"]["wrapped"]["graph"]["nodes"]["pair"]["graph"], plan_of(pair));
    let mut test = Test::new();
    let both = Table { source: "north.csv+s.csv".to_owned(), rows: 14 };
    assert_eq!(test.run(nested, &sources()).unwrap(), (Some(both), 14));
    assert_eq!(test.calls(fetch).len(), 4);
    let both = test.run(wrapped, &Sources { quiet: true, ..sources() }).unwrap();
    assert_eq!(both, None);
}

#[segno::graph]
fn fan(graph: &Graph, sources: Input<Vec<String>>) -> Output<u64> {
    let fetch = |at: usize| graph.call(format!("fetch-{at}"), fetch, sources.at(&format!("/{at}")));
    let tables: Vec<Output<Table>> = (0..3).map(fetch).collect();
    graph.call("total", total, tables)
}

#[test]
fn a_list_of_outputs_is_the_input_of_one_that_takes_a_list() {
    let sources = ["a", "bb", "ccc"].map(str::to_owned).to_vec();
    assert_eq!(Test::new().run(fan, &sources).unwrap(), 6);
}

#[test]
fn a_part_has_parts() {
    #[segno::graph]
    fn again(graph: &Graph, tables: Input<Vec<Table>>) -> Output<Option<Table>> {
        let first = tables.at::<Table>("/0");
        let rows = first.at::<u64>("/rows");
        graph.call("fetch", fetch, first.at("/source")).when(rows.below(5))
    }
    let table = Table { source: "a".to_owned(), rows: 4 };
    let fetched = Test::new().run(again, &vec![table]).unwrap();
    assert_eq!(fetched, Some(Table { source: "a".to_owned(), rows: 1 }));
}

/// A diamond, and a row, of an hour each.
#[segno::graph]
fn ordered(graph: &Graph) -> Output<()> {
    let sleep = |node: &str| graph.sleep(node, HOUR);
    let (a, b, c, d) = (sleep("a"), sleep("b"), sleep("c"), sleep("d"));
    graph.order(a >> (b + c) >> d);
    let late = sleep("late").after(d);
    let all: Order = [a, b, c, d].into_iter().collect();
    sleep("end").after(all + late)
}

#[test]
fn order_without_data_is_an_expression() {
    let nodes = plan_of(ordered)["nodes"].take();
    let needs = |node: &str| nodes[node]["needs"].clone();
    assert_eq!(needs("a"), Value::Null);
    assert_eq!((needs("b"), needs("c")), (json!(["a"]), json!(["a"])));
    assert_eq!(needs("d"), json!(["a", "b", "c"]));
    assert_eq!((needs("late"), needs("end")), (json!(["d"]), json!(["a", "b", "c", "d", "late"])));
    let mut test = Test::new();
    test.run(ordered, &()).unwrap();
    assert_eq!(test.elapsed(), 5 * HOUR);
}

#[segno::graph]
fn conditions(graph: &Graph, number: Input<i32>) -> Output<Option<Option<()>>> {
    let other = graph.call_named("other", "other", number);
    let tests = number.below(1) & other.at_least(2_i32) | !(other.at_most(3) & number.is_not(4));
    graph.sleep("end", HOUR).when(tests).when(other.is(5)).after(other)
}

#[test]
fn conditions_are_joined_by_operators() {
    let test = |from: &str, test: &str, number: i32| json!({ "from": from, test: number });
    let both = json!({ "all": [test("input", "below", 1), test("other", "at_least", 2)] });
    let none = json!({ "all": [test("other", "at_most", 3), test("input", "is_not", 4)] });
    let any = json!({ "any": [both, { "not": none }] });
    let when = json!({ "all": [any, test("other", "is", 5)] });
    assert_eq!(plan_of(conditions)["nodes"]["end"]["when"], when);
}

#[segno::graph]
fn twice(graph: &Graph) -> Output<()> {
    graph.sleep("pause", HOUR);
    graph.sleep("pause", HOUR)
}

#[segno::graph]
fn misnamed(graph: &Graph) -> Output<()> {
    graph.sleep("a pause", HOUR)
}

#[test]
#[should_panic(expected = "there are two nodes `pause` in the graph: give each its own name")]
fn two_nodes_of_one_name_are_refused_when_the_module_is_described() {
    drop(module_of(twice).schemas("twice"));
}

#[test]
#[should_panic(expected = "there are two nodes `pause` in the graph: give each its own name")]
fn two_nodes_of_one_name_are_refused_when_the_graph_is_run() {
    drop(Test::new().run(twice, &()));
}

#[test]
#[should_panic(
    expected = "the graph `misnamed` cannot be run: nodes.a pause: `a pause` is no name"
)]
fn what_is_wrong_with_a_plan_is_told_when_the_module_is_described() {
    drop(module_of(misnamed).schemas("misnamed"));
}

#[test]
fn what_is_wrong_with_a_plan_is_told_when_the_graph_is_run() {
    #[segno::graph]
    fn circular(graph: &Graph) -> Output<()> {
        let (a, b) = (graph.sleep("a", HOUR), graph.sleep("b", HOUR));
        graph.order(a >> b);
        graph.order(b >> a);
        b
    }
    let error = Test::new().run(misnamed, &()).unwrap_err();
    assert!(error.message().starts_with("nodes.a pause: `a pause` is no name"), "{error}");
    let error = Test::new().run(circular, &()).unwrap_err();
    assert_eq!(error.code(), 422);
    assert!(error.message().starts_with("nodes: the graph has a cycle: a -> "), "{error}");
}

#[test]
#[should_panic(
    expected = "the output of `north` may be missing: take the one that its `when` gives"
)]
fn an_output_that_may_be_missing_is_not_taken_for_one_that_is_there() {
    #[segno::graph]
    fn wrong(graph: &Graph) -> Output<String> {
        let north = graph.call("north", fetch, "a");
        let _ = north.when(north.exists());
        graph.call("report", report, north)
    }
    drop(Test::new().run(wrong, &()));
}

#[test]
#[should_panic(
    expected = "the output of `north` may be missing: take the one that its `when` gives"
)]
fn an_output_that_may_be_missing_is_not_returned_as_one_that_is_there() {
    #[segno::graph]
    fn wrong(graph: &Graph) -> Output<Table> {
        let north = graph.call("north", fetch, "a");
        let _ = north.when(north.exists());
        north
    }
    drop(Test::new().run(wrong, &()));
}

#[test]
#[should_panic(expected = "the output of `north` is taken before its `when`")]
fn an_output_that_is_taken_gets_no_condition() {
    #[segno::graph]
    fn wrong(graph: &Graph, table: Input<bool>) -> Output<String> {
        let north = graph.call("north", fetch, "a");
        let report = graph.call("report", report, north);
        let _ = north.when(table.is(true));
        report
    }
    drop(Test::new().run(wrong, &true));
}

#[test]
#[should_panic(expected = "a node's policy names no codes")]
fn a_policy_that_a_plan_cannot_say_is_refused() {
    #[segno::graph]
    fn wrong(graph: &Graph) -> Output<Table> {
        graph.call("a", fetch, "a").retry(RetryPolicy::exponential().non_retryable([503]))
    }
    drop(Test::new().run(wrong, &()));
}
