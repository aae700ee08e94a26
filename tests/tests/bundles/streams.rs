//! Bundles carry streams: from every store, in whole, and without their values if those are hidden.

use std::{fs, path::Path};

use segno_api::model::{Invocation, SendSignal, StreamView};
use segno_client::Client;
use serde_json::{Value, json};
use tests::{guests, host_group::HostGroup, test_host::TestHost};
use throwaway_postgres::Cluster;

use super::{SEGNO, bundled, segno, text};
use crate::bundles::golden::versions;

/// A workflow whose activity writes `tokens`, and one that waits in the middle of `numbers`.
async fn run(client: &Client) {
    let teller = guests::component("teller");
    client.deploy(teller, Some("teller")).await.expect("it is a module");
    for (id, function, input) in [
        ("relayed", "relay", json!({ "items": 6, "pause_every": 2 })),
        ("told", "tell", json!({ "items": 3 })),
        ("telling", "tell", json!({ "items": 9, "pause_every": 4, "pause_ms": 3_600_000 })),
        ("other", "tell", json!({ "items": 2, "pause_every": 1, "pause_ms": 3_600_000 })),
    ] {
        let start = segno_api::model::StartInvocation {
            id: Some(id.to_owned()),
            target: format!("teller/{function}"),
            input,
            ..Default::default()
        };
        client.start(&start).await.expect("it starts");
    }
    for id in ["relayed", "told"] {
        client.wait(id, std::time::Duration::from_secs(60)).await.expect("it ends");
    }
    // Follows up to the fourth message.
    let mut offset = "-1".to_owned();
    for _ in 0..4 {
        let data = client.stream("telling", "numbers", &offset, true).await.expect("it is written");
        offset = data.next_offset;
        if offset.ends_with("4") {
            return;
        }
    }
    panic!("`telling` has not written 4 messages: {offset}");
}

fn printed(arguments: &[&str]) -> String {
    let (out, err, exit) = segno(arguments);
    assert_eq!(exit, Some(0), "{arguments:?}: {out}{err}");
    out
}

fn listed(arguments: &[&str]) -> Vec<StreamView> {
    let list: Value =
        serde_json::from_str(&printed(&[arguments, &["--json"]].concat())).expect("JSON");
    serde_json::from_value(list["streams"].clone()).expect("streams")
}

/// Compares each stream in a bundle with the stream on the host.
async fn are_carried(client: &Client, folder: &Path) {
    let server = client.server();
    for id in ["relayed", "told", "telling"] {
        let file = bundled(client, folder, id, &[id]);
        let (here, there) =
            (listed(&["stream", text(&file)]), listed(&["stream", id, "--server", &server]));
        assert!(!there.is_empty() && here == there, "{here:?} {there:?}");
        for stream in &there {
            let there = printed(&["stream", id, &stream.name, "--server", &server]);
            let here = printed(&["stream", text(&file), &stream.name]);
            assert!(!there.is_empty() && here == there, "{id}: {here} {there}");
        }
        let inspected: Value =
            serde_json::from_str(&printed(&["inspect", text(&file), "--json"])).expect("JSON");
        assert_eq!(inspected["streams"][0]["name"], json!(there[0].name));
        assert_eq!(segno(&["replay", text(&file)]).2, Some(0));
    }
    let open = &listed(&["stream", text(&folder.join("telling.segno-bundle"))])[0];
    assert_eq!((open.length, open.closed), (4, false), "{open:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_of_a_data_directory_has_its_streams() {
    let host = TestHost::start(SEGNO).await;
    run(host.client()).await;
    are_carried(host.client(), host.folder()).await;
    they_are_listed_counted_and_printed(&host);
    a_generation_alone_is_shown_without_them(&host).await;
    hidden_items_are_hidden(&host);
    a_changed_append_is_a_difference(&host);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_of_a_postgresql_database_has_its_streams() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    let group = HostGroup::start(SEGNO, &database.url(), 1, Default::default(), &[]).await;
    run(group.client(0)).await;
    are_carried(group.client(0), group.folder.path()).await;
}

fn they_are_listed_counted_and_printed(host: &TestHost) {
    let file = host.folder().join("relayed.segno-bundle");
    let listed = printed(&["stream", text(&file)]);
    let words: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1][..5], ["log", "text/plain", "10", "bytes", "closed"]);
    assert_eq!(words[2][..5], ["tokens", "application/json", "6", "messages", "closed"]);
    assert!(listed.lines().nth(2).is_some_and(|line| line.ends_with("12 B")), "{listed}");
    assert_eq!(printed(&["stream", text(&file), "log"]), "begin\nend\n");
    let shown = printed(&["inspect", text(&file)]);
    assert!(shown.contains("streams\n") && shown.contains("tokens"), "{shown}");

    let (_, err, exit) = segno(&["stream", text(&file), "nothing"]);
    assert_eq!(exit, Some(1), "{err}");
    assert!(err.contains("the bundle has no stream `nothing`"), "{err}");
    let (_, err, exit) = segno(&["stream", text(&file), "log", "--follow"]);
    assert_eq!(exit, Some(2), "{err}");
    assert!(err.contains("a bundle does not change"), "{err}");
    let (_, err, exit) = segno(&["stream", "relayed", "--of", "told"]);
    assert_eq!(exit, Some(2), "{err}");
    assert!(err.contains("`relayed` is no bundle"), "{err}");

    // Several executions: the bundle of those that have not ended.
    let client = host.client();
    let flight = bundled(client, host.folder(), "flight", &["--in-flight", "teller"]);
    let listed = printed(&["stream", text(&flight)]);
    assert!(listed.contains("other\n") && listed.contains("telling\n"), "{listed}");
    let (_, err, exit) = segno(&["stream", text(&flight), "numbers"]);
    assert_eq!(exit, Some(2), "{err}");
    assert!(err.contains("name one, as in `--of other`"), "{err}");
    let of_one = ["stream", text(&flight), "numbers", "--of", "telling"];
    assert_eq!(printed(&of_one), "0\n1\n2\n3\n");
    let old = versions().remove(0).join("rust.segno-bundle");
    assert_eq!(printed(&["stream", text(&old)]), "the bundle has no stream\n");
}

