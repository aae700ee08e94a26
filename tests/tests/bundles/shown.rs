//! The content of a bundle is shown without a host, in the same way as a host shows its data.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{golden::versions, parts, segno, text};

fn json(arguments: &[&str]) -> Value {
    let (out, err, exit) = segno(arguments);
    assert_eq!(exit, Some(0), "{arguments:?}: {out}{err}");
    serde_json::from_str(&out).expect("it is JSON")
}

fn ids(items: &Value) -> BTreeSet<&str> {
    let items = items.as_array().expect("a list");
    items.iter().map(|item| item["id"].as_str().expect("an id")).collect()
}

#[test]
fn what_is_in_a_bundle_is_shown_without_a_host() {
    let bundle = versions().remove(0).join("rust.segno-bundle");
    let file = text(&bundle);
    let all = parts(&bundle);
    let (with_journals, others): (Vec<_>, Vec<_>) = all.iter().partition(|part| part.records > 0);
    assert!(with_journals.len() > 3 && others.len() > 3, "{all:?}");

    let listed = json(&["list", "--bundle", file, "--all", "--json"]);
    let listed = ids(&listed["items"]);
    assert!(listed.contains("rust"), "{listed:?}");
    assert!(with_journals.iter().all(|part| listed.contains(&*part.id)), "{listed:?}");
    let tree = json(&["tree", file, "--all", "--json"]);
    let wanted: BTreeSet<&str> = all.iter().map(|part| &*part.id).collect();
    assert_eq!(ids(&tree["nodes"]), wanted);
    for part in &with_journals {
        let shown = json(&["inspect", file, &part.id, "--records", "1000", "--json"]);
        assert_eq!(shown["journal"].as_array().map(Vec::len), Some(part.records), "{shown:#}");
        let below = json(&["tree", file, &part.id, "--all", "--json"]);
        assert!(ids(&below["nodes"]).contains(&*part.id), "{below:#}");
        let (_, err, exit) = segno(&["logs", file, &part.id]);
        assert_eq!(exit, Some(0), "{err}");
    }
    // Log lines of a bundle whose workflow logs.
    let logging = versions().remove(0).join("javascript.segno-bundle");
    let (out, err, exit) = segno(&["logs", text(&logging)]);
    assert_eq!(exit, Some(0), "{err}");
    assert!(out.lines().count() > 0, "{out}");
}

#[test]
fn what_a_bundle_cannot_do_is_said_with_what_it_can() {
    let bundle = versions().remove(0).join("rust.segno-bundle");
    let file = text(&bundle);
    let cases: [(&[&str], i32, &str); 6] = [
        // This bundle was made from a graph run, which has no journal. The message names executions
        // that have one.
        (&["replay", file], 1, "the bundle has those of `rust/n/"),
        (&["inspect", file, "nobody"], 1, "`nobody` is not in the bundle; it has `rust`"),
        (&["logs", file, "--follow"], 2, "--follow is for what a host runs"),
        (&["why", file], 2, "does not say what waits for what"),
        (&["tree", "order-1", "rust"], 2, "`order-1` is no bundle"),
        (&["list", "--bundle", "/nowhere.segno-bundle"], 1, "/nowhere.segno-bundle"),
    ];
    for (arguments, exit, part) in cases {
        let (out, err, found) = segno(arguments);
        assert_eq!(found, Some(exit), "{arguments:?}: {out}{err}");
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
}
