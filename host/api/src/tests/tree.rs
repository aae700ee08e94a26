//! Trees through modules and external workers, in pages and within bounds.

use std::collections::BTreeSet;

use segno_core::{
    command::{Command, FenceOperation},
    promise::NewPromise,
    value::Value as Stored,
};
use serde_json::{Value, json};

use super::ApiWorld;
use crate::testing::new_promise;

fn new(id: &str, tags: &[(&str, &str)]) -> NewPromise {
    let param = Stored::of(&b"{\"func\":\"pack\",\"args\":[]}"[..]);
    NewPromise { param, ..new_promise(id, tags) }
}

async fn make(world: &ApiWorld, id: &str, tags: &[(&str, &str)]) {
    world.command(Command::PromiseCreate(new(id, tags))).await;
}

/// A workflow that called an external worker, whose steps are recorded and which called a workflow.
async fn both_worlds() -> ApiWorld {
    let world = ApiWorld::shop().await;
    world.start("order").await.ok();
    let claim = world.acquire("order").await;
    let promises = [
        new("order/0", &[("target", "poll://any@packers")]),
        new("order/1", &[("timer", "true")]),
        new("order/p/approval", &[]),
    ];
    world.fence(&claim, promises.map(|new| FenceOperation::Create { new, request: None })).await;
    make(&world, "order/0:0", &[("parent", "order/0"), ("resonate:scope", "local")]).await;
    let called = [("parent", "order/0"), ("target", "wasm://shop/ship")];
    make(&world, "order/0:1", &called).await;
    world.suspend(claim, ["order/0".into(), "order/1".into()]).await;
    world
}

async fn tree(world: &ApiWorld, id: &str, query: &str) -> Value {
    world.get(&format!("/v1/promises/{}/tree?{query}", id.replace('/', "%2F"))).await.ok()
}