/// The streams of all generations belong to the first one.
async fn a_generation_alone_is_shown_without_them(host: &TestHost) {
    host.deploy("herald", guests::component("herald")).await;
    host.start_as("sum", "herald/tally", json!([2, 0, null])).await.expect("it starts");
    for number in 0..2 {
        let add =
            SendSignal { name: "add".to_owned(), payload: json!(number), ..SendSignal::default() };
        host.client().signal("sum", &add).await.expect("it takes signals");
    }
    let has_two = |it: &Invocation| it.generation.as_ref().is_some_and(|it| it.generations == 2);
    host.until("sum", "in its second generation", has_two).await;
    let file = bundled(host.client(), host.folder(), "second", &["sum/g/2"]);
    assert!(printed(&["inspect", text(&file)]).contains("sum/g/2"));
    assert_eq!(printed(&["stream", text(&file)]), "the bundle has no stream\n");
}

fn hidden_items_are_hidden(host: &TestHost) {
    let of = |name: &str, more: &[&str]| {
        let arguments = [&["relayed", "--without-modules"], more].concat();
        bundled(host.client(), host.folder(), name, &arguments)
    };
    let (open, file) = (of("shown", &[]), of("hidden", &["--redact"]));
    let has_value = |file: &Path| {
        let bytes = fs::read(file).expect("it was written");
        bytes.windows(5).any(|window| window == b"begin")
    };
    assert!(has_value(&open) && !has_value(&file), "the item is hidden in one of them");
    assert_eq!(printed(&["stream", text(&file), "tokens"]), "1\n".repeat(6));
    // `begin\n` and `end\n`.
    assert_eq!(printed(&["stream", text(&file), "log"]), "x".repeat(8 + 4));
}

/// Code that appends another text to `log`.
fn a_changed_append_is_a_difference(host: &TestHost) {
    let mut changed = guests::component("teller");
    let places: Vec<usize> =
        (0..changed.len()).filter(|at| changed[*at..].starts_with(b"begin\n")).collect();
    assert!(!places.is_empty(), "the text is in the component");
    places.iter().for_each(|at| changed[*at..*at + 5].copy_from_slice(b"again"));
    let code = host.folder().join("changed.wasm");
    fs::write(&code, changed).expect("there is room");
    let file = host.folder().join("relayed.segno-bundle");
    let (out, err, exit) = segno(&["replay", text(&file), "--module", text(&code)]);
    assert_eq!(exit, Some(7), "{out}{err}");
    for part in ["append-stream `log`", "\"begin\\n\"", "\"again\\n\""] {
        assert!(out.contains(part), "{part}: {out}");
    }
}