fn ids(page: &Value) -> Vec<&str> {
    let nodes = page["nodes"].as_array().expect("nodes").iter();
    nodes.map(|node| node["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn a_tree_goes_on_across_worlds_and_says_what_each_is_and_waits_for() {
    let world = both_worlds().await;
    let page = tree(&world, "order", "").await;
    assert_eq!(
        ids(&page),
        ["order", "order/0", "order/0:0", "order/0:1", "order/1", "order/p/approval"]
    );
    assert_eq!(page["path"], json!([]));
    let nodes = page["nodes"].as_array().expect("nodes");
    let shown = |field: &str| nodes.iter().map(|node| node[field].clone()).collect::<Vec<_>>();
    assert_eq!(shown("kind"), ["call", "call", "step", "call", "timer", "promise"]);
    assert_eq!(shown("depth"), [0, 1, 2, 2, 1, 1]);
    assert_eq!(shown("children"), [3, 2, 0, 0, 0, 0]);
    assert_eq!(nodes[0]["waits"], json!(["order/0", "order/1"]));
    assert_eq!((&nodes[0]["state"], &nodes[0]["function"]), (&json!("suspended"), &json!("ship")));
    assert_eq!(nodes[1]["target"], "poll://any@packers");
    assert_eq!((&nodes[1]["function"], &nodes[3]["function"]), (&json!("pack"), &json!("ship")));
    assert_eq!(nodes[3]["parent"], "order/0");
}

#[tokio::test]
async fn what_is_in_the_middle_shows_what_is_below_it_and_whose_it_is() {
    let world = both_worlds().await;
    let page = tree(&world, "order/0", "").await;
    assert_eq!(ids(&page), ["order/0", "order/0:0", "order/0:1"]);
    assert_eq!(page["path"], json!(["order"]));
    let page = tree(&world, "order/0:1", "").await;
    assert_eq!((ids(&page), &page["path"]), (vec!["order/0:1"], &json!(["order", "order/0"])));
    world.get("/v1/promises/nothing/tree").await.problem(404, "unknown-promise");
}

/// A root with many children, some of which have children, with further levels below one of them.
async fn wide() -> (ApiWorld, Vec<String>) {
    let world = ApiWorld::new();
    let mut all = Vec::new();
    make(&world, "r", &[("parent", "r")]).await;
    all.push("r".to_owned());
    for n in 0..23 {
        let child = format!("r:{n}");
        make(&world, &child, &[("parent", "r")]).await;
        all.push(child.clone());
        for m in 0..n % 4 {
            let grandchild = format!("{child}.{m}");
            make(&world, &grandchild, &[("parent", &child)]).await;
            all.push(grandchild.clone());
            if n == 7 {
                make(&world, &format!("{grandchild}.0"), &[("parent", &grandchild)]).await;
                all.push(format!("{grandchild}.0"));
            }
        }
    }
    (world, all)
}

#[tokio::test]
async fn pages_of_every_size_show_every_node_once_and_in_the_same_order() {
    let (world, all) = wide().await;
    for limit in [1, 2, 3, 7, 16, 1000] {
        let mut seen = Vec::new();
        let mut after = String::new();
        loop {
            let page = tree(&world, "r", &format!("limit={limit}{after}")).await;
            assert!(ids(&page).len() <= limit, "{limit}");
            seen.extend(ids(&page).into_iter().map(str::to_owned));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(seen, all, "{limit} a page");
    }
}

#[tokio::test]
async fn bounds_leave_out_children_and_say_how_many_page_by_page() {
    let (world, _) = wide().await;
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = tree(&world, "r", &format!("depth=2&width=2&limit=2{after}")).await;
        let nodes = page["nodes"].as_array().expect("nodes");
        seen.extend(nodes.iter().map(|node| {
            (node["id"].as_str().expect("an id").to_owned(), node["left_out"].as_u64().unwrap_or(0))
        }));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let seen: Vec<(&str, u64)> = seen.iter().map(|(id, out)| (id.as_str(), *out)).collect();
    assert_eq!(
        seen,
        [("r", 21), ("r:21", 0), ("r:21.0", 0), ("r:22", 0), ("r:22.0", 0), ("r:22.1", 0)]
    );
    let page = tree(&world, "r:7", "depth=1&width=1").await;
    assert_eq!(ids(&page), ["r:7", "r:7.2"]);
    assert_eq!(
        (&page["nodes"][0]["left_out"], &page["nodes"][1]["left_out"]),
        (&json!(2), &json!(1))
    );
    let page = tree(&world, "r", "depth=0").await;
    assert_eq!((ids(&page), &page["nodes"][0]["left_out"]), (vec!["r"], &json!(23)));
}

/// A workflow with 40 timers that waits for the 21st.
async fn long() -> ApiWorld {
    let world = ApiWorld::shop().await;
    world.start("order").await.ok();
    let claim = world.acquire("order").await;
    let create = |index: u32| FenceOperation::Create {
        new: new(&format!("order/{index}"), &[("timer", "true")]),
        request: None,
    };
    world.fence(&claim, (0..40).map(create)).await;
    world.suspend(claim, ["order/20".into()]).await;
    world
}

#[tokio::test]
async fn of_many_children_the_first_the_latest_and_the_awaited_are_shown() {
    let world = long().await;
    let shown = ["order", "order/0", "order/1", "order/20"];
    let latest = ["order/34", "order/35", "order/36", "order/37", "order/38", "order/39"];
    let page = tree(&world, "order", "width=8").await;
    assert_eq!(ids(&page), [&shown[..], &latest].concat());
    let nodes = page["nodes"].as_array().expect("nodes");
    assert_eq!((&nodes[0]["children"], &nodes[0]["left_out"]), (&json!(40), &json!(31)));
    let gaps: Vec<&Value> = nodes.iter().filter(|node| node["after_gap"] == true).collect();
    assert_eq!(gaps.iter().map(|node| &node["id"]).collect::<Vec<_>>(), ["order/20"]);
    // The same nodes in pages of any size.
    for limit in 1..12 {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let page = tree(&world, "order", &format!("width=8&limit={limit}{after}")).await;
            assert!(ids(&page).len() <= limit, "{limit}");
            seen.extend(ids(&page).into_iter().map(str::to_owned));
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={}", next.replace('/', "%2F"));
        }
        assert_eq!(seen, [&shown[..], &latest].concat(), "{limit} a page");
    }
    // An awaited child among the latest ones is shown once.
    assert_eq!(ids(&tree(&world, "order", "width=39").await).len(), 40);
}

#[tokio::test]
async fn a_ring_of_parents_is_shown_once() {
    let world = ApiWorld::new();
    for (id, parent) in [("a", "c"), ("b", "a"), ("c", "b")] {
        make(&world, id, &[("parent", parent)]).await;
    }
    let page = tree(&world, "a", "depth=64").await;
    assert_eq!(ids(&page), ["a", "b", "c"]);
    assert_eq!(page["path"], json!(["b", "c"]));
    make(&world, "d", &[("parent", "c")]).await;
    let page = tree(&world, "a", "limit=3").await;
    assert_eq!(page["next"], "1.1:c");
    assert_eq!(ids(&tree(&world, "a", "limit=3&after=1.1:c").await), ["d"]);
}

#[tokio::test]
async fn queries_that_make_no_sense_are_refused_by_name() {
    let (world, _) = wide().await;
    for (query, field) in [
        ("depth=65", "depth"),
        ("width=0", "width"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("after=7", "after"),
        ("after=1:nobody", "after"),
        ("after=1.1:r:0", "after"),
        ("after=x:r:0", "after"),
    ] {
        let answer = world.get(&format!("/v1/promises/r/tree?{query}")).await;
        assert!(answer.problem(400, "invalid-field").contains(field), "{query}");
    }
    world.get("/v1/promises/r/tree?deep=1").await.problem(400, "invalid-query");
}

/// A tree with ten thousand children needs no more statements than one with ten.
#[tokio::test]
async fn a_wide_tree_is_cut_and_whole_in_pages() {
    let world = ApiWorld::new();
    make(&world, "r", &[]).await;
    for n in 0..10_500 {
        make(&world, &format!("r:{n}"), &[("parent", "r")]).await;
    }
    let page = tree(&world, "r", "width=20").await;
    assert_eq!(ids(&page).len(), 21);
    assert_eq!(
        (&page["nodes"][0]["children"], &page["nodes"][0]["left_out"]),
        (&json!(10_000), &json!(9_980))
    );
    let mut seen = BTreeSet::new();
    let mut after = String::new();
    loop {
        let page = tree(&world, "r", &format!("limit=1000{after}")).await;
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen.len(), 10_501);
}
